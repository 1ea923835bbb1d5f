import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { canonicalBytes, canonicalize, digest, type ProfileId, profiles } from '@bulla/core/canon';
import { BullaError } from '@bulla/core/error';
import { JsonNumber, JsonObject, type JsonValue, type Leniency, parse, stringify } from '@bulla/core/json';
import libraryCanonicalize from 'canonicalize';
import { describe, expect, test } from 'vitest';
import { generate } from './generate.ts';

interface Vector {
  name: string;
  input?: string;
  input_hex?: string;
  allow?: Leniency[];
  max_bytes?: number;
}
interface Refused extends Vector {
  code: string;
  path?: string;
  offset?: number;
}
interface CanonFile {
  profile: ProfileId;
  hash: string;
  domain_hex: string;
  digest_prefix: string;
  valid: (Vector & { canonical: string; canonical_hex?: string; digest: string })[];
  refused: Refused[];
}
interface ParserFile {
  valid: (Vector & { written: string })[];
  refused: Refused[];
}

const folder = dirname(fileURLToPath(import.meta.url));
const read = (path: string) => readFileSync(join(folder, path), 'utf8');
const load = (id: ProfileId) => JSON.parse(read(`canon/${id}.json`)) as CanonFile;
const ids = Object.keys(profiles) as ProfileId[];
const parserFile = JSON.parse(read('json/parser.json')) as ParserFile;

const bytesOf = ({ input, input_hex }: Vector) =>
  input === undefined ? Buffer.from(input_hex!, 'hex') : Buffer.from(input);
const parseVector = (vector: Vector, input: string | Uint8Array = bytesOf(vector)) =>
  parse(input, {
    allow: vector.allow ?? [],
    ...(vector.max_bytes !== undefined && { maxBytes: vector.max_bytes }),
  });
const optionsOf = ({ allow }: Vector) => ({ nonFinite: allow?.includes('non-finite') ?? false });

/** The code, path and offset with which `run` is refused, or what it returned. */
function refusalOf(run: () => unknown) {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    const { code, path, offset } = error;
    return { code, path, offset };
  }
}

/** All numbers of a parsed value. */
function numbersOf(value: JsonValue): JsonNumber[] {
  if (value instanceof JsonNumber) return [value];
  if (Array.isArray(value)) return value.flatMap(numbersOf);
  return value instanceof JsonObject ? value.values.flatMap(numbersOf) : [];
}

/** What `JSON.parse` makes of the text, if it loses nothing: every number must be printed as it was written. */
function plainOf(vector: Vector): { value: unknown } | undefined {
  const exact = ({ lexeme }: JsonNumber) =>
    Number.isFinite(Number(lexeme)) && String(Number(lexeme)) === lexeme;
  if (!numbersOf(parseVector(vector)).every(exact)) return undefined;
  return { value: JSON.parse(bytesOf(vector).toString()) };
}

describe('the files', () => {
  test('are exactly what generate computes, and there are no others', async () => {
    const files = await generate();
    for (const [path, text] of files) expect(read(path), path).toBe(text);
    const present = ['canon', 'json', 'log'].flatMap((sub) =>
      readdirSync(join(folder, sub)).map((file) => `${sub}/${file}`),
    );
    expect(present.sort()).toEqual([...files.keys()].sort());
  });

  test('every profile has a file, and every file of canon/ a profile', () => {
    expect(readdirSync(join(folder, 'canon')).sort()).toEqual(ids.map((id) => `${id}.json`).sort());
    for (const id of ids) expect(load(id).profile).toBe(id);
  });

  test('what is not hashed does not change the digest', () => {
    const digestOf = (id: ProfileId, name: string) => load(id).valid.find((one) => one.name === name)!.digest;
    for (const id of ['cps', 'cps-python', 'cps-ts'] as const) {
      expect(digestOf(id, 'seal-fields')).toBe(digestOf(id, 'seal-fields-absent'));
    }
    for (const id of ['envelope-v1', 'envelope-v1-nul'] as const) {
      expect(digestOf(id, 'metadata-dropped')).toBe(digestOf(id, 'metadata-absent'));
    }
  });

  test('are ASCII, so that nothing in them is invisible', async () => {
    for (const [path, text] of await generate()) expect(/^[\n\x20-\x7e]*$/.test(text), path).toBe(true);
  });

  test('every code that the sources can give for a text has a case', () => {
    const sources = ['json/parse', 'json/text', 'json/lex', 'canon/numbers', 'canon/strings', 'canon/order'];
    const known = sources.flatMap((source) => {
      const text = read(`../packages/core/src/${source}.ts`);
      return Array.from(text.matchAll(/'((?:JSON|CANON)_[A-Z0-9_]+)'/g), (match) => match[1]!);
    });
    // Given for a combination of options or for a BigInt, not for a text.
    const notFromText = ['JSON_SPANS_NEED_UNIQUE_KEYS', 'CANON_BIGINT'];
    const covered = [parserFile, ...ids.map(load)].flatMap(({ refused }) => refused.map(({ code }) => code));
    expect([...new Set([...covered, ...notFromText])].sort()).toEqual([...new Set(known)].sort());
  });
});

describe.each(ids)('%s', (id) => {
  const { valid, refused, hash, domain_hex, digest_prefix } = load(id);

  test('gives the canonical text, its bytes and the digest, from bytes and from a string', () => {
    for (const one of valid) {
      const options = optionsOf(one);
      for (const value of [parseVector(one), parseVector(one, one.input)]) {
        expect(canonicalize(value, id, options), one.name).toBe(one.canonical);
        expect(digest(value, id, options), one.name).toBe(one.digest);
        const hex = Buffer.from(canonicalBytes(value, id, options)).toString('hex');
        expect(hex, one.name).toBe(one.canonical_hex ?? Buffer.from(one.canonical, 'latin1').toString('hex'));
      }
    }
  });

  test('gives the same for plain values wherever JSON.parse loses nothing', () => {
    const plain = valid.filter((one) => {
      const value = plainOf(one);
      if (value !== undefined) expect(canonicalize(value.value, id), one.name).toBe(one.canonical);
      return value !== undefined;
    });
    expect(plain.length).toBeGreaterThan(valid.length / 2);
  });

  test('refuses with the code and the place', () => {
    for (const one of refused) {
      const { code, path, offset } = one;
      const inputs = one.input === undefined ? [bytesOf(one)] : [bytesOf(one), one.input];
      for (const input of inputs) {
        const got = refusalOf(() => canonicalize(parseVector(one, input), id, optionsOf(one)));
        expect(got, one.name).toEqual({ code, path, offset });
      }
      const plain = code.startsWith('CANON_') ? plainOf(one) : undefined;
      if (plain !== undefined) {
        const got = refusalOf(() => canonicalize(plain.value, id));
        expect(got, one.name).toEqual({ code, path, offset });
      }
    }
  });

  test('digests are the hash of domain and canonical bytes, by node:crypto alone', () => {
    for (const one of valid) {
      const bytes = Buffer.concat([Buffer.from(domain_hex, 'hex'), Buffer.from(one.canonical)]);
      expect(digest_prefix + createHash(hash).update(bytes).digest('hex'), one.name).toBe(one.digest);
    }
  });

  test('the canonical text is its own canonical text', () => {
    for (const one of valid) {
      const again = parse(one.canonical, { allow: one.allow ?? [] });
      expect(canonicalize(again, id, optionsOf(one)), one.name).toBe(one.canonical);
    }
  });
});

describe('other programs agree', () => {
  test('jcs: the canonicalize library', () => {
    for (const { name, input, canonical } of load('jcs').valid) {
      expect(libraryCanonicalize(JSON.parse(input!)), name).toBe(canonical);
    }
  });

  /** A tree whose objects were made again with their entries sorted, which is the released package's own way. */
  const rebuilt = (value: unknown, compare?: (a: string, b: string) => number): unknown => {
    if (Array.isArray(value)) return value.map((element) => rebuilt(element, compare));
    if (typeof value !== 'object' || value === null) return value;
    const keys = Object.keys(value).sort(compare);
    return Object.fromEntries(
      keys.map((key) => [key, rebuilt((value as Record<string, unknown>)[key], compare)]),
    );
  };

  test('khora: JSON.stringify of a tree whose keys were sorted by the engine', () => {
    for (const { name, input, canonical } of load('khora').valid) {
      expect(JSON.stringify(rebuilt(JSON.parse(input!))), name).toBe(canonical);
    }
  });

  test('khora-icu: JSON.stringify of a tree whose keys were sorted by localeCompare', () => {
    const compare = (a: string, b: string) => a.localeCompare(b, 'en-US');
    for (const { name, input, canonical } of load('khora-icu').valid) {
      expect(JSON.stringify(rebuilt(JSON.parse(input!), compare)), name).toBe(canonical);
    }
  });

  test('khora-icu: what is refused as a tie, localeCompare calls equal', () => {
    const ties = load('khora-icu').refused.filter(({ name }) => name.startsWith('key-tie'));
    const equal = ties.map(({ input }) => {
      const keys = Array.from(input!.matchAll(/"([^"]*)":[0-9]/g), (match) => JSON.parse(`"${match[1]}"`));
      return keys.some((a, i) => keys.some((b, k) => i < k && a.localeCompare(b, 'en-US') === 0));
    });
    expect(equal).toEqual([true, true, true]);
  });

  test('parser: JSON.parse refuses what we refuse, but for the rules that it does not have', () => {
    const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    const loose = (vector: Vector) => JSON.parse(utf8.decode(bytesOf(vector)));
    for (const one of parserFile.valid.filter(({ allow }) => allow === undefined)) {
      expect(JSON.stringify(loose(one)), one.name).toBe(JSON.stringify(JSON.parse(one.written)));
    }
    const accepted = parserFile.refused.filter((one) => {
      try {
        loose(one);
        return true;
      } catch {
        return false;
      }
    });
    expect([...new Set(accepted.map(({ code }) => code))]).toEqual([
      'JSON_LONE_SURROGATE',
      'JSON_DUPLICATE_KEY',
      'JSON_TOO_DEEP',
      'JSON_TOO_LARGE',
    ]);
  });
});

const python = spawnSync('python3', ['--version']).status === 0;
if (!python)
  console.log('skipped: python3 is not here, so cps and cps-python are not compared with its json module');

const SCRIPT = `
import json, sys
SEAL = ("hash", "signature", "signature_pq", "signed_at", "signed_by")
for line in sys.stdin:
    value = json.loads(json.loads(line))
    if isinstance(value, dict):
        value = {key: value[key] for key in value if key not in SEAL}
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    print(json.dumps(text))
`;

describe.skipIf(!python)("Python's json module agrees", () => {
  /** Integers at the two float paths, which Python keeps as integers and cps does not. */
  function hasFloatPathInteger(value: JsonValue): boolean {
    const get = (from: JsonValue | undefined, key: string) =>
      from instanceof JsonObject ? from.get(key) : undefined;
    const reasoning = get(value, 'reasoning');
    const options = get(reasoning, 'options');
    const feasibilities = Array.isArray(options) ? options.map((option) => get(option, 'feasibility')) : [];
    return [get(reasoning, 'confidence'), ...feasibilities].some(
      (place) => place instanceof JsonNumber && !/[.eE]/.test(place.lexeme),
    );
  }

  test('with every case of cps and cps-python, but for integers at the float paths of cps', () => {
    const left = load('cps').valid.filter((one) => hasFloatPathInteger(parseVector(one)));
    expect(left.map(({ name }) => name)).toEqual([
      'float-path-minus-zero',
      'float-path-confidence',
      'float-path-confidence-zero',
      'float-path-feasibility',
      'float-path-large-integers',
    ]);
    const compared = [
      ...load('cps').valid.filter(({ name }) => !left.some((one) => one.name === name)),
      ...load('cps-python').valid,
    ];
    const run = spawnSync('python3', ['-c', SCRIPT], {
      input: compared.map(({ input }) => `${JSON.stringify(input)}\n`).join(''),
      encoding: 'utf8',
      env: { ...process.env, PYTHONUTF8: '1' },
    });
    expect(run.stderr).toBe('');
    const lines = run.stdout.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line))).toEqual(compared.map(({ canonical }) => canonical));
  });
});

describe('the strict parser', () => {
  test('reads what it must, from bytes and from a string, and loses nothing', () => {
    for (const one of parserFile.valid) {
      expect(stringify(parseVector(one)), one.name).toBe(one.written);
      expect(stringify(parseVector(one, one.input)), one.name).toBe(one.written);
    }
  });

  test('refuses with the code and the byte offset', () => {
    for (const one of parserFile.refused) {
      const { code, path, offset } = one;
      expect(offset, one.name).toBeTypeOf('number');
      const inputs = one.input === undefined ? [bytesOf(one)] : [bytesOf(one), one.input];
      for (const input of inputs) {
        expect(
          refusalOf(() => parseVector(one, input)),
          one.name,
        ).toEqual({ code, path, offset });
      }
    }
  });
});
