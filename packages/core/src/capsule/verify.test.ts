import { describe, expect, test } from 'vitest';
import { hasVectors, readText } from '#test-files';
import { digestText } from '../canon/index.ts';
import { fromHex, keyId, localSigner, publicKey, toHex, toUtf8 } from '../crypto/index.ts';
import type { BullaError } from '../error.ts';
import { JsonObject, parse } from '../json/index.ts';
import {
  type CanonicalRecord,
  createCapsule,
  type KeyFacts,
  sealSync,
  type VerifyOptions,
  verifyCanonical,
  verifyCapsule,
} from './index.ts';

const signer = localSigner('Ed25519', new Uint8Array(32).fill(1));
const other = localSigner('Ed25519', new Uint8Array(32).fill(9));
const pqSigner = localSigner('ML-DSA-65', new Uint8Array(32).fill(2));
const key = publicKey('Ed25519', signer.publicKey);
const otherKey = publicKey('Ed25519', other.publicKey);
const pqKey = publicKey('ML-DSA-65', pqSigner.publicKey);
const keys = [key];

/** The code, then the warnings with their paths. */
function told(record: JsonObject | string, options: Partial<VerifyOptions> = {}): string {
  const { code, warnings } = verifyCapsule(record, { keys, ...options });
  return [code, ...warnings.map((warning) => `${warning.code} ${warning.path}`.trim())].join(', ');
}

function sealedText(specVersion: boolean, pq = false): string {
  const capsule = createCapsule(
    {
      reasoning: {
        options: [
          { id: 'a', description: 'A', selected: true, feasibility: 0.9 },
          { id: 'b', description: 'B', rejection_reason: 'worse' },
        ],
        selected_option: 'A',
        confidence: 0.95,
      },
      outcome: { metrics: { n: 9007199254740991 } },
    },
    { id: 'a1b2c3d4-e5f6-7890-abcd-ef1234567890', now: new Date('2026-01-15T12:00:00Z'), specVersion },
  );
  const options = { signedAt: new Date('2026-01-15T12:00:01Z') };
  return sealSync(capsule, signer, pq ? { ...options, pqSigner } : options).text;
}
const twelve = sealedText(false);
const thirteen = sealedText(true);

/** One replacement that must hit. */
function replaced(text: string, from: string | RegExp, to: string): string {
  const out = text.replace(from, to);
  expect(out).not.toBe(text);
  return out;
}

describe.skipIf(!hasVectors)('what the references sealed', () => {
  interface Cases {
    pub: string;
    cases: { name: string; export?: string }[];
  }
  async function verdicts(file: string) {
    const { pub, cases } = JSON.parse(await readText(`capsule/${file}`)) as Cases;
    const options = { keys: [publicKey('Ed25519', fromHex(pub))], allowNonFinite: true };
    const groups: Record<string, string[]> = {};
    for (const { name, export: text } of cases) {
      if (text === undefined) continue;
      const [record] = parse(text, { allow: ['non-finite', 'lone-surrogates'] }) as [JsonObject];
      const { code, profile, form, warnings, key: used } = verifyCapsule(record, options);
      expect(used, name).toBe(code === 'ok' ? keyId(options.keys[0]!) : null);
      const group = [code, profile, form, ...warnings.map((w) => `${w.code} ${w.path}`.trim())].join(' ');
      groups[group] = [...(groups[group] ?? []), name];
    }
    return groups;
  }
  const sizes = (groups: Record<string, string[]>) =>
    Object.fromEntries(Object.entries(groups).map(([name, list]) => [name, list.length]));

  test('Python: 46 of 47, all under cps-python; integer keys cannot be verified by Python either', async () => {
    const groups = await verdicts('python-sealed-cases.json');
    expect(sizes(groups)).toEqual({
      'ok cps-python 13': 42,
      'ok cps-python 13 non_finite /outcome/metrics/v': 3,
      'ok cps-python 13 non_finite /reasoning/confidence': 1,
      'hash_mismatch  ': 1,
    });
    expect(groups['hash_mismatch  ']).toEqual(['keys int 10, 9']);
  });

  const typescript = [
    'ok cps-ts 13 typescript_profile',
    [
      'metrics 0.00001',
      'metrics 1e-7',
      'confidence 0.00001',
      'string lone surrogate',
      'key lone surrogate',
      'keys U+1F600 vs U+FFFD',
    ],
  ] as const;
  const lost = ['metrics undefined value', 'metrics Date value', 'result sparse array'];

  test('TypeScript with its defaults: 31 of 34; what JSON.stringify dropped from three, nobody can know', async () => {
    const groups = await verdicts('ts-sealed-cases-default.json');
    expect(sizes(groups)).toEqual({
      'ok cps 13': 23,
      'ok cps-python 13': 1,
      [typescript[0]]: 6,
      'ok cps-ts 13 hashed_as_null /spec_version typescript_profile': 1,
      'hash_mismatch  ': 3,
    });
    expect(groups['ok cps-python 13']).toEqual(['confidence null']);
    expect(groups[typescript[0]]).toEqual(typescript[1]);
    expect(groups['hash_mismatch  ']).toEqual(lost);
  });

  test('TypeScript with a confidence of 0.5: 31 of 34', async () => {
    const groups = await verdicts('ts-sealed-cases-conf0.5.json');
    expect(sizes(groups)).toEqual({
      'ok cps-python 13': 21,
      'ok cps 13': 3,
      [typescript[0]]: 6,
      'ok cps-ts 13 hashed_as_null /spec_version typescript_profile': 1,
      'hash_mismatch  ': 3,
    });
    expect(groups['ok cps 13']).toEqual(['option missing fields', 'confidence 1', 'feasibility 1']);
    expect(groups[typescript[0]]).toEqual(typescript[1]);
    expect(groups['hash_mismatch  ']).toEqual(lost);
  });

  test('a bare NaN is refused unless asked for', async () => {
    const { pub, cases } = JSON.parse(await readText('capsule/python-sealed-cases.json')) as Cases;
    const text = cases
      .find(({ name }) => name === 'metrics NaN')!
      .export!.trim()
      .slice(1, -1);
    const options = { keys: [publicKey('Ed25519', fromHex(pub))] };
    expect(verifyCapsule(text, options).code).toBe('JSON_SYNTAX');
    expect(verifyCapsule(text, { ...options, allowNonFinite: true }).code).toBe('ok');
    const parsed = parse(text, { allow: ['non-finite'] });
    expect(verifyCapsule(parsed, options)).toMatchObject({
      code: 'hash_mismatch',
      message: 'The stored content does not have the stored hash: NaN is not a finite number.',
    });
  });
});

describe('tampering that a reference does not notice', () => {
  test('every change of the content is a hash mismatch', () => {
    const changes: [string | RegExp, string][] = [
      ['"trigger":{', '"trigger":{"approved_by":"root",'],
      ['"options_considered":["A","B"]', '"options_considered":["A"]'],
      [/"options_considered":\["A","B"\],/, ''],
      ['T12:00:00+00:00"', 'T12:00:00Z"'],
      ['2026-01-15T12', '2026-W03-4T12'],
      [/"id":"(a1b2[^"]*)"/, '"id":"{$1}"'],
      [/"id":"(a1b2[^"]*)"/, '"id":"urn:uuid:$1"'],
      ['"domain":"agents",', ''],
      [/"context":\{.*?\{\}.*?\},/, ''],
      [/"authority":\{.*?\},/, ''],
      ['"feasibility":0.9', '"feasibility":"0.9"'],
      ['"selected":true', '"selected":"no"'],
      ['"parent_id":null', '"parent_id":""'],
      ['9007199254740991', '9007199254740992'],
      ['9007199254740991', '9007199254740991.0'],
      ['9007199254740991', '9007199254740991.4'],
    ];
    for (const text of [twelve, thirteen])
      for (const [from, to] of changes)
        expect(told(replaced(text, from, to)), String(from)).toBe('hash_mismatch');
    expect(told(replaced(thirteen, '"spec_version":"1.0",', ''))).toBe('hash_mismatch');
  });

  test('a key beside the content is no part of the seal, and told', () => {
    for (const text of [twelve, thirteen]) {
      const added = replaced(text, '{', '{"approved":true,"a/b":1,');
      expect(told(added)).toBe('ok, unauthenticated_field /approved, unauthenticated_field /a~1b');
      expect(verifyCapsule(added, { keys }).unauthenticated).toEqual([
        'approved',
        'a/b',
        'signed_at',
        'signed_by',
      ]);
    }
  });

  test('a spec_version that was written into a record of 12 keys is told', () => {
    const added = replaced(twelve, '{', '{"spec_version":"1.0",');
    expect(told(added)).toBe('ok, unauthenticated_field /spec_version');
    expect(verifyCapsule(added, { keys })).toMatchObject({ profile: 'cps-python', form: '12' });
  });

  test('a null that was taken away from a record of 13 keys is told, from one of 12 refused', () => {
    for (const name of ['parent_id', 'previous_hash']) {
      expect(told(replaced(thirteen, `"${name}":null,`, ''))).toBe(
        `ok, hashed_as_null /${name}, typescript_profile`,
      );
      expect(told(replaced(twelve, `"${name}":null,`, ''))).toBe('hash_mismatch');
    }
  });

  test('digits that the hash does not cover are told', () => {
    expect(told(replaced(twelve, '0.95', '0.9500000000000000000001'))).toBe(
      'ok, inexact_number /reasoning/confidence',
    );
    expect(told(replaced(twelve, '0.95', '9.50e-1'))).toBe('ok');
    expect(told(replaced(twelve, '0.95', '1e-400'))).toBe('hash_mismatch');
  });

  test('hex has one spelling', () => {
    const { hash, signature } = JSON.parse(twelve) as { hash: string; signature: string };
    expect(told(replaced(twelve, hash, hash.toUpperCase()))).toBe('malformed_hex');
    expect(told(replaced(twelve, signature, signature.toUpperCase()))).toBe('malformed_hex');
    expect(told(replaced(twelve, signature, ` ${signature}`))).toBe('malformed_hex');
    expect(told(replaced(twelve, signature, signature.slice(2)))).toBe('malformed_hex');
    expect(told(replaced(twelve, `"${hash}"`, '5'))).toBe('malformed_hex');
  });

  test('signed_at proves nothing, and signed_by is compared with the key', () => {
    const later = verifyCapsule(replaced(twelve, '12:00:01', '13:00:01'), { keys });
    expect([later.code, later.unauthenticated]).toEqual(['ok', ['signed_at', 'signed_by']]);
    expect(told(replaced(twelve, '8a88e3dd7409f195', 'ffffffffffffffff'))).toBe(
      'ok, signed_by_mismatch /signed_by',
    );
    expect(told(replaced(twelve, '8a88e3dd7409f195', 'qp_key_8a88'))).toBe('ok');
    expect(told(replaced(twelve, '"8a88e3dd7409f195"', '""'))).toBe('ok');
  });

  test('what is not strict JSON, or could be taken for something else, is refused', () => {
    expect(told(replaced(twelve, '{', '{"domain":"agents",'))).toBe('JSON_DUPLICATE_KEY');
    expect(told(`${twelve}{}`)).toBe('JSON_TRAILING_DATA');
    expect(told(`[${twelve}]`)).toBe('not_an_object');
    expect(told('')).toBe('JSON_UNEXPECTED_END');
    for (const twin of ['Hash', 'SIGNATURE', '\u017fignature', 'ris\u212a', 'Outcome']) {
      const expected = twin.startsWith('ris') ? 'ok, unauthenticated_field /ris\u212a' : 'case_twin';
      expect(told(replaced(twelve, '{', `{"${twin}":"x",`)), twin).toBe(expected);
    }
  });
});

describe('the seal', () => {
  test('codes come in the order of the reference', () => {
    const { hash, signature } = JSON.parse(twelve) as { hash: string; signature: string };
    expect(told('{}')).toBe('missing_hash');
    expect(told(replaced(twelve, `"${hash}"`, 'null'))).toBe('missing_hash');
    expect(told(replaced(twelve, `"${signature}"`, '""'))).toBe('missing_signature');
    expect(told(replaced(twelve, signature, 'zz'))).toBe('malformed_hex');
    expect(told(replaced(replaced(twelve, '"agents"', '"x"'), signature, 'ab'.repeat(64)))).toBe(
      'hash_mismatch',
    );
    expect(told(replaced(twelve, signature, 'ab'.repeat(64)))).toBe('invalid_signature');
  });

  test('a signature over another hash does not pass with that hash', () => {
    const { hash } = JSON.parse(twelve) as { hash: string };
    expect(told(replaced(twelve, hash, 'ab'.repeat(32)))).toBe('hash_mismatch');
  });

  test('every key that fits the label is tried, then the others; the one that verified is named', () => {
    expect(verifyCapsule(twelve, { keys: [otherKey, key] })).toMatchObject({ code: 'ok', key: keyId(key) });
    expect(told(twelve, { keys: [] })).toBe('unknown_key');
    expect(told(twelve, { keys: [otherKey] })).toBe('unknown_key');
    expect(told(replaced(twelve, '"8a88e3dd7409f195"', 'null'), { keys: [] })).toBe('unknown_key');
    expect(told(replaced(twelve, '"8a88e3dd7409f195"', 'null'), { keys: [otherKey] })).toBe(
      'invalid_signature',
    );
    expect(told(twelve, { keys: [pqKey] })).toBe('unsupported_algorithm');
  });

  test('a key of small order cannot be given', () => {
    const identity = new Uint8Array(32);
    identity[0] = 1;
    try {
      publicKey('Ed25519', identity);
      expect.unreachable();
    } catch (error) {
      expect((error as BullaError).code).toBe('KEY_SMALL_ORDER');
    }
  });

  test('a post-quantum signature is checked where a key is given, and demanded where it is required', () => {
    const sealed = sealedText(false, true);
    const { signature_pq } = JSON.parse(sealed) as { signature_pq: string };
    const stripped = replaced(sealed, signature_pq, '');
    const garbage = replaced(sealed, signature_pq, 'not hex at all');
    const wrong = replaced(sealed, signature_pq, toHex(pqSigner.sign(toUtf8('another'))));
    const pqKeys = [pqKey];
    expect(told(sealed)).toBe('ok, pq_unchecked /signature_pq');
    expect(told(sealed, { pqKeys })).toBe('ok');
    expect(told(sealed, { pqKeys, requirePq: true })).toBe('ok');
    expect(told(sealed, { requirePq: true })).toBe('pq_unknown_key');
    expect(told(stripped)).toBe('ok');
    expect(told(stripped, { pqKeys })).toBe('ok, pq_missing /signature_pq');
    expect(told(stripped, { pqKeys, requirePq: true })).toBe('pq_missing');
    expect(told(garbage)).toBe('malformed_hex');
    expect(told(garbage, { pqKeys, requirePq: true })).toBe('malformed_hex');
    expect(told(wrong)).toBe('ok, pq_unchecked /signature_pq');
    expect(told(wrong, { pqKeys })).toBe('pq_verification_failed');
  });
});

describe('records that no schema fits', () => {
  const content =
    '{"context":{"cwd":"/x"},"id":"1","previous_hash":null,"sequence":0,"spec_version":"1.0","type":"tool_use"}';
  const seal = (canonical: string) => {
    const hash = digestText(canonical, 'cps');
    return {
      hash,
      signature: toHex(signer.sign(toUtf8(hash))),
      signature_pq: '',
      signed_by: '8a88e3dd7409f195',
    };
  };

  test('verify all the same', () => {
    const record = JsonObject.from([
      ...(parse(content) as JsonObject),
      ...(Object.entries(seal(content)) as never),
    ]);
    expect(verifyCapsule(record, { keys })).toMatchObject({
      code: 'ok',
      profile: 'cps-python',
      form: '13',
      warnings: [],
    });
  });

  test('verifyCanonical hashes the stored text verbatim', () => {
    const check = (canonical: string, change: Partial<CanonicalRecord> = {}) => {
      const { code, profile, form, warnings } = verifyCanonical(
        { canonical, ...seal(canonical), ...change },
        { keys },
      );
      return [code, profile, form, ...warnings.map((w) => `${w.code} ${w.path}`.trim())].join(' ');
    };
    expect(check(content)).toBe('ok verbatim 13');
    expect(check(content.replace('"spec_version":"1.0",', ''))).toBe('ok verbatim 12');
    expect(check(content.replace('{', '{ '))).toBe('ok verbatim 13 not_canonical');
    expect(check(content, { canonical: content.replace('/x', '/y') })).toBe('hash_mismatch  ');
    expect(check(content, { hash: '' })).toBe('missing_hash  ');
    expect(check(content, { signature: 'ab'.repeat(64) })).toBe('invalid_signature verbatim 13');
    expect(check('{"a":1,"a":2}')).toBe('JSON_DUPLICATE_KEY  ');
    expect(check('[]')).toBe('not_an_object  ');
    expect(check('{"a":NaN}')).toBe('JSON_SYNTAX  ');
  });
});

describe('what a keyring says of the key', () => {
  const facts = (more: Partial<KeyFacts>) => ({
    facts: [{ key: keyId(key), pqKey: null, notBefore: null, notAfter: null, ...more }],
  });
  const moved = (at: string) =>
    replaced(twelve, '"signed_at":"2026-01-15T12:00:01+00:00"', `"signed_at":${at}`);

  test('a record is good only of the time in which its key was valid', () => {
    const until = (notAfter: string) => told(twelve, facts({ notAfter }));
    expect(until('2020-01-01T00:00:00+00:00')).toBe('key_not_valid');
    expect(until('2026-01-15T12:00:00+00:00')).toBe('key_not_valid');
    expect(until('2026-01-15T12:00:01+00:00')).toBe('ok');
    const from = (notBefore: string) => told(twelve, facts({ notBefore }));
    expect(from('2026-01-15T12:00:01+00:00')).toBe('ok');
    expect(from('2026-01-15T12:00:02+00:00')).toBe('key_not_valid');
    expect(
      told(twelve, {
        facts: [{ ...facts({ notAfter: '2020-01-01T00:00:00+00:00' }).facts[0]!, key: keyId(otherKey) }],
      }),
    ).toBe('ok');
  });

  test('a changed signed_at does not help, and one that cannot be read is no time', () => {
    const until2020 = facts({ notAfter: '2020-01-01T00:00:00+00:00' });
    const from2020 = facts({ notBefore: '2020-01-01T00:00:00+00:00' });
    expect(told(moved('"2019-01-01T00:00:00+00:00"'), until2020)).toBe('key_not_valid');
    expect(told(moved('null'), until2020)).toBe('key_not_valid');
    expect(told(moved('null'), from2020)).toBe('ok');
    for (const odd of ['"then"', '"2026-01-15T12:00:01"', '7', '""'])
      expect(told(moved(odd), from2020)).toBe('key_not_valid');
    expect(verifyCapsule(twelve, { keys, ...until2020 }).message).toBe(
      'The key was valid until 2020-01-01T00:00:00+00:00, and the record is of 2026-01-15T12:00:01+00:00.',
    );
  });

  test('a post-quantum signature that was taken away is bad where the key always has one', () => {
    const sealed = sealedText(false, true);
    const { signature_pq } = JSON.parse(sealed) as { signature_pq: string };
    const stripped = replaced(sealed, signature_pq, '');
    const own = facts({ pqKey: keyId(pqKey) });
    expect(told(stripped, { ...own, pqKeys: [pqKey] })).toBe('pq_missing');
    expect(told(stripped, own)).toBe('pq_missing');
    expect(told(sealed, { ...own, pqKeys: [pqKey] })).toBe('ok');
    // Of another key it is as good as none.
    const foreign = facts({
      pqKey: keyId(publicKey('ML-DSA-65', localSigner('ML-DSA-65', new Uint8Array(32).fill(4)).publicKey)),
    });
    expect(told(sealed, { ...foreign, pqKeys: [pqKey], requirePq: true })).toBe('pq_unknown_key');
    expect(told(stripped, { ...own, signatures: 'by checkpoint' })).toBe('pq_missing');
  });

  test('where a checkpoint stands for the signatures, the signer is still judged', () => {
    const broken = replaced(twelve, /"signature":"[^"]*"/, `"signature":"${'0'.repeat(128)}"`);
    expect(verifyCapsule(broken, { keys, signatures: 'by checkpoint' })).toMatchObject({
      ok: true,
      key: keyId(key),
    });
    expect(told(broken, { keys: [otherKey], signatures: 'by checkpoint' })).toBe('unknown_key');
    expect(
      told(broken, { signatures: 'by checkpoint', ...facts({ notAfter: '2020-01-01T00:00:00+00:00' }) }),
    ).toBe('key_not_valid');
    const unnamed = replaced(broken, /"signed_by":"[^"]*"/, '"signed_by":""');
    expect(told(unnamed, { signatures: 'by checkpoint' })).toBe('invalid_signature');
  });
});
