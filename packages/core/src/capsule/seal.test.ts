import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { chainCheck } from '../../test/chain-check.ts';
import { digest } from '../canon/index.ts';
import { keyId, localSigner, publicKey, type Signer } from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import { float, JsonNumber, JsonObject, type JsonValue, parse } from '../json/index.ts';
import {
  type Capsule,
  type CapsuleInput,
  CapsuleLintError,
  createCapsule,
  exportSealed,
  hashCapsule,
  SEAL_FIELDS,
  seal,
  sealSync,
  signHashed,
  verifyCapsule,
} from './index.ts';

const sealedNow = (...args: Parameters<typeof sealSync>) => sealSync(...args).sealed;

const id = 'a1b2c3d4-e5f6-7890-abcd-ef1234567890';
const now = new Date('2026-01-15T12:00:00Z');
const signedAt = new Date('2026-01-15T12:00:01.5Z');
const signer = localSigner('Ed25519', new Uint8Array(32).fill(1));
const pqSigner = localSigner('ML-DSA-65', new Uint8Array(32).fill(2));
const key = publicKey('Ed25519', signer.publicKey);
const pqKey = publicKey('ML-DSA-65', pqSigner.publicKey);
const create = (input: CapsuleInput = {}, specVersion = false) =>
  createCapsule(input, { id, now, specVersion });

const parsed = (text: string) => parse(text) as JsonObject;

async function thrown(run: () => unknown): Promise<BullaError> {
  try {
    await run();
  } catch (error) {
    if (error instanceof BullaError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('seal', () => {
  test('hashes the cps bytes and signs the 64 characters of the hash', async () => {
    const sealed = await seal(create(), signer, { signedAt });
    expect(sealed).toEqual({
      ...create(),
      hash: 'e6266f6d907a02e1f3531dc354765c0bca506180b91c1f5892a544b81bcf8dee',
      // Ed25519 is deterministic (RFC 8032 §5.1.6); the seed is 32 bytes of 0x01.
      signature:
        '59032a1b43919b9031fba09d2365b1b5b1f0ca363fac6b75cbdba27516e9ab4b1c833932b09678d6a0b28ab85496bc6063f58553995c415cb3922c704193ce06',
      signature_pq: '',
      signed_at: '2026-01-15T12:00:01.500000+00:00',
      signed_by: '8a88e3dd7409f195',
    });
    expect(Object.keys(sealed).slice(-5)).toEqual([...SEAL_FIELDS]);
    expect(sealedNow(create(), signer, { signedAt })).toEqual(sealed);
  });

  test.each([false, true])('what is sealed with 13 keys: %s, verifies', async (specVersion) => {
    const sealed = await seal(create({ domain: 'x' }, specVersion), signer, { signedAt });
    expect(verifyCapsule(exportSealed(sealed), { keys: [key] })).toEqual({
      ok: true,
      code: 'ok',
      message: '',
      profile: 'cps-python',
      form: specVersion ? '13' : '12',
      signedBy: sealed.signed_by,
      key: keyId(key),
      pqKey: null,
      unauthenticated: ['signed_at', 'signed_by'],
      warnings: [],
    });
  });

  test('adds an ML-DSA-65 signature over the same hash', async () => {
    const sealed = await seal(create(), signer, { signedAt, pqSigner });
    expect(sealed.signature_pq).toMatch(/^[0-9a-f]{6618}$/);
    const verdict = verifyCapsule(exportSealed(sealed), { keys: [key], pqKeys: [pqKey], requirePq: true });
    expect([verdict.code, verdict.pqKey, verdict.warnings]).toEqual(['ok', keyId(pqKey), []]);
  });

  test('waits for a signer that answers later, and keeps what it hashed', async () => {
    const slow: Signer = { ...signer, sign: async (message) => signer.sign(message) };
    const capsule = { ...create() } as { -readonly [K in keyof Capsule]: Capsule[K] };
    const sealing = seal(capsule, slow, { signedAt: '2026-01-15T12:00:01.500000+00:00' });
    capsule.domain = 'changed meanwhile';
    expect(await sealing).toEqual(sealedNow(create(), signer, { signedAt }));
  });

  test('a batch may be hashed first and signed afterwards', async () => {
    const first = hashCapsule(create());
    const second = hashCapsule(create({ sequence: 1, previous_hash: first.hash }));
    for (const hashed of [first, second]) {
      expect(await signHashed(hashed, signer, { signedAt })).toEqual(
        sealSync(hashed.content, signer, { signedAt }),
      );
    }
    const verifier = chainCheck({ keys: [key] });
    for (const hashed of [first, second])
      verifier.push((await signHashed(hashed, signer, { signedAt })).text);
    expect(verifier.finish()).toMatchObject({ ok: true, count: 2 });
  });

  test('refuses what is sealed already', async () => {
    const sealed = sealedNow(create(), signer, { signedAt });
    expect((await thrown(() => seal(sealed, signer, { signedAt }))).code).toBe('CAPSULE_SEALED');
    expect(
      (await thrown(() => sealedNow({ ...sealed, hash: '' } as Capsule, signer, { signedAt }))).path,
    ).toBe('/signature');
  });

  test('refuses with every finding at once', async () => {
    const error = await thrown(() =>
      seal(create({ sequence: 1, authority: { type: 'policy' } }), signer, { signedAt }),
    );
    expect(error).toBeInstanceOf(CapsuleLintError);
    expect([error.code, error.path]).toEqual(['CAPSULE_LINT', '/previous_hash']);
    expect((error as CapsuleLintError).findings.map((f) => f.code)).toEqual([
      'chain_violation',
      'missing_value',
    ]);
    expect(error.message).toBe(
      'The capsule cannot be sealed. /previous_hash chain_violation: Only the genesis capsule has no previous_hash. ' +
        '/authority/policy_reference missing_value: Authority of the type policy names its rule.',
    );
  });

  /** What another implementation hashes differently, and how it stands in the canonical text. */
  const odd: readonly (readonly [string, CapsuleInput, string])[] = [
    ['a small cost', { outcome: { metrics: { cost_usd: 0.00002 } } }, '"cost_usd":2e-05'],
    ['a parsed small cost', { outcome: { metrics: parsed('{"cost_usd":0.00002}') } }, '"cost_usd":2e-05'],
    ['1.0', { outcome: { metrics: { quality_score: float(1) } } }, '"quality_score":1.0'],
    ['a parsed 1.0', { outcome: { metrics: parsed('{"quality_score":1.0}') } }, '"quality_score":1.0'],
    ['1e16', { outcome: { result: float(1e16) } }, '"result":1e+16'],
    ['a parsed 1e16', { outcome: { result: parse('1e16') as JsonNumber } }, '"result":1e+16'],
    ['2^53+1', { outcome: { result: 2n ** 53n + 1n } }, '"result":9007199254740993'],
    [
      'a parsed 2^53+1',
      { outcome: { result: parse('9007199254740993') as JsonNumber } },
      '"result":9007199254740993',
    ],
    ['minus zero', { outcome: { result: parse('-0.0') as JsonNumber } }, '"result":-0.0'],
    [
      'astral keys among others',
      { context: { environment: { '\u{1f600}': 1, '\ufffd': 2 } } },
      '{"\ufffd":2,"\u{1f600}":1}',
    ],
    [
      'arguments of a model',
      { execution: { tool_calls: [{ tool: 't', arguments: parsed('{"temperature":0.0}') }] } },
      '"temperature":0.0',
    ],
    ['a small confidence', { reasoning: { confidence: 1e-7 } }, '"confidence":1e-07'],
    [
      'options in words alone',
      { reasoning: { options_considered: ['wait'] } },
      '"options_considered":["wait"]',
    ],
    [
      'more digits than a double',
      { outcome: { result: parse('0.30000000000000000001') as JsonNumber } },
      '"result":0.3',
    ],
  ];

  test.each(odd)('seals %s by the rule of the specification, and it verifies', (_, input, text) => {
    const { sealed, text: exported } = sealSync(create(input), signer, { signedAt });
    expect(exported).toContain(text);
    const record = parse(exported) as JsonObject;
    for (const form of [exported, record, parse(exportSealed(sealed))])
      expect(verifyCapsule(form as JsonObject, { keys: [key] })).toMatchObject({ ok: true, warnings: [] });
  });

  test.each(odd)('refuses %s with strictInterop', async (_, input) => {
    const strict = { signedAt, strictInterop: true };
    expect((await thrown(() => seal(create(input), signer, strict))).code).toBe('CAPSULE_LINT');
    expect((await thrown(() => hashCapsule(create(input), strict))).code).toBe('CAPSULE_LINT');
    expect(sealedNow(create(), signer, strict)).toEqual(sealedNow(create(), signer, { signedAt }));
  });

  test('refuses what cannot be written as JSON in UTF-8', async () => {
    const code = async (value: unknown) =>
      (
        (await thrown(() =>
          seal(create({ outcome: { result: value as never } }), signer, { signedAt }),
        )) as CapsuleLintError
      ).findings.map((finding) => finding.code);
    expect(await code('\ud83d')).toEqual(['CANON_LONE_SURROGATE']);
    expect(await code({ '\ud83d': 1 })).toEqual(['CANON_LONE_SURROGATE']);
    expect(await code(Number.NaN)).toEqual(['CANON_NOT_FINITE']);
    expect(await code(parse('1e400'))).toEqual(['CANON_NOT_FINITE']);
  });

  test('refuses keys of another algorithm, odd moments, and signers that answer nonsense', async () => {
    const mute: Signer = { ...signer, sign: () => new Uint8Array(3) };
    expect((await thrown(() => seal(create(), pqSigner, { signedAt }))).code).toBe('CAPSULE_SIGNER');
    expect((await thrown(() => seal(create(), signer, { signedAt, pqSigner: signer }))).code).toBe(
      'CAPSULE_SIGNER',
    );
    expect((await thrown(() => seal(create(), mute, { signedAt }))).code).toBe('CAPSULE_SIGNER');
    expect((await thrown(() => seal(create(), signer, { signedAt: '2026-01-15' }))).code).toBe(
      'CAPSULE_TIMESTAMP',
    );
    expect((await thrown(() => seal(create(), signer, { signedAt: new Date(Number.NaN) }))).code).toBe(
      'CAPSULE_TIMESTAMP',
    );
  });
});

describe('exportSealed', () => {
  const sealed = sealedNow(
    create({ reasoning: { confidence: 1 }, outcome: { metrics: { 10: 1, 9: 0.5 } } }),
    signer,
    { signedAt },
  );

  test('writes the canonical content, then the seal, and always the same bytes', () => {
    const text = exportSealed(sealed);
    expect(text).toContain('"confidence":1.0,');
    expect(text).toContain('"metrics":{"10":1,"9":0.5}');
    expect((parse(text) as JsonObject).keys.slice(-6)).toEqual(['type', ...SEAL_FIELDS]);
    expect(
      sealSync(create({ reasoning: { confidence: 1 }, outcome: { metrics: { 9: 0.5, 10: 1 } } }), signer, {
        signedAt,
      }),
    ).toEqual({ sealed, text });
  });

  test('refuses a record that was changed since', async () => {
    expect((await thrown(() => exportSealed({ ...sealed, domain: 'x' }))).code).toBe('CAPSULE_HASH');
    expect((await thrown(() => exportSealed({ ...sealed, extra: 1 } as never))).code).toBe('CAPSULE_HASH');
  });

  test('gives a parsed number its canonical digits', () => {
    const odd = create({ outcome: { result: new JsonNumber('1.50') } });
    const { sealed: record, text } = sealSync(odd, signer, { signedAt });
    expect(text).toContain('"result":1.5,');
    expect(record.hash).toBe(digest(create({ outcome: { result: float(1.5) } }), 'cps'));
  });
});

describe('any capsule', { timeout: 120_000 * inject('soak') }, () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 20 });
  const number = fc.oneof(
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map(float),
    fc.bigInt(),
  );
  const { data } = fc.letrec((tie) => ({
    data: fc.oneof(
      { maxDepth: 3 },
      text,
      number,
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('data'), { maxLength: 4 }),
      tie('object'),
    ),
    object: fc.dictionary(fc.string({ unit: 'binary', maxLength: 6 }), tie('data'), { maxKeys: 4 }),
  }));
  const object = fc.dictionary(fc.string({ unit: 'binary', maxLength: 6 }), data as fc.Arbitrary<never>, {
    maxKeys: 4,
  });
  const unit = fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true }));
  const input = fc.record({
    type: fc.constantFrom('agent' as const, 'tool' as const),
    domain: text,
    trigger: fc.record({ source: text, request: text, user_id: fc.option(text) }),
    context: fc.record({ agent_id: text, environment: object }),
    reasoning: fc.record({
      confidence: unit,
      selected_option: fc.constant('a'),
      options: unit.map((feasibility) => [
        { id: 'a', description: 'A', selected: true, feasibility },
        { id: 'b', description: 'B', rejection_reason: 'no' },
      ]),
    }),
    execution: fc.record({
      tool_calls: fc.array(
        fc.record({ tool: text, arguments: object, result: data as fc.Arbitrary<never> }),
        { maxLength: 2 },
      ),
    }),
    outcome: fc.record({
      result: data as fc.Arbitrary<never>,
      metrics: object,
      side_effects: fc.array(text, { maxLength: 3 }),
    }),
  });

  test('verifies after export and parse, and no longer when any leaf is flipped', () => {
    fc.assert(
      fc.property(input, fc.boolean(), fc.nat(), (given, specVersion, pick) => {
        const exported = sealSync(create(given, specVersion), signer, { signedAt }).text;
        const record = parse(exported) as JsonObject;
        expect(verifyCapsule(exported, { keys: [key] })).toMatchObject({
          code: 'ok',
          profile: 'cps-python',
          warnings: [],
        });
        const paths = leaves(record);
        const path = paths[pick % paths.length]!;
        const altered = flipped(record, path) as JsonObject;
        expect(verifyCapsule(altered, { keys: [key] }).code, path.join('/')).toBe('hash_mismatch');
      }),
      { numRuns: 200 * inject('soak') },
    );
  });

  /** The paths to all leaves of the content. */
  function leaves(record: JsonObject): (string | number)[][] {
    const found: (string | number)[][] = [];
    const walk = (value: JsonValue, path: (string | number)[]) => {
      if (value instanceof JsonObject && value.size > 0) for (const [k, v] of value) walk(v, [...path, k]);
      else if (Array.isArray(value) && value.length > 0) value.forEach((v, i) => void walk(v, [...path, i]));
      else found.push(path);
    };
    walk(record, []);
    return found.filter(([top]) => !(SEAL_FIELDS as readonly unknown[]).includes(top));
  }

  function flipped(value: JsonValue, [step, ...rest]: (string | number)[]): JsonValue {
    if (step !== undefined && value instanceof JsonObject)
      return JsonObject.from([...value].map(([k, v]) => [k, k === step ? flipped(v, rest) : v]));
    if (step !== undefined) return (value as JsonValue[]).map((v, i) => (i === step ? flipped(v, rest) : v));
    if (typeof value === 'string') return `${value}x`;
    if (typeof value === 'boolean') return !value;
    if (value instanceof JsonNumber) return new JsonNumber(value.lexeme === '7' ? '8' : '7');
    return value === null ? false : null;
  }
});
