import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import {
  AUDIENCE,
  alice,
  alicesToken,
  bob,
  by,
  claimsFor,
  envelope,
  envelopeJson,
  envelopeWith,
  fields,
  type Json,
  type JsonRecord,
  keys,
  mallory,
  NOW,
  policy,
  policyDocument,
  policyText,
} from '../../test/envelope.ts';
import { BullaError } from '../error.ts';
import { type Assess, consumed as afterConsumption, assessEnvelope, notConsumed } from './consume.ts';
import {
  type Authorization,
  authorize,
  type CheckInput,
  checkEnvelope,
  createEnvelope,
  type Envelope,
  execHash,
  explain,
  limitExceeded,
  NOT_PROVEN,
  nonceKey,
  nonceReplayed,
  type Permit,
  parseEnvelope,
  reservationsOf,
  type Verdict,
  writeEnvelope,
} from './index.ts';

const iso = (seconds: number) => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z');
const authorization = await authorize(claimsFor(envelope), by(alice, bob));
const good: CheckInput = {
  envelope: writeEnvelope(envelope),
  authorization,
  keys,
  audience: AUDIENCE,
  tenantId: 'acme',
  now: NOW,
  replay: 'fresh',
  policy: policyText,
};
const signed = (change: Partial<Authorization>, signers = [alice, bob]) =>
  authorize(claimsFor(envelope, change), by(...signers));

/** The step that failed, with code, path and message; all before it must have passed, all behind it not be reached. */
function failure(
  input: Partial<CheckInput>,
): [number, string | null, string | null, string | null] | 'nothing' {
  const { steps, code, path, message, permit, ok } = checkEnvelope({ ...good, ...input });
  const at = steps.findIndex(({ status }) => status === 'failed');
  if (at < 0) return 'nothing';
  expect([permit, ok]).toEqual([null, false]);
  expect(steps.map(({ status }) => status)).toEqual(
    steps.map((_, i) => (i < at ? 'passed' : i === at ? 'failed' : 'not reached')),
  );
  expect(steps[at]!.problem).toEqual({ code, path, message });
  return [at, code, path, message];
}

describe('an envelope that is in order', () => {
  test('passes the steps 0 to 6 and is left to be consumed', () => {
    const verdict = checkEnvelope(good);
    expect(verdict.steps.map(({ step, name, status }) => `${step} ${name} ${status}`)).toEqual([
      '0 schema passed',
      '1 time passed',
      '2 replay passed',
      '3 exec_hash passed',
      '4 authorization passed',
      '5 policy passed',
      '6 constraints passed',
      '7 permit not reached',
    ]);
    expect([verdict.ok, verdict.code, verdict.path, verdict.message]).toEqual([false, null, null, null]);
    expect(verdict.exec_hash).toBe(execHash(envelope));
    const { permit } = verdict;
    expect(permit!.nonce).toEqual({ replay_scope: 'caller', tenant_id: 'acme', caller: 'agent-7', nonce: 7 });
    expect(permit!.authorization.people).toEqual(['alice', 'bob']);
    expect(permit!.policy.policy_hash).toBe(policy.policy_hash);
    expect(permit!.until).toBe(NOW + 239);
    expect(permit!.envelope).toEqual(envelope);
  });

  test('may be given parsed, as may the policy', () => {
    const verdict = checkEnvelope({ ...good, envelope: parseEnvelope(good.envelope as string), policy });
    const { permit, ...rest } = checkEnvelope(good);
    expect(verdict).toMatchObject({
      ...rest,
      permit: { ...permit, policy: { policy_hash: policy.policy_hash } },
    });
    expect(verdict.permit!.policy).toBe(policy);
  });

  test('is permitted until the earlier of its ttl and the expiry', async () => {
    const long = await signed({ exp: NOW + 10_000 });
    expect(checkEnvelope({ ...good, authorization: long }).permit!.until).toBe(NOW + 300);
    expect(checkEnvelope({ ...good, skew: 5 }).permit!.until).toBe(NOW + 244);
  });

  test('under the later draft', async () => {
    const draft = await signed({ exec_hash: execHash(envelope, 'envelope-v1-nul') });
    expect(failure({ authorization: draft, profile: 'envelope-v1-nul' })).toBe('nothing');
    expect(failure({ authorization: draft })).toEqual([
      4,
      'EE_HASH_MISMATCH',
      '/payload/exec_hash',
      'The authorization is for another envelope.',
    ]);
  });
});

describe('step 0, schema', () => {
  test.each<[string, string, string, string, string]>([
    [
      'EE_INVALID_JSON',
      '"nonce":7',
      '"nonce":07',
      '/constraints/nonce',
      'The envelope is not strict JSON: A number must not have leading zeros.',
    ],
    [
      'EE_SCHEMA_INVALID',
      '"nonce":7',
      '"nonce":7.0',
      '/constraints/nonce',
      'A number here has plain digits, without a point or an exponent.',
    ],
    ['EE_UNKNOWN_FIELD', '"nonce":7', '"nonce":7,"n":1', '/constraints/n', 'There is no field "n" here.'],
    [
      'EE_MISSING_FIELD',
      ',"role":null',
      '',
      '/actor/role',
      'The field "role" is missing; where it does not apply it must be null.',
    ],
  ])('%s', (code, from, to, path, message) => {
    const text = (good.envelope as string).replace(from, to);
    expect(failure({ envelope: text })).toEqual([0, code, path, message]);
  });

  test('the limits hold', () => {
    expect(failure({ limits: { maxBytes: 10 } })).toEqual([
      0,
      'EE_INVALID_JSON',
      null,
      'The envelope is not strict JSON: The text is longer than 10 bytes.',
    ]);
  });
});

describe('step 1, time', () => {
  test('EE_TTL_EXPIRED one second after the ttl', async () => {
    const authorization = await signed({ exp: NOW + 1000 });
    expect(failure({ authorization, now: NOW + 300 })).toBe('nothing');
    expect(failure({ authorization, now: NOW + 301 })).toEqual([
      1,
      'EE_TTL_EXPIRED',
      '/constraints/ttl',
      `The envelope was valid until ${iso(NOW + 300)}, and now it is ${iso(NOW + 301)}.`,
    ]);
  });

  test('a skew is allowed only when it is given', async () => {
    const authorization = await signed({ exp: NOW + 1000 });
    expect(failure({ authorization, now: NOW + 305, skew: 5 })).toBe('nothing');
    expect(failure({ authorization, now: NOW + 306, skew: 5 })[1]).toBe('EE_TTL_EXPIRED');
  });

  test.each([Number.NaN, -1, 1.5, Number.POSITIVE_INFINITY, 2 ** 53])('EE_CLOCK at %s', (now) => {
    const told = [1, 'EE_CLOCK', null, 'The time is not known in whole seconds, so nothing is in time.'];
    expect(failure({ now })).toEqual(told);
    expect(failure({ skew: now })).toEqual(told);
  });
});

describe('step 2, replay', () => {
  const failed = [
    2,
    'EE_NONCE_STORE_FAILURE',
    '/constraints/nonce',
    'The store of nonces cannot be read or written.',
  ];

  test('EE_NONCE_REPLAY', () => {
    expect(failure({ replay: 'seen' })).toEqual([
      2,
      'EE_NONCE_REPLAY',
      '/constraints/nonce',
      'The nonce 7 was used by this caller.',
    ]);
    const within = (replay_scope: string) =>
      failure({ replay: 'seen', envelope: envelopeWith({ constraints: { replay_scope } }) })[3];
    expect(within('tenant')).toBe('The nonce 7 was used in this tenant.');
    expect(within('global')).toBe('The nonce 7 was used before.');
  });

  test('EE_NONCE_STORE_FAILURE when the store cannot say', () => {
    expect(failure({ replay: 'failed' })).toEqual(failed);
    expect(failure({ replay: 'whatever' as never })).toEqual(failed);
    const throwing = () => {
      throw new Error('disk');
    };
    expect(failure({ replay: throwing })).toEqual(failed);
  });

  test('the ledger is asked for the nonce within its scope', () => {
    const asked: unknown[] = [];
    const replay: CheckInput['replay'] = (nonce) => {
      asked.push(nonce);
      return 'fresh';
    };
    for (const replay_scope of ['caller', 'tenant', 'global'])
      checkEnvelope({ ...good, replay, envelope: envelopeWith({ constraints: { replay_scope } }) });
    expect(asked).toEqual([
      { replay_scope: 'caller', tenant_id: 'acme', caller: 'agent-7', nonce: 7 },
      { replay_scope: 'tenant', tenant_id: 'acme', caller: '', nonce: 7 },
      { replay_scope: 'global', tenant_id: '', caller: '', nonce: 7 },
    ]);
  });
});

describe('step 3, exec_hash', () => {
  test('EE_HASH_MISMATCH when another envelope was expected', () => {
    expect(failure({ expected: execHash(envelope) })).toBe('nothing');
    expect(failure({ expected: execHash(envelopeWith({ intent_id: 'x' })) })).toEqual([
      3,
      'EE_HASH_MISMATCH',
      '',
      'The envelope is not the one that was expected.',
    ]);
  });

  test('EE_CANONICALIZATION_FAILED for what was never parsed', () => {
    const forged = { ...envelope, version: 1.5 } as unknown as Envelope;
    expect(failure({ envelope: forged })).toEqual([
      3,
      'EE_CANONICALIZATION_FAILED',
      '/version',
      'The envelope has no canonical form: 1.5 is not a base-10 integer.',
    ]);
  });
});

describe('step 4, authorization', () => {
  test('EE_AO_INVALID and EE_AO_SIGNATURE_INVALID', async () => {
    expect(failure({ authorization: null })).toEqual([4, 'EE_AO_INVALID', '', 'There is no authorization.']);
    expect(failure({ authorization: '{}' })).toEqual([
      4,
      'EE_AO_INVALID',
      '',
      'This must be an object of payload and signatures, as in general JSON form.',
    ]);
    const validity = { notBefore: null, notAfter: NOW + 9, revokedAt: null };
    const limited = keys.map((each) => ({ ...each, validity }));
    expect(checkEnvelope({ ...good, keys: limited }).permit!.until).toBe(NOW + 9);
    expect(failure({ keys: limited, now: NOW + 10 })).toEqual([
      4,
      'EE_AO_KEY_INVALID',
      '/signatures/0',
      `A key that signed the authorization was not valid at ${NOW + 10}.`,
    ]);
    expect(failure({ tenantId: 'other' })).toEqual([
      4,
      'EE_TENANT_MISMATCH',
      '/tenant_id',
      'This ledger executes no envelopes of this tenant.',
    ]);
    expect(failure({ authorization: await signed({}, [alice, bob, mallory]) })).toEqual([
      4,
      'EE_AO_SIGNER_UNKNOWN',
      '/signatures',
      'A key that is not known here signed too.',
    ]);
    expect(failure({ authorization: await signed({}, [mallory]) })).toEqual([
      4,
      'EE_AO_SIGNATURE_INVALID',
      '/signatures',
      'No known key signed the authorization.',
    ]);
  });

  test.each<[string, Partial<Authorization>, string, string]>([
    ['EE_AO_SUBJECT_MISMATCH', { sub: 'agent-8' }, 'sub', 'The authorization is for another caller.'],
    ['EE_AO_TENANT_MISMATCH', { tenant_id: 'evil' }, 'tenant_id', 'The authorization is for another tenant.'],
    ['EE_AO_AUDIENCE_MISMATCH', { aud: 'other' }, 'aud', 'The authorization is for another ledger.'],
    [
      'EE_AO_EXPIRED',
      { exp: NOW },
      'exp',
      `The authorization expired at ${iso(NOW)}, and now it is ${iso(NOW)}.`,
    ],
    [
      'EE_NOT_YET_VALID',
      { nbf: NOW + 1 },
      'nbf',
      `The authorization holds from ${iso(NOW + 1)} on, and now it is ${iso(NOW)}.`,
    ],
    [
      'EE_HASH_MISMATCH',
      { exec_hash: '0'.repeat(64) },
      'exec_hash',
      'The authorization is for another envelope.',
    ],
  ])('%s', async (code, change, claim, message) => {
    const authorization = await signed(change);
    expect(failure({ authorization })).toEqual([4, code, `/payload/${claim}`, message]);
  });

  test('a skew moves both ends', async () => {
    expect(failure({ authorization: await signed({ exp: NOW }), skew: 1 })).toBe('nothing');
    expect(failure({ authorization: await signed({ nbf: NOW + 1 }), skew: 1 })).toBe('nothing');
    expect(failure({ authorization: await signed({ nbf: NOW + 2 }), skew: 1 })[1]).toBe('EE_NOT_YET_VALID');
  });

  test('metadata says nothing about when an envelope begins to hold', () => {
    const later = createEnvelope({ ...fields, metadata: { created_at: NOW + 100_000 } });
    expect(failure({ envelope: later })).toBe('nothing');
  });
});

describe('step 5, policy', () => {
  const other = (change: object) => JSON.stringify({ ...policyDocument, ...change });

  test.each<[string, CheckInput['policy'], string, string]>([
    ['no policy', null, 'policy_hash', 'There is no such policy now.'],
    ['a new version', other({ policy_version: 4 }), 'policy_version', 'The policy now has the version 4.'],
    [
      'another policy',
      other({ policy_doc: { ...policyDocument.policy_doc, policy_id: 'other' } }),
      'policy_id',
      'The envelope is bound to a policy of another id.',
    ],
    [
      'a change under the same version',
      other({ policy_doc: { ...policyDocument.policy_doc, velocity: [] } }),
      'policy_hash',
      'The policy is no longer the one that was bound.',
    ],
  ])('EE_POLICY_DRIFT: %s', (_, policy, field, message) => {
    expect(failure({ policy })).toEqual([5, 'EE_POLICY_DRIFT', `/policy_binding/${field}`, message]);
  });

  test('EE_POLICY_DRIFT: a policy that is not in effect yet', async () => {
    const now = policyDocument.policy_effective_at - 1;
    const authorization = await signed({ nbf: now });
    expect(failure({ now, authorization })).toEqual([
      5,
      'EE_POLICY_DRIFT',
      '/policy_binding/policy_version',
      `The policy is in effect only from ${policyDocument.policy_effective_at} on.`,
    ]);
  });

  test('EE_POLICY_HASH_DERIVATION_FAILED', () => {
    expect(failure({ policy: other({ policy_version: 3.5 }) })).toEqual([
      5,
      'EE_POLICY_HASH_DERIVATION_FAILED',
      '/policy_binding/policy_hash',
      'The hash of the current policy cannot be derived: A number here has plain digits, without a point or an exponent. It stands at "/policy_version".',
    ]);
    expect(failure({ policy: '' })[3]).toBe(
      'The hash of the current policy cannot be derived: The policy is not strict JSON: A value was expected here. It stands at "".',
    );
  });

  test('an upper-case hash is another hash', async () => {
    const { policy_binding } = fields;
    const shouting = envelopeWith({
      policy_binding: { policy_hash: policy_binding.policy_hash.toUpperCase().replace('0X', '0x') },
    });
    const authorization = await authorize(claimsFor(shouting), by(alice, bob));
    expect(failure({ envelope: shouting, authorization })[1]).toBe('EE_POLICY_DRIFT');
  });
});

describe('step 6, constraints', () => {
  const check = async (of: Envelope, input: Partial<CheckInput> = {}) =>
    failure({ envelope: of, authorization: await authorize(claimsFor(of), by(alice, bob)), ...input });

  test('EE_CONSTRAINT_VIOLATION, the first of all', async () => {
    const of = envelopeWith({ rail: { chain_id: null }, target: { amount: '3000000' } });
    expect(await check(of)).toEqual([
      6,
      'EE_CONSTRAINT_VIOLATION',
      '/rail/chain_id',
      'An EVM rail needs the chain id.',
    ]);
    const authorization = await authorize(claimsFor(of), by(alice, bob));
    const { violations } = checkEnvelope({ ...good, envelope: of, authorization });
    expect(violations.map(({ path }) => path)).toEqual(['/rail/chain_id', '/rail', '/target/amount']);
  });

  test('EE_CONSTRAINT_VIOLATION by the figures of the ledger', async () => {
    const [day] = reservationsOf(policy, envelope, NOW);
    expect(await check(envelope, { usage: new Map([[day!.key, 5000000n]]) })).toEqual([
      6,
      'EE_CONSTRAINT_VIOLATION',
      '/target/amount',
      'The limit usdc-day is 5000000 in 86400 seconds; 0 is left, and this is 1000000.',
    ]);
  });

  test('EE_AO_THRESHOLD: two keys of one person are one person', async () => {
    const authorization = await signed({}, [alice, alicesToken]);
    expect(failure({ authorization })).toEqual([
      6,
      'EE_AO_THRESHOLD',
      '/action_type',
      'This action needs 2 people to sign, and 1 did.',
    ]);
  });

  test('EE_RISK_DENIED', () => {
    expect(failure({ risk: null })).toBe('nothing');
    expect(failure({ risk: 'The destination is on a sanctions list.' })).toEqual([
      6,
      'EE_RISK_DENIED',
      '',
      'The destination is on a sanctions list.',
    ]);
  });
});

/** The steps 0 to 6, and then a ledger that consumes the permit or refuses it. */
async function checkAndConsume(
  input: CheckInput,
  consume: (permit: Permit) => Promise<void> | void,
  assess?: Assess,
): Promise<Verdict> {
  const verdict = await assessEnvelope(input, assess);
  if (verdict.permit === null) return verdict;
  try {
    await consume(verdict.permit);
  } catch (error) {
    return notConsumed(verdict, error);
  }
  return afterConsumption(verdict);
}

describe('step 7, permit', () => {
  test('passes when the ledger has consumed', async () => {
    const consumed: Permit[] = [];
    const verdict = await checkAndConsume(good, (permit) => void consumed.push(permit));
    expect(verdict.ok).toBe(true);
    expect(verdict.steps.map(({ status }) => status)).toEqual(new Array(8).fill('passed'));
    expect(consumed).toEqual([verdict.permit]);
  });

  test('is not reached by what failed before: nothing is consumed', async () => {
    const never = () => expect.unreachable();
    const verdict = await checkAndConsume({ ...good, replay: 'seen' }, never);
    expect([verdict.ok, verdict.code]).toEqual([false, 'EE_NONCE_REPLAY']);
  });

  test.each<[string, unknown, string, string]>([
    [
      'a nonce that another took meanwhile',
      nonceReplayed(nonceKey(envelope)),
      'EE_NONCE_REPLAY',
      'The nonce 7 was used by this caller.',
    ],
    [
      'an allowance that another took meanwhile',
      limitExceeded(reservationsOf(policy, envelope, NOW)[1]!, 10n),
      'EE_CONSTRAINT_VIOLATION',
      'The limit calls is 10 executions in 3600 seconds.',
    ],
    [
      'a store that fails',
      new Error('disk full'),
      'EE_NONCE_STORE_FAILURE',
      'The store of nonces cannot be read or written.',
    ],
    [
      'a store that fails with a code of its own',
      new BullaError('STORE_BUSY', 'The store is busy.'),
      'EE_NONCE_STORE_FAILURE',
      'The store of nonces cannot be read or written.',
    ],
  ])('%s', async (_, error, code, message) => {
    const verdict = await checkAndConsume(good, () => Promise.reject(error));
    expect([verdict.ok, verdict.permit, verdict.code, verdict.message]).toEqual([false, null, code, message]);
    expect(verdict.steps.at(-1)).toEqual({
      step: 7,
      name: 'permit',
      status: 'failed',
      problem: { code, message, path: verdict.path },
    });
    expect(explain(verdict).at(-1)).toBe(`7 permit: failed. ${message} (${code} at ${verdict.path})`);
  });
});

describe('what else is asked before step 7', () => {
  const never = () => expect.unreachable();
  const assessed = async (assess: Assess) => {
    const verdict = await checkAndConsume(good, never, assess);
    expect([verdict.ok, verdict.permit]).toEqual([false, null]);
    expect(verdict.steps.slice(-2).map(({ status }) => status)).toEqual(['failed', 'not reached']);
    expect(verdict.steps.at(-2)!.problem).toEqual({
      ...{ code: verdict.code, path: verdict.path, message: verdict.message },
    });
    return [verdict.code, verdict.path, verdict.message];
  };

  test('refuses with its own code at step 6', async () => {
    const error = new BullaError('EE_ARGS_MISMATCH', 'The argument is not the approved /target/to.', {
      path: '/to',
    });
    expect(await assessed(() => Promise.reject(error))).toEqual([error.code, '/to', error.message]);
  });

  test('EE_RISK_DENIED when it fails', async () => {
    const unknown = ['EE_RISK_DENIED', '', 'The risk cannot be assessed.'];
    expect(await assessed(() => Promise.reject(new Error('timeout')))).toEqual(unknown);
    expect(await assessed(() => Promise.reject(new BullaError('STORE_BUSY', 'Busy.')))).toEqual(unknown);
  });

  test('passes, and then the ledger is asked; a kill switch speaks for itself', async () => {
    const order: string[] = [];
    const verdict = await checkAndConsume(
      good,
      () => {
        order.push('consume');
        throw new BullaError('KILLED', 'A kill switch stands for everything: it ran away');
      },
      ({ exec_hash }) => void order.push(`assess ${exec_hash}`),
    );
    expect(order).toEqual([`assess ${execHash(envelope)}`, 'consume']);
    expect([verdict.code, verdict.message, verdict.steps.at(-1)!.status]).toEqual([
      'KILLED',
      'A kill switch stands for everything: it ran away',
      'failed',
    ]);
  });
});

describe('explain', () => {
  test('says each step in plain words', async () => {
    expect(explain(await checkAndConsume(good, () => {}))).toEqual([
      '0 schema: passed. The envelope is exactly an envelope of version 1.',
      '1 time: passed. Its time has not run out.',
      '2 replay: passed. Its nonce was not used before.',
      '3 exec_hash: passed. Its hash was computed from everything but the metadata.',
      '4 authorization: passed. Known keys signed an authorization for this envelope, caller, tenant and ledger, valid now.',
      '5 policy: passed. The policy is still the one that the envelope is bound to.',
      '6 constraints: passed. The policy permits the action, and enough people signed.',
      '7 permit: passed. The ledger consumed the nonce and took the reservations; the action may be executed once.',
    ]);
    expect(explain(checkEnvelope(good)).at(-1)).toBe(
      '7 permit: not reached. Nothing was consumed, so nothing may be executed yet.',
    );
  });

  test('says what failed and what was not reached', () => {
    expect(explain(checkEnvelope({ ...good, authorization: null })).slice(3)).toEqual([
      '3 exec_hash: passed. Its hash was computed from everything but the metadata.',
      '4 authorization: failed. There is no authorization. (EE_AO_INVALID)',
      '5 policy: not reached, because step 4 failed.',
      '6 constraints: not reached, because step 4 failed.',
      '7 permit: not reached, because step 4 failed.',
    ]);
  });

  test('what a pass does not prove is said too', () => {
    expect(NOT_PROVEN.length).toBe(3);
  });
});

describe('any change', () => {
  /** The first step that a change of the field fails, when only the envelope is changed. */
  const FIRST: Readonly<Record<string, [number, string]>> = {
    '/version': [0, 'EE_SCHEMA_INVALID'],
    '/tenant_id': [4, 'EE_TENANT_MISMATCH'],
    '/actor/caller': [4, 'EE_AO_SUBJECT_MISMATCH'],
  };
  const binding = Object.entries(fields).flatMap(([name, value]) =>
    name === 'metadata'
      ? []
      : typeof value === 'object'
        ? Object.keys(value).map((inner) => `/${name}/${inner}`)
        : [`/${name}`],
  );
  const at = (root: JsonRecord, path: string): [JsonRecord, string] => {
    const [outer, inner] = path.slice(1).split('/') as [string, string | undefined];
    return inner === undefined ? [root, outer] : [root[outer] as JsonRecord, inner];
  };
  const replay: CheckInput['replay'] = ({ nonce }) => (nonce === 6 ? 'seen' : 'fresh');
  const always: Json[] = [
    ...[null, 0, 1, 6, 8, NOW, NOW + 299, NOW + 301],
    ...['tenant', 'global', 'AB', '0', '01000000', '0xabcdef'],
  ];
  const other: fc.Arbitrary<Json> = fc.oneof(
    fc.maxSafeInteger(),
    fc.string({ minLength: 1, maxLength: 20 }).filter((text) => text.isWellFormed()),
    fc.stringMatching(/^[A-Z0-9_]{2,64}$/),
    fc.stringMatching(/^[0-9]{1,80}$/),
  );

  test.each(binding)('of %s changes the hash and is refused by the first step that it fails', (path) => {
    const hash = execHash(envelope);
    const codes = new Set<string>();
    fc.assert(
      fc.property(other, (value) => {
        const root = envelopeJson();
        const [holder, key] = at(root, path);
        fc.pre(holder[key] !== value);
        holder[key] = value;
        const text = JSON.stringify(root);
        const [step, code] = failure({ envelope: text, replay });
        codes.add(`${code}`);
        if (step === 0) return;
        const changed = parseEnvelope(text);
        expect(execHash(changed)).not.toBe(hash);
        const expired = changed.constraints.ttl < NOW;
        const seen = changed.constraints.nonce === 6;
        const expected = FIRST[path] ?? [4, 'EE_HASH_MISMATCH'];
        expect([step, code]).toEqual(
          expired ? [1, 'EE_TTL_EXPIRED'] : seen ? [2, 'EE_NONCE_REPLAY'] : expected,
        );
      }),
      { numRuns: 40 * inject('soak'), examples: always.map((value) => [value]) },
    );
    expect([...codes]).toContain((FIRST[path] ?? [4, 'EE_HASH_MISMATCH'])[1]);
  });

  test('of the metadata changes nothing', () => {
    const before = checkEnvelope(good);
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.maxSafeNat(), (more, created_at) => {
        const text = JSON.stringify({ ...envelopeJson(), metadata: { ...more, created_at } });
        const after = checkEnvelope({ ...good, envelope: text });
        expect([after.exec_hash, after.code]).toEqual([before.exec_hash, null]);
      }),
      { numRuns: 30 * inject('soak') },
    );
  });
});
