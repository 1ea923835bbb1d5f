import { sha256 as nobleSha256 } from '@noble/hashes/sha2.js';
import { describe, expect, test } from 'vitest';
import { hasVectors, listFiles, readBytes, readText } from '#test-files';
import { sha256 } from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import { type JsonObject, parse, toPlain } from '../json/index.ts';
import { canonicalize, digest, digestText, type ProfileId, sortNames } from './index.ts';
import { pythonFloat } from './numbers.ts';

/** Loads a vector file as loosely as its own author would. */
async function load<T>(path: string): Promise<T> {
  return JSON.parse(await readText(path)) as T;
}

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof BullaError) return error.code;
    throw error;
  }
  return 'ok';
}

describe.skipIf(!hasVectors)('jcs: the RFC 8785 samples', () => {
  test('each input gives exactly the published bytes, parsed and plain', async () => {
    const names = await listFiles('jcs/input');
    expect(names.length).toBe(6);
    for (const name of names) {
      const expected = await readText(`jcs/output/${name}`);
      const input = await readBytes(`jcs/input/${name}`);
      expect(canonicalize(parse(input), 'jcs'), name).toBe(expected);
      expect(canonicalize(JSON.parse(new TextDecoder().decode(input)), 'jcs'), name).toBe(expected);
    }
  });
});

describe.skipIf(!hasVectors)('cps: golden capsules', () => {
  interface Golden {
    fixtures: { name: string; capsule_dict: unknown; canonical_json: string; sha3_256_hash: string }[];
  }
  test.each(['golden-12key.json', 'golden-13key.json'])('%s: 16 of 16, parsed and plain', async (file) => {
    const path = `capsule/${file}`;
    const plain = (await load<Golden>(path)).fixtures;
    const parsed = (parse(await readBytes(path)) as JsonObject).get('fixtures') as JsonObject[];
    expect(plain.length).toBe(16);
    for (let i = 0; i < plain.length; i++) {
      const { name, capsule_dict, canonical_json, sha3_256_hash } = plain[i]!;
      for (const capsule of [capsule_dict, parsed[i]!.get('capsule_dict')]) {
        expect(canonicalize(capsule, 'cps'), name).toBe(canonical_json);
        expect(digest(capsule, 'cps'), name).toBe(sha3_256_hash);
      }
    }
  });
});

describe.skipIf(!hasVectors)('what the capsule references sealed', () => {
  interface Sealed {
    cases: { name: string; export?: string; py_canonical?: string; py_hash?: string; canonical?: string }[];
  }
  const firstCapsule = (text: string): JsonObject => {
    const value = parse(text, { allow: ['non-finite', 'lone-surrogates'] });
    return (Array.isArray(value) ? value[0] : value) as JsonObject;
  };
  /** The export also holds the seal, so the stored hash is at hand in both references' files. */
  const storedHash = (capsule: JsonObject) => capsule.get('hash') as string;
  const matches = (capsule: JsonObject, profile: ProfileId) => {
    try {
      return digest(capsule, profile, { nonFinite: true }) === storedHash(capsule);
    } catch (error) {
      if (error instanceof BullaError) return false;
      throw error;
    }
  };

  test('Python: cps-python reproduces every stored hash but that of integer keys, which Python cannot either', async () => {
    const { cases } = await load<Sealed>('capsule/python-sealed-cases.json');
    const exported = cases.filter((c) => c.export !== undefined);
    const missed: string[] = [];
    for (const { name, export: text, py_canonical, py_hash } of exported) {
      const capsule = firstCapsule(text!);
      expect(storedHash(capsule), name).toBe(py_hash);
      if (!matches(capsule, 'cps-python')) missed.push(name);
      else expect(canonicalize(capsule, 'cps-python', { nonFinite: true }), name).toBe(py_canonical);
    }
    expect(exported.length).toBe(47);
    expect(missed).toEqual(['keys int 10, 9']);
  });

  test('Python: cps as the seed says refuses what Python prints as NaN and Infinity', async () => {
    const { cases } = await load<Sealed>('capsule/python-sealed-cases.json');
    const missed = cases.filter((c) => c.export !== undefined && !matches(firstCapsule(c.export), 'cps'));
    expect(missed.map((c) => c.name)).toEqual([
      'metrics NaN',
      'metrics Infinity',
      'metrics -Infinity',
      'confidence NaN',
      'keys int 10, 9',
    ]);
  });

  test.each(['ts-sealed-cases-default.json', 'ts-sealed-cases-conf0.5.json'])(
    'TypeScript: %s',
    async (file) => {
      const { cases } = await load<Sealed>(`capsule/${file}`);
      const exported = cases.filter((c) => c.export !== undefined);
      const missed: string[] = [];
      for (const { name, export: text, canonical } of exported) {
        const capsule = firstCapsule(text!);
        if (!matches(capsule, 'cps-ts')) missed.push(name);
        else expect(canonicalize(capsule, 'cps-ts'), name).toBe(canonical);
      }
      // What JSON.stringify dropped from these three, no reader of the file can know.
      expect(missed).toEqual(['metrics undefined value', 'metrics Date value', 'result sparse array']);
      expect(exported.length).toBe(34);
    },
  );

  test('sealed chains with 12 and 13 keys', async () => {
    for (const [file, count] of [
      ['legacy-1.5.2-chain.json', 3],
      ['python-1.5.3-chain-two-epochs.json', 4],
    ] as const) {
      const chain = parse(await readBytes(`capsule/${file}`)) as JsonObject[];
      for (const capsule of chain) expect(digest(capsule, 'cps')).toBe(storedHash(capsule));
      expect(chain.length).toBe(count);
    }
  });

  test("Python's float repr", async () => {
    const lines = (await readText('capsule/python-float-repr.txt')).trim().split('\n');
    const view = new DataView(new ArrayBuffer(8));
    for (const line of lines) {
      const [hex, repr] = line.split(' ') as [string, string];
      view.setBigUint64(0, BigInt(`0x${hex}`));
      if (pythonFloat(view.getFloat64(0)) !== repr) expect(pythonFloat(view.getFloat64(0)), hex).toBe(repr);
    }
    expect(lines.length).toBe(10_000);
  });

  test("Python's key order", async () => {
    const pairs = await load<[string[], string[]][]>('capsule/python-key-sort.json');
    for (const [keys, sorted] of pairs) expect(sortNames(keys, 'cps')).toEqual(sorted);
    expect(pairs.length).toBe(1000);
  });
});

describe.skipIf(!hasVectors)('mcptrust', () => {
  interface Observed {
    canon: { name: string; input_hex: string; v1?: Form; v2?: Form; decode_error?: string }[];
  }
  interface Form {
    sha256: string;
  }
  test('the shipped texts, and the true hash of them', async () => {
    const input = parse(await readBytes('mcptrust/canon_vectors/input.json'));
    for (const [profile, file] of [
      ['mcptrust-v1', 'canon_v1.json'],
      ['mcptrust-v1-go', 'canon_v1.json'],
      ['mcptrust-v2', 'canon_v2.json'],
    ] as const) {
      expect(canonicalize(input, profile)).toBe(await readText(`mcptrust/canon_vectors/${file}`));
      expect(digest(input, profile)).toBe('85ebdc7de9bf9053ed3a6cce21e5c718879b6bdcb7a1ad51c6d4ddaa692735ff');
    }
  });

  test('observed behaviour: hashes agree wherever we accept the input; what we refuse has a code', async () => {
    const { canon } = await load<Observed>('mcptrust/observed.json');
    const refused: Record<string, string> = {};
    for (const { name, input_hex, v1, v2, decode_error } of canon) {
      const bytes = Uint8Array.from(input_hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
      const run = (profile: ProfileId) => `sha256:${digest(parse(bytes), profile)}`;
      const code = codeOf(() => run('mcptrust-v1-go'));
      if (code !== 'ok') refused[name] = code;
      else expect([run('mcptrust-v1-go'), run('mcptrust-v2')], name).toEqual([v1?.sha256, v2?.sha256]);
      if (decode_error !== undefined) expect(code, name).not.toBe('ok');
    }
    expect(refused).toEqual({
      bom: 'JSON_BOM',
      dup_keys: 'JSON_DUPLICATE_KEY',
      invalid_utf8: 'JSON_INVALID_UTF8',
      lone_surrogates: 'JSON_LONE_SURROGATE',
      overflow: 'CANON_NOT_FINITE',
      raw_tab: 'JSON_CONTROL_CHARACTER',
      trailing: 'JSON_TRAILING_DATA',
      trailing_comma: 'JSON_SYNTAX',
    });
  });

  test('with duplicate keys permitted, the last one wins as in the released program', async () => {
    const value = parse('{"a":1,"a":2,"b":{"c":1},"b":{"d":2}}', { allow: ['duplicate-keys'] });
    expect(digest(value, 'mcptrust-v1-go')).toBe(
      'b89499d698ae41becc873b1ce5da8a30f15759df999f69a5981e09bd1f928217',
    );
  });
});

describe.skipIf(!hasVectors)('khora', () => {
  interface Vector {
    id: string;
    canonical: string;
    sha256: string;
  }
  test('36 vectors are the same under both profiles', async () => {
    const vectors = await load<Vector[]>('khora/vectors.json');
    const same = vectors.filter(({ id }) => !['V36', 'V38', 'V39'].includes(id));
    for (const { id, canonical, sha256 } of same) {
      for (const profile of ['khora', 'khora-icu'] as const) {
        expect(canonicalize(parse(canonical), profile), id).toBe(canonical);
        expect(digest(parse(canonical), profile), id).toBe(sha256);
      }
    }
    expect(same.length).toBe(36);
  });

  test('V36 tells the two orders apart; its é is outside the pinned collation', async () => {
    const { canonical, sha256 } = (await load<Vector[]>('khora/vectors.json')).find(
      ({ id }) => id === 'V36',
    )!;
    const byUnits = digest(parse(canonical), 'khora');
    expect([byUnits.slice(0, 8), byUnits.slice(-4)]).toEqual(['ae6bba83', 'b46e']);
    expect(sha256.startsWith('935fbff2')).toBe(true);
    expect(codeOf(() => digest(parse(canonical), 'khora-icu'))).toBe('CANON_KEY');
    const ascii = parse(canonical.replace('"é":10,', ''));
    expect(canonicalize(ascii, 'khora-icu')).toBe(canonical.replace('"é":10,', ''));
  });

  test('V38: its text hashes as published, and the values it was made from are refused', async () => {
    const { canonical, sha256 } = (await load<Vector[]>('khora/vectors.json')).find(
      ({ id }) => id === 'V38',
    )!;
    const value = parse(canonical, { allow: ['lone-surrogates'] });
    expect(digest(value, 'khora')).toBe(sha256);
    expect(digest(value, 'khora-icu')).toBe(sha256);
    const refusals = [{ d: new Date(0) }, { m: new Map() }, [Number.NaN], [Infinity], [undefined], [() => 1]];
    expect(refusals.map((odd) => codeOf(() => digest(odd, 'khora')))).toEqual([
      'VALUE_NOT_JSON',
      'VALUE_NOT_JSON',
      'CANON_NOT_FINITE',
      'CANON_NOT_FINITE',
      'VALUE_NOT_JSON',
      'VALUE_NOT_JSON',
    ]);
  });

  test('V39: an undefined root is refused', () => {
    expect(codeOf(() => digest(undefined, 'khora'))).toBe('VALUE_NOT_JSON');
  });
});

describe.skipIf(!hasVectors)('envelope', () => {
  const vectors = [
    [
      '001',
      '050e3c01b4d5e09fe7e7d138c3d7d3817d532410b9bd13fead5bb9c5569db57a',
      '0x717c96f736ea35c6d81901e35a7a792d1db80be5631ab18a7bd6159a855da188',
      '41a95b883c3034a20749ba6195086d155aa3fe672ce0e4260f352accf09fe4bf',
    ],
    [
      '002',
      'f7da2067ed1cf4355fe90802c3c7f56ff37ab92e626e0b18ee457404cfee1a91',
      '0x4f49af42698775a741493c3ec3abaec105824134f22416e6b81a701c0c5e904a',
      '9a6c2087564f44ac16183154735c683c0ef0b70e94dc4176007ab75e33abe695',
    ],
  ] as const;

  test.each(vectors)('%s by the rule', async (number, execHash, draftHash) => {
    const value = parse(await readBytes(`envelope/envelope-${number}.json`));
    const published = await readText(`envelope/canonical-${number}.json`);
    expect(published.endsWith('\n')).toBe(true);
    expect(canonicalize(value, 'envelope-v1')).toBe(published.slice(0, -1));
    expect(canonicalize(toPlain(value), 'envelope-v1')).toBe(published.slice(0, -1));
    expect(digest(value, 'envelope-v1')).toBe(execHash);
    expect(digest(value, 'envelope-v1-nul')).toBe(draftHash);
  });

  test.each(vectors)(
    '%s: the published hash took the final newline of the file along',
    async (number, _, __, published) => {
      expect(digestText(await readText(`envelope/canonical-${number}.json`), 'envelope-v1')).toBe(published);
    },
  );
});

describe.skipIf(!hasVectors)('ES6 numbers', () => {
  test('a million numbers of the published generator', async () => {
    const view = new DataView(new ArrayBuffer(8));
    let lines: string[] = [];
    let count = 0;
    const sums: Record<number, string> = {};
    const hash = sha256Stream();
    const add = (value: number) => {
      view.setFloat64(0, value);
      lines.push(`${view.getBigUint64(0).toString(16)},${canonicalize(value, 'jcs')}\n`);
      count++;
      if (count % 1000 === 0) {
        hash.update(lines.join(''));
        lines = [];
        if ([1000, 10_000, 100_000, 1_000_000].includes(count)) sums[count] = hash.hex();
      }
    };
    for (const line of (await readText('jcs/es6-static.txt')).trim().split(/\s+/)) {
      view.setBigUint64(0, BigInt(`0x${line}`));
      add(view.getFloat64(0));
    }
    for (let i = 0n; i < 2000n; i++) {
      view.setBigUint64(0, 0x0010000000000000n + i);
      add(view.getFloat64(0));
    }
    for (let block = new Uint8Array(32); count < 1_000_000; ) {
      block = sha256(block) as Uint8Array<ArrayBuffer>;
      for (let i = 0; i < 4 && count < 1_000_000; i++) {
        const value = new DataView(block.buffer, block.byteOffset + 8 * i, 8).getFloat64(0, true);
        if (value !== 0 && Number.isFinite(value)) add(value);
      }
    }
    expect(sums).toEqual({
      1000: 'be18b62b6f69cdab33a7e0dae0d9cfa869fda80ddc712221570f9f40a5878687',
      10000: 'b9f7a8e75ef22a835685a52ccba7f7d6bdc99e34b010992cbc5864cd12be6892',
      100000: '22776e6d4b49fa294a0d0f349268e5c28808fe7e0cb2bcbe28f63894e494d4c7',
      1000000: '49415fee2c56c77864931bd3624faad425c3c577d6d74e89a83bc725506dad16',
    });
  });
});

/** A running SHA-256, from the independent library, so that 40 MB need not be held at once. */
function sha256Stream() {
  const state = nobleSha256.create();
  return {
    update: (text: string) => void state.update(new TextEncoder().encode(text)),
    hex: () => Array.from(state.clone().digest(), (byte) => byte.toString(16).padStart(2, '0')).join(''),
  };
}
