import { createHash } from 'node:crypto';
import { type Commitment, commit, opens } from '@bulla/core/canon';
import { keyId, publicKey, type Signer, toUtf8 } from '@bulla/core/crypto';
import {
  type ApprovalHow,
  authorize,
  createEnvelope,
  execHash,
  type Permit,
  parseEnvelope,
  parsePolicy,
  type Signatory,
  toolCallEnvelope,
} from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import { readEvidence } from '@bulla/core/evidence';
import { type JsonObject, parse } from '@bulla/core/json';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  createVerifier,
  ExecutionNotStarted,
  publishPolicy,
  settleExecution,
} from '../src/envelope/index.ts';
import { type Call, payloadOf } from '../src/record/index.ts';
import { createLedger, type Store, type StoreOptions, setKill } from '../src/store/index.ts';
import {
  alice,
  approval,
  bob,
  by,
  CHAIN,
  claimsFor,
  envelope,
  envelopeWith,
  mallory,
  NOW,
  operatorOn,
  payment,
  policyDocument,
  policyWith,
  publishSample,
  recordOn,
  rejection,
  signedBy2,
  verifierOn,
  verifierOptions,
} from './envelope.ts';
import { afterAppend, input, sealer, verifiedLength } from './store-suite.ts';

interface Sealed {
  readonly id: string;
  readonly parent_id: string | null;
  readonly type: string;
  readonly domain: string;
  readonly trigger: { request: string };
  readonly context: { environment: { bulla: Record<string, unknown> } };
  readonly execution: { tool_calls: readonly unknown[] };
  readonly authority: { type: string; approver: string | null; chain: unknown[] };
  readonly outcome: { status: string; error: string | null };
}

/** The records of a chain behind the one of the published policy. */
async function records(store: Store): Promise<Sealed[]> {
  const found: Sealed[] = [];
  for await (const { data } of store.chain(CHAIN).records()) found.push(JSON.parse(data));
  return found.filter(({ type }) => type !== 'auth');
}

const pay = () => 'paid';
const never = () => expect.unreachable();

function digestOf(authorization: string): string {
  return `sha256:${createHash('sha256').update(authorization).digest('hex')}`;
}

/** What every database must do; `open` gives a handle on one store, each tenant of which is new. */
export function envelopeSuite(open: (options: Partial<StoreOptions>) => Promise<Store>): void {
  let tenants = 0;
  const opened = async (tenant = `tenant-${++tenants}`, policy?: string, strictInterop = false) => {
    const store = await open({ sealer, tenant, strictInterop });
    onTestFinished(() => store.close());
    await publishSample(store, policy);
    return store;
  };

  describe('an approved action', () => {
    test('is executed once, between an intent and an outcome', async () => {
      const store = await opened();
      const ledger = createLedger(store);
      const [text, authorization] = await payment(1);
      const hash = execHash(parseEnvelope(text));
      const permits: Permit[] = [];
      const decision = await verifierOn(store).verifyAndConsume(text, authorization, async (permit) => {
        permits.push(permit);
        // What must be durable is durable now.
        expect((await records(store)).map(({ outcome }) => outcome.status)).toEqual(['pending']);
        expect((await ledger.execution(hash))!.state).toBe('reserved');
        return 'receipt 17';
      });
      expect(decision).toMatchObject({ status: 'success', result: 'receipt 17', cause: undefined });
      expect(permits.map(({ exec_hash }) => exec_hash)).toEqual([hash]);
      const [intent, outcome] = await records(store);
      expect([outcome!.parent_id, outcome!.outcome]).toMatchObject([intent!.id, { status: 'success' }]);
      expect(await ledger.execution(hash)).toEqual({
        exec_hash: hash,
        ...{ replay_scope: 'caller', tenant_id: 'acme', caller: 'agent-7', nonce: 1 },
        ...{ iss: 'gateway.example', jti: 'ao-1', state: 'committed' },
        ...{ intent_id: intent!.id, outcome_id: outcome!.id },
      });
      expect(await verifiedLength(store, CHAIN)).toBe(3);
    });

    test('is refused the second time, and so is another one with its nonce', async () => {
      const store = await opened();
      const verifier = verifierOn(store);
      const [text, authorization] = await payment(1);
      await verifier.verifyAndConsume(text, authorization, pay);
      const again = await verifier.verifyAndConsume(text, authorization, never);
      expect(again).toMatchObject({
        status: 'blocked',
        verdict: { code: 'EE_NONCE_REPLAY', message: 'The nonce 1 was used by this caller.' },
      });
      const other = await payment(1, { intent_id: 'other' });
      expect(await verifier.verifyAndConsume(...other, never)).toMatchObject({
        verdict: { code: 'EE_NONCE_REPLAY', path: '/constraints/nonce' },
      });
      expect((await records(store)).map(({ outcome }) => outcome.error)).toEqual([
        null,
        null,
        'envelope: EE_NONCE_REPLAY',
        'envelope: EE_NONCE_REPLAY',
      ]);
    });

    test('at once from two handles passes one of them', async () => {
      const [a, b] = [await opened('both'), await open({ sealer, tenant: 'both' })];
      onTestFinished(() => b.close());
      const [text, authorization] = await payment(1);
      let executed = 0;
      const attempts = Array.from({ length: 40 }, (_, i) =>
        verifierOn(i % 2 === 0 ? a : b).verifyAndConsume(text, authorization, () => executed++),
      );
      const statuses = (await Promise.all(attempts)).map(({ status }) => status).toSorted();
      expect([executed, statuses]).toEqual([1, [...new Array(39).fill('blocked'), 'success']]);
      expect(await verifiedLength(a, CHAIN)).toBe(1 + 2 + 39);
    });

    test.each([
      ['caller', { actor: { caller: 'agent-8' } }, 'success', { tenant_id: 'other' }, 'success'],
      ['tenant', { actor: { caller: 'agent-8' } }, 'blocked', { tenant_id: 'other' }, 'success'],
      ['global', { actor: { caller: 'agent-8' } }, 'blocked', { tenant_id: 'other' }, 'blocked'],
    ] as const)(
      'uses up its nonce within its scope: %s',
      async (replay_scope, caller, first, tenant, second) => {
        const store = await opened(`scope-${replay_scope}`);
        const attempt = async (changes: { tenant_id?: string; actor?: object }, jti: string) => {
          const verifier = verifierOn(store, { tenantId: changes.tenant_id ?? 'acme' });
          const of = envelopeWith({ ...changes, constraints: { nonce: 5, replay_scope } });
          return (await verifier.verifyAndConsume(...(await signedBy2(of, jti)), pay)).status;
        };
        expect(await attempt({}, 'a')).toBe('success');
        expect(await attempt(caller, 'b')).toBe(first);
        expect(await attempt(tenant, 'c')).toBe(second);
      },
    );

    test('of another tenant than the ledger serves is refused', async () => {
      const store = await opened('acme');
      const [text, authorization] = await payment(1);
      const refused = await verifierOn(store, { tenantId: 'other' }).verifyAndConsume(
        text,
        authorization,
        never,
      );
      expect([refused.verdict.code, refused.verdict.path]).toEqual(['EE_TENANT_MISMATCH', '/tenant_id']);
      // Without a word the store's own tenant is meant.
      const { tenantId: _, ...unnamed } = verifierOptions(store);
      const rest = { ...unnamed, store };
      const own = await createVerifier(rest).verifyAndConsume(text, authorization, pay);
      expect(own.status).toBe('success');
      const others = await payment(2, { tenant_id: 'other' });
      expect((await createVerifier(rest).verifyAndConsume(...others, never)).verdict.code).toBe(
        'EE_TENANT_MISMATCH',
      );
      expect(() => createVerifier(unnamed)).toThrow(expect.objectContaining({ code: 'USAGE' }));
      // Else the same envelope could be executed once in the store of each tenant.
      expect(() => createVerifier({ ...rest, tenantId: 'other' })).toThrow(
        expect.objectContaining({
          code: 'USAGE',
          message: 'The store is of the tenant acme; envelopes of another are not executed in it.',
        }),
      );
      expect(createVerifier({ ...rest, tenantId: 'acme' })).toBeDefined();
    });

    test('of one tenant of the store has nothing to do with another', async () => {
      const [a, b] = [await opened(), await opened()];
      const [text, authorization] = await payment(1);
      for (const store of [a, b])
        expect((await verifierOn(store).verifyAndConsume(text, authorization, pay)).status).toBe('success');
    });

    test('nothing that a ledger keeps is seen, used up or stopped from another tenant, or from none', async () => {
      const mine = await opened();
      const nobodys = await open({ sealer, tenant: null });
      onTestFinished(() => nobodys.close());
      const others = [await opened(), nobodys];
      const args = payloadOf('args', { a: 1 }, true);
      const subject = { agentId: 'a', source: 'a', request: 'tools/call s/t' };
      const { capsule } = await recordOn(mine).intent({ ...subject, door: 'agents', args });
      const { commitment } = args.committed as Commitment;
      const all = await Promise.all(Array.from({ length: 5 }, (_, i) => payment(i)));
      for (const each of all)
        expect((await verifierOn(mine).verifyAndConsume(...each, pay)).status).toBe('success');
      const refused = await verifierOn(mine).verifyAndConsume(...(await payment(9)), never);
      expect(refused.verdict.code).toBe('EE_CONSTRAINT_VIOLATION');
      await mine.transaction(setKill({ agentId: null, reason: 'stop', capsuleId: 'k' }));
      for (const store of others) {
        const ledger = createLedger(store);
        const hash = execHash(parseEnvelope(all[0]![0]));
        expect([
          await ledger.execution(hash),
          await ledger.refusals(refused.verdict.exec_hash!),
          await store.kills(),
          await store.opening(commitment),
          await store.eraseOpenings(capsule.id),
        ]).toEqual([null, [], [], null, 0]);
        if (store === nobodys) {
          expect(await ledger.policies()).toEqual([]);
          await publishSample(store);
        }
        // The same nonces, authorizations and envelopes, up to the same ceiling.
        for (const each of all)
          expect((await verifierOn(store).verifyAndConsume(...each, pay)).status).toBe('success');
      }
      expect((await mine.opening(commitment))?.payload).toBe('{"a":1}');
      const { verdict } = await verifierOn(mine).verifyAndConsume(...(await payment(10)), never);
      expect([verdict.code, verdict.steps.at(-1)!.status]).toEqual(['EE_CONSTRAINT_VIOLATION', 'failed']);
    });

    test('under the later draft', async () => {
      const store = await opened();
      const claims = claimsFor(envelope, { exec_hash: execHash(envelope, 'envelope-v1-nul') });
      const authorization = await authorize(claims, by(alice, bob));
      const verifier = verifierOn(store, { profile: 'envelope-v1-nul' });
      const decision = await verifier.verifyAndConsume(envelope, authorization, pay);
      expect([decision.status, decision.verdict.exec_hash!.slice(0, 2)]).toEqual(['success', '0x']);
    });
  });

  describe('an execution that fails', () => {
    const dayOf = async (store: Store) => {
      const of = parsePolicy(JSON.stringify(policyDocument));
      const { reservationsOf } = await import('@bulla/core/envelope');
      const usage = await createLedger(store).usage(reservationsOf(of, envelope, NOW));
      return [...usage.values()].map(String);
    };

    test('counts as if it had happened, and its nonce stays consumed', async () => {
      const store = await opened();
      const verifier = verifierOn(store);
      const [text, authorization] = await payment(1);
      const error = new Error('the bank hung up on account 4711');
      const decision = await verifier.verifyAndConsume(text, authorization, () => Promise.reject(error));
      expect(decision).toMatchObject({ status: 'failure', error, released: false });
      expect(await dayOf(store)).toEqual(['1000000', '1']);
      expect((await createLedger(store).execution(decision.verdict.exec_hash!))!.state).toBe('committed');
      const [intent, outcome] = await records(store);
      expect([outcome!.parent_id, outcome!.outcome]).toMatchObject([
        intent!.id,
        { status: 'failure', error: 'action: Error' },
      ]);
      expect((await verifier.verifyAndConsume(text, authorization, never)).verdict.code).toBe(
        'EE_NONCE_REPLAY',
      );
    });

    test('and surely did not happen gives back what it held, but not its nonce', async () => {
      const store = await opened();
      const verifier = verifierOn(store);
      const [text, authorization] = await payment(1);
      const decision = await verifier.verifyAndConsume(text, authorization, () => {
        throw new ExecutionNotStarted('The bank was not reached.');
      });
      expect(decision).toMatchObject({ status: 'failure', released: true });
      expect(await dayOf(store)).toEqual(['0', '0']);
      expect((await records(store))[1]!.outcome.error).toBe('action: EE_NOT_STARTED');
      expect((await verifier.verifyAndConsume(text, authorization, never)).verdict.code).toBe(
        'EE_NONCE_REPLAY',
      );
    });

    test('also with undefined', async () => {
      const store = await opened();
      const decision = await verifierOn(store).verifyAndConsume(...(await payment(1)), () =>
        Promise.reject(undefined),
      );
      expect(decision.status).toBe('failure');
    });

    test('in a way that nobody saw is settled by an operator, once', async () => {
      const store = await opened();
      const ledger = createLedger(store);
      const hash = execHash(envelope);
      const operator = operatorOn(store);
      expect(await rejection(settleExecution(store, hash, 'released', operator))).toEqual([
        'EE_NOT_RESERVED',
        undefined,
        'There is no such execution whose outcome is open.',
      ]);
      const text = await signedBy2(envelope, 'x');
      const decision = await verifierOn(store).verifyAndConsume(...text, async () => {
        expect((await ledger.unsettled()).map(({ exec_hash }) => exec_hash)).toEqual([hash]);
        const { id, parent_id } = await settleExecution(store, hash, 'released', operator);
        expect(await ledger.unsettled()).toEqual([]);
        expect(await ledger.execution(hash)).toMatchObject({ outcome_id: id, intent_id: parent_id });
        await expect(settleExecution(store, hash, 'committed', operator)).rejects.toMatchObject({
          code: 'EE_NOT_RESERVED',
        });
      });
      // The outcome is told all the same.
      expect(decision).toMatchObject({ status: 'success', cause: undefined });
      expect((await ledger.execution(hash))!.state).toBe('released');
      expect((await records(store)).map(({ outcome }) => outcome.status)).toEqual(['pending', 'success']);
    });
  });

  test('an envelope that is given as an object is copied before anything is checked', async () => {
    const store = await opened();
    const [text, authorization] = await payment(31);
    const given = JSON.parse(text) as typeof envelope;
    const verifier = verifierOn(store, {
      risk() {
        (given.target as { amount: string }).amount = '999999';
        return null;
      },
    });
    const decision = await verifier.verifyAndConsume(
      given,
      authorization,
      (permit) => permit.envelope.target.amount,
    );
    expect(decision).toMatchObject({ status: 'success', result: '1000000' });
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const failing = await verifierOn(store).verifyAndConsume(...(await payment(32)), () => {
      throw proxy;
    });
    expect([failing.status, (failing as { released: boolean }).released]).toEqual(['failure', false]);
  });

  describe('limits', () => {
    test('of a policy with thousands of them are all taken, and all held', async () => {
      const rule = (count: number) => (_: unknown, i: number) => ({
        ...{ id: `v-${i}`, actions: null, per: [], window: 3600, count },
      });
      const velocity = [...Array.from({ length: 1500 }, rule(10)), { ...rule(1)(null, 1500) }];
      const document = policyWith({ ceilings: [], velocity: velocity as never });
      const store = await opened(undefined, document);
      const bound = { policy_binding: { policy_hash: parsePolicy(document).policy_hash } };
      const verifier = verifierOn(store);
      expect((await verifier.verifyAndConsume(...(await payment(1, bound)), pay)).status).toBe('success');
      const second = await verifier.verifyAndConsume(...(await payment(2, bound)), never);
      expect(second.verdict.code).toBe('EE_CONSTRAINT_VIOLATION');
    });

    test('are taken to the last unit and no further, by whoever comes at once', async () => {
      const store = await opened();
      const verifier = verifierOn(store);
      const payments = await Promise.all(Array.from({ length: 9 }, (_, i) => payment(i)));
      const decisions = await Promise.all(payments.map((each) => verifier.verifyAndConsume(...each, pay)));
      expect(decisions.filter(({ status }) => status === 'success').length).toBe(5);
      const refused = decisions.filter(({ status }) => status === 'blocked');
      expect(new Set(refused.map(({ verdict }) => verdict.message))).toEqual(
        new Set(['The limit usdc-day is 5000000 in 86400 seconds; 0 is left, and this is 1000000.']),
      );
      expect(new Set(refused.map(({ verdict }) => verdict.steps.at(-1)!.status))).toEqual(
        new Set(['failed']),
      );
      const { code, steps } = await verifier.check(...(await payment(99)));
      expect([code, steps.at(-2)!.status]).toEqual(['EE_CONSTRAINT_VIOLATION', 'failed']);
    });

    test('are free again when their window is over, and a clock that is set back gains nothing', async () => {
      const store = await opened();
      let time = NOW;
      const verifier = verifierOn(store, { now: () => time });
      const attempt = async (nonce: number) => {
        const of = envelopeWith({ constraints: { nonce, ttl: time + 300 } });
        const claims = claimsFor(of, { jti: `w-${nonce}`, nbf: time - 1, exp: time + 200 });
        const decision = await verifier.verifyAndConsume(of, await authorize(claims, by(alice, bob)), pay);
        return decision.verdict.code ?? decision.status;
      };
      for (let i = 0; i < 5; i++) expect(await attempt(i)).toBe('success');
      expect(await attempt(5)).toBe('EE_CONSTRAINT_VIOLATION');
      time += 86_400 + 1440;
      expect(await attempt(6)).toBe('success');
      for (let i = 7; i < 11; i++) expect(await attempt(i)).toBe('success');
      time -= 86_400;
      expect(await attempt(11)).toBe('EE_CONSTRAINT_VIOLATION');
    });

    test('are one sum for all tenants that a ledger serves, also at once from two handles', async () => {
      const [a, b] = [await opened('shared'), await open({ sealer, tenant: 'shared' })];
      onTestFinished(() => b.close());
      const payments = await Promise.all(
        Array.from({ length: 9 }, (_, i) => payment(i, { tenant_id: `tenant-${i % 3}` })),
      );
      const decisions = await Promise.all(
        payments.map((each, i) =>
          verifierOn(i % 2 === 0 ? a : b, { tenantId: `tenant-${i % 3}` }).verifyAndConsume(...each, pay),
        ),
      );
      expect(decisions.filter(({ status }) => status === 'success').length).toBe(5);
    });

    test('count from when the nonce is consumed, however long the risk engine takes', async () => {
      const ceilings = [{ id: 'minute', asset: 'USDC', per: [], window: 60, amount: '1000000' }];
      const policy = policyWith({ ceilings: ceilings as never, velocity: [] });
      const store = await opened(undefined, policy);
      let time = NOW;
      const attempt = async (nonce: number, risk: () => null) => {
        const verifier = verifierOn(store, { now: () => time, risk });
        const { policy_hash } = parsePolicy(policy);
        const changes = { policy_binding: { policy_hash } };
        return (await verifier.verifyAndConsume(...(await payment(nonce, changes)), pay)).verdict.code;
      };
      const slow = () => {
        time += 62;
        return null;
      };
      expect(await attempt(1, slow)).toBe(null);
      time += 3;
      expect(await attempt(2, () => null)).toBe('EE_CONSTRAINT_VIOLATION');
      time += 60;
      expect(await attempt(3, () => null)).toBe(null);
    });

    test('count from when they are locked, however long another transaction holds them', async () => {
      const ceilings = [{ id: 'minute', asset: 'USDC', per: [], window: 60, amount: '1000000' }];
      const policy = policyWith({ ceilings: ceilings as never, velocity: [] });
      const a = await opened('waiting', policy);
      const b = await open({ sealer, tenant: 'waiting' });
      onTestFinished(() => b.close());
      let time = NOW;
      const attempt = async (store: Store, nonce: number, risk: () => null = () => null) => {
        const verifier = verifierOn(store, { now: () => time, risk });
        const changes = { policy_binding: { policy_hash: parsePolicy(policy).policy_hash } };
        return (await verifier.verifyAndConsume(...(await payment(nonce, changes)), pay)).verdict.code;
      };
      expect(await attempt(a, 1)).toBe(null);
      time += 61;
      const waiting = await a.transaction(async ({ all, forUpdate, tenant }) => {
        await all(`SELECT * FROM spending WHERE coalesce(tenant, '') = ?${forUpdate}`, tenant ?? '');
        const asked = Promise.withResolvers<void>();
        const waiting = attempt(b, 2, () => {
          asked.resolve();
          return null;
        });
        await asked.promise;
        // Long enough for a ledger that asked its clock too early to have asked.
        await new Promise((resolve) => setTimeout(resolve, 60));
        time += 62;
        return () => waiting;
      });
      expect(await waiting()).toBe(null);
      time += 3;
      expect(await attempt(a, 3)).toBe('EE_CONSTRAINT_VIOLATION');
    });

    test('have one window for all processes, whatever their own clocks say', async () => {
      const day = 86_400;
      const ceilings = [{ id: 'day', asset: 'USDC', per: [], window: day, amount: '1000000' }];
      const policy = policyWith({ ceilings: ceilings as never, velocity: [] });
      const store = await opened(undefined, policy);
      const { now: _, ...byDatabase } = verifierOptions(store);
      const real = Date.now;
      const today = Math.floor(real() / 1000);
      const attempt = async (nonce: number, ownClock: number) => {
        const of = envelopeWith({
          constraints: { nonce, ttl: today + 3 * day },
          policy_binding: { policy_hash: parsePolicy(policy).policy_hash },
        });
        const claims = claimsFor(of, { jti: `c-${nonce}`, nbf: today - day, exp: today + 3 * day });
        const authorization = await authorize(claims, by(alice, bob));
        Date.now = () => real() + 1000 * ownClock;
        try {
          const decision = await createVerifier(byDatabase).verifyAndConsume(of, authorization, pay);
          return decision.verdict.code ?? decision.status;
        } finally {
          Date.now = real;
        }
      };
      expect(await attempt(1, 0)).toBe('success');
      expect(await attempt(2, 2 * day)).toBe('EE_CONSTRAINT_VIOLATION');
      // Two days behind, it would not be valid yet.
      expect(await attempt(3, -2 * day)).toBe('EE_CONSTRAINT_VIOLATION');
    });

    test('of any size are exact', async () => {
      const huge = '9'.repeat(80);
      const ceilings = [{ id: 'all', asset: 'USDC', per: [], window: 'ever', amount: huge }];
      const policy = policyWith({ ceilings: ceilings as never, velocity: [] });
      const store = await opened(undefined, policy);
      const bound = parsePolicy(policy);
      const verifier = verifierOn(store);
      const attempt = async (nonce: number, amount: string) => {
        const { policy_hash } = bound;
        const changes = { target: { amount }, policy_binding: { policy_hash } };
        return (await verifier.verifyAndConsume(...(await payment(nonce, changes)), pay)).verdict.message;
      };
      expect(await attempt(1, `${BigInt(huge) - 1n}`)).toBe(null);
      expect(await attempt(2, '2')).toBe(`The limit all is ${huge} in all; 1 is left, and this is 2.`);
      expect(await attempt(3, '1')).toBe(null);
      expect(await attempt(4, '1')).toBe(`The limit all is ${huge} in all; 0 is left, and this is 1.`);
    });
  });

  describe('a refusal', () => {
    test('is sealed with the step and the code, and what it names, never with a payload', async () => {
      const store = await opened();
      const verifier = verifierOn(store);
      const [text, authorization] = await payment(1, { target: { amount: '2000001' } });
      const decision = await verifier.verifyAndConsume(text, authorization, never, {
        agentId: 'release-bot',
        sessionId: 's-1',
        parts: [{ evidence: { lock: 'sha256:1' } }],
      });
      const hash = decision.verdict.exec_hash!;
      const [blocked] = await records(store);
      expect(blocked).toMatchObject({
        type: 'tool',
        domain: 'agents',
        trigger: {
          ...{ type: 'agent', source: 'agent-7', request: 'execute TRANSFER' },
          ...{ correlation_id: 'intent-1', user_id: null },
        },
        context: { agent_id: 'release-bot', session_id: 's-1' },
        authority: {
          ...{ type: 'policy', approver: null, policy_reference: 'envelope:ledger.example' },
          escalation_reason: null,
          chain: [{ step: 'envelope', exec_hash: hash, authorization: digestOf(authorization) }],
        },
        outcome: { status: 'blocked', error: 'envelope: EE_CONSTRAINT_VIOLATION', result: null },
      });
      const { policy_hash } = envelope.policy_binding;
      expect(blocked!.context.environment).toEqual({
        bulla: {
          v: 1,
          instance: store.chain('default').instance,
          lock: 'sha256:1',
          tool: { name: 'TRANSFER' },
          envelope: {
            ...{ exec_hash: hash, profile: 'envelope-v1', audience: 'ledger.example' },
            policy: { id: 'payments', version: 3, hash: policy_hash },
          },
        },
      });
      const said = JSON.stringify(blocked);
      expect([said.includes('2000001'), said.includes(envelope.target.to)]).toEqual([false, false]);
      expect(await createLedger(store).refusals(hash)).toEqual([
        { exec_hash: hash, code: 'EE_CONSTRAINT_VIOLATION', capsule_id: blocked!.id },
      ]);
      expect(decision).toMatchObject({ status: 'blocked', capsule: { id: blocked!.id } });
    });

    test('of what is no envelope is sealed too', async () => {
      const store = await opened();
      const decision = await verifierOn(store).verifyAndConsume('{"secret":1}', null, never);
      expect(decision.verdict).toMatchObject({ code: 'EE_UNKNOWN_FIELD', exec_hash: null });
      const [blocked] = await records(store);
      expect(blocked!.outcome.error).toBe('envelope: EE_UNKNOWN_FIELD');
      expect(blocked!.authority.chain).toEqual([]);
      expect(blocked!.context.environment.bulla).toEqual({
        v: 1,
        instance: store.chain('default').instance,
        envelope: { profile: 'envelope-v1', audience: 'ledger.example' },
      });
      expect(JSON.stringify(blocked).includes('secret')).toBe(false);
    });

    test('by a kill switch, for the caller or for all, burns no nonce', async () => {
      const store = await opened();
      const verifier = verifierOn(store);
      const [text, authorization] = await payment(1);
      for (const agentId of ['agent-7', null]) {
        const kill = { agentId, reason: 'it ran away', capsuleId: 'k' };
        await store.transaction(setKill(kill));
        const decision = await verifier.verifyAndConsume(text, authorization, never);
        const whom = agentId === null ? 'everything' : `agent ${agentId}`;
        const message = `A kill switch stands for ${whom}: it ran away`;
        expect(decision.verdict).toMatchObject({ code: 'KILLED', message });
        await store.transaction(async ({ run }) => void (await run('DELETE FROM standing_kill')));
      }
      expect((await records(store)).map(({ outcome }) => outcome.error)).toEqual([
        'kill: KILLED',
        'kill: KILLED',
      ]);
      expect((await verifier.verifyAndConsume(text, authorization, pay)).status).toBe('success');
    });

    test('by a kill switch that comes with the intent: nothing is executed, and the limits are free again', async () => {
      const store = await opened();
      const kill = setKill({ agentId: 'agent-7', reason: 'it ran away', capsuleId: 'k' });
      const late = afterAppend(store, () => store.transaction(kill));
      const [text, authorization] = await payment(1);
      const decision = await verifierOn(late).verifyAndConsume(text, authorization, never);
      expect(decision).toMatchObject({ status: 'failure', released: true, error: { code: 'KILLED' } });
      expect((await records(store)).map(({ outcome }) => [outcome.status, outcome.error])).toEqual([
        ['pending', null],
        ['blocked', 'kill: KILLED'],
      ]);
      expect((await createLedger(store).execution(decision.verdict.exec_hash!))!.state).toBe('released');
    });

    test('by a risk engine, by arguments that are not the approved ones, and by either failing', async () => {
      const store = await opened();
      const [text, authorization] = await payment(1);
      const attempt = async (risk?: () => Promise<string | null>, bind?: () => void) => {
        const verifier = verifierOn(store, { ...(risk && { risk }) });
        const { verdict } = await verifier.verifyAndConsume(text, authorization, pay, {
          ...(bind && { bind }),
        });
        return [verdict.steps.findIndex(({ status }) => status === 'failed'), verdict.code, verdict.message];
      };
      expect(await attempt(async () => 'The payee is on a list.')).toEqual([
        6,
        'EE_RISK_DENIED',
        'The payee is on a list.',
      ]);
      expect(await attempt(() => Promise.reject(new Error('timeout')))).toEqual([
        6,
        'EE_RISK_DENIED',
        'The risk cannot be assessed.',
      ]);
      const bind = () => {
        throw new BullaError('EE_ARGS_MISMATCH', 'The argument is not the approved /target/to.');
      };
      expect((await attempt(undefined, bind)).slice(0, 2)).toEqual([6, 'EE_ARGS_MISMATCH']);
      expect(await attempt(async () => null)).toEqual([-1, null, null]);
    });

    test('because the time ran out before the nonce could be consumed', async () => {
      const store = await opened();
      const times = [NOW, NOW + 240];
      const verifier = verifierOn(store, { now: () => times.shift()! });
      const decision = await verifier.verifyAndConsume(...(await payment(1)), never);
      expect([decision.verdict.code, decision.verdict.path, decision.verdict.message]).toEqual([
        'EE_TTL_EXPIRED',
        '/constraints/ttl',
        `It could be executed until ${NOW + 239}, and now it is ${NOW + 240}.`,
      ]);
      times.push(NOW, Number.NaN);
      expect((await verifier.verifyAndConsume(...(await payment(1)), never)).verdict.code).toBe(
        'EE_TTL_EXPIRED',
      );
      times.push(NOW, NOW + 239);
      expect((await verifier.verifyAndConsume(...(await payment(1)), pay)).status).toBe('success');
    });

    test('because the authorization was used for another envelope', async () => {
      const store = await opened();
      const verifier = verifierOn(store);
      const [one, other] = [
        envelopeWith({ constraints: { nonce: 1 } }),
        envelopeWith({ constraints: { nonce: 2 } }),
      ];
      await verifier.verifyAndConsume(...(await signedBy2(one, 'same')), pay);
      const decision = await verifier.verifyAndConsume(...(await signedBy2(other, 'same')), never);
      expect([decision.verdict.code, decision.verdict.path, decision.verdict.message]).toEqual([
        'EE_AO_USED',
        '/payload/jti',
        'The authorization was used for another envelope.',
      ]);
      expect((await verifier.verifyAndConsume(...(await signedBy2(other, 'fresh')), pay)).status).toBe(
        'success',
      );
    });

    test.each([
      ['cannot be sealed', '{"step":"consent","share":1e400}', false],
      [
        'is not what everybody hashes alike, where that is asked for,',
        '{"step":"consent","share":1e-7}',
        true,
      ],
    ])('because the chain of an approval %s burns no nonce', async (_, step, strictInterop) => {
      const store = await opened(undefined, undefined, strictInterop);
      const verifier = verifierOn(store);
      const people = by(alice, bob);
      people[0] = { ...people[0]!, chain: [parse(step) as JsonObject] };
      const authorization = await authorize(claimsFor(envelope), people);
      const decision = await verifier.verifyAndConsume(envelope, authorization, never);
      expect([decision.verdict.code, decision.verdict.path, decision.verdict.message]).toEqual([
        'EE_AO_INVALID',
        '/signatures',
        'The chain of an approval cannot stand in a capsule.',
      ]);
      expect((await verifier.verifyAndConsume(...(await signedBy2(envelope, 'y')), pay)).status).toBe(
        'success',
      );
    });
  });

  describe('authority', () => {
    const authorityOf = async (...people: Signatory[]) => {
      const store = await opened();
      // Whoever issues it may call themselves anything.
      const authorization = await authorize(claimsFor(envelope, { iss: 'ceo' }), people);
      const decision = await verifierOn(store).verifyAndConsume(envelope, authorization, pay);
      if (decision.status === 'blocked') {
        const [blocked] = await records(store);
        return { code: decision.verdict.code, ...blocked!.authority };
      }
      const [intent, outcome] = await records(store);
      expect(outcome!.authority).toEqual(intent!.authority);
      expect(intent!.authority.chain.at(-1)).toEqual({
        step: 'envelope',
        exec_hash: execHash(envelope),
        authorization: digestOf(authorization),
      });
      return { ...intent!.authority, chain: intent!.authority.chain.slice(0, -1) };
    };
    const stating = (signer: Signer, how: ApprovalHow = 'human') => ({ signer, ...approval, how });
    const idOf = (signer: Signer) => keyId(publicKey(signer.algorithm, signer.publicKey));
    const steps = [{ step: 'consent', decision: 'approved', channel: 'passkey' }];
    const step = (approver: string, signer: Signer, how = 'human') => ({
      ...{ step: 'approval', approver, key_id: idOf(signer), how, when: NOW - 50, steps },
    });

    test('names who approved by the verified keys alone, each with their own statement', async () => {
      const reference = `policy:${envelope.policy_binding.policy_hash}`;
      const none = { approver: null, policy_reference: null, escalation_reason: null };
      const both = [step('alice', alice), step('bob', bob)];
      expect(await authorityOf(stating(alice), stating(bob))).toEqual({
        ...{ ...none, type: 'human_approved', approver: 'alice, bob', chain: both },
      });
      expect(await authorityOf(stating(alice, 'policy'), stating(bob, 'policy'))).toEqual({
        ...{ ...none, type: 'policy', policy_reference: reference },
        chain: [step('alice', alice, 'policy'), step('bob', bob, 'policy')],
      });
      expect(await authorityOf(stating(alice), stating(bob, 'escalated'))).toEqual({
        ...{ ...none, type: 'escalated', approver: 'bob' },
        escalation_reason: 'The authorization was escalated to bob.',
        chain: [step('alice', alice), step('bob', bob, 'escalated')],
      });
    });

    test('takes nothing from a key that nobody knows', async () => {
      const people = [stating(mallory, 'escalated'), stating(alice), stating(bob)];
      expect(await authorityOf(...people)).toMatchObject({
        ...{ code: 'EE_AO_SIGNER_UNKNOWN', type: 'policy', approver: null, escalation_reason: null },
        chain: [{ step: 'envelope' }],
      });
    });
  });

  describe('the records of an execution', () => {
    test('hold digests, ids and names, and a commitment to the result', async () => {
      const store = await opened();
      const [text, authorization] = await payment(1);
      const args = payloadOf('args', { to: 'DE02' });
      const decision = await verifierOn(store).verifyAndConsume(
        text,
        authorization,
        () => ({ receipt: 17 }),
        {
          ...{ door: 'relay', source: 'host 1.0', sessionId: 's-1', correlationId: 'c-1' },
          ...{ request: 'tools/call bank/pay', tool: { server: 'bank', name: 'pay' }, args },
        },
      );
      const { exec_hash } = decision.verdict;
      const { policy_hash: hash } = envelope.policy_binding;
      const [intent, outcome] = await records(store);
      for (const capsule of [intent!, outcome!]) {
        expect([capsule.type, capsule.domain]).toEqual(['tool', 'relay']);
        expect(capsule.context).toEqual({
          ...{ agent_id: 'agent-7', session_id: 's-1' },
          environment: {
            bulla: {
              v: 1,
              instance: store.chain('default').instance,
              ...(capsule === outcome && { intent: intent!.id }),
              tool: { server: 'bank', name: 'pay' },
              args: args.committed,
              envelope: {
                ...{ exec_hash, profile: 'envelope-v1', audience: 'ledger.example' },
                policy: { id: 'payments', version: 3, hash },
              },
            },
          },
        });
      }
      const { tool_calls } = outcome!.execution;
      const { result } = tool_calls[0] as { result: Commitment };
      expect(tool_calls).toMatchObject([{ tool: 'pay', arguments: args.committed, success: true }]);
      const { salt } = (await store.opening(result.commitment))!;
      expect(opens(result, 'result', { receipt: 17 }, salt)).toBe(true);
    });

    test.each<[string, () => unknown, object]>([
      ['a function', () => pay, { uncommitted: 'VALUE_NOT_JSON' }],
      ['an instance of a class', () => new Map(), { uncommitted: 'VALUE_NOT_JSON' }],
      ['undefined', () => undefined, {}],
      [
        'what throws when it is looked at',
        () => ({
          get receipt() {
            throw new TypeError('no');
          },
        }),
        { uncommitted: 'VALUE_UNREADABLE' },
      ],
    ])('are complete whatever the action returned: %s', async (_, result, said) => {
      const store = await opened();
      const decision = await verifierOn(store).verifyAndConsume(...(await payment(1)), result);
      expect([decision.status, decision.cause]).toEqual(['success', undefined]);
      const [, outcome] = await records(store);
      const [call] = outcome!.execution.tool_calls as [{ result: object | null }];
      expect([outcome!.outcome.status, call.result ?? {}]).toEqual(['success', said]);
    });

    const tool = { server: 'files', name: 'write', locked: `sha256:${'e5'.repeat(32)}` };
    const bound = { lock: `sha256:${'cd'.repeat(32)}`, args: commit('args', {}, new Uint8Array(32)) };
    const toolCall = (nonce: number) =>
      toolCallEnvelope({
        ...{ ...tool, ...bound },
        ...{ intent_id: 'i', execution_id: `e${nonce}`, tenant_id: 'acme', metadata: { created_at: NOW } },
        ...{ actor: { caller: 'agent-7', role: null }, policy: envelope.policy_binding },
        ...{ ttl: NOW + 60, nonce, replay_scope: 'caller' },
      });

    test('of a tool call hold all that its envelope binds', async () => {
      const store = await opened();
      const decision = await verifierOn(store).verifyAndConsume(
        ...(await signedBy2(toolCall(1), 'tool')),
        pay,
      );
      expect(decision.status).toBe('success');
      const sealed = await records(store);
      for (const { trigger, context } of sealed) {
        expect(trigger.request).toBe('tools/call files/write');
        expect(context.environment.bulla).toMatchObject({ tool, ...bound });
      }
      expect(sealed[1]!.execution.tool_calls).toMatchObject([{ tool: 'write', arguments: bound.args }]);
    });

    test('of a tool call are never of another one than its envelope binds', async () => {
      const store = await opened();
      const record = recordOn(store);
      const others = [
        { tool: { ...tool, server: 'shell' } },
        { tool: { ...tool, name: 'wipe' } },
        { tool: { ...tool, locked: `sha256:${'00'.repeat(32)}` } },
        { args: record.payload('args', {}) },
        { parts: [{ evidence: { lock: `sha256:${'00'.repeat(32)}` } }] },
        { request: 'tools/call files/delete' },
        { request: 'pay' },
        { agentId: 'intruder' },
      ];
      for (const [i, other] of others.entries()) {
        const signed = await signedBy2(toolCall(i), `tool-${i}`);
        const decision = await verifierOn(store).verifyAndConsume(...signed, never, other);
        expect([decision.status, decision.verdict.code]).toEqual(['blocked', 'EE_TOOL_CALL']);
      }
      const made = toolCall(9);
      for (const target of [{ asset: 'write' }, { to: 'somewhere' }]) {
        const vague = createEnvelope({ ...made, target: { ...made.target, ...target } });
        const signed = await signedBy2(vague, JSON.stringify(target));
        expect((await verifierOn(store).verifyAndConsume(...signed, never)).verdict.code).toBe(
          'EE_TOOL_CALL',
        );
      }
    });

    test('are of the call that the envelope was ruled on for, and of no other', async () => {
      const store = await opened();
      const record = recordOn(store);
      const call = {
        door: 'gateway',
        ...{ agentId: 'agent-7', source: 'host', request: 'tools/call bank/pay' },
        tool: { server: 'bank', name: 'pay' },
        args: record.payload('args', { to: 'x' }),
      } as const;
      const [text, authorization] = await payment(1);
      const ruling = await verifierOn(store).rule(text, authorization, call);
      if ('deny' in ruling) return expect.unreachable();
      const code = (other: Call) =>
        record.intent(other, [ruling.pass]).then(
          () => 'sealed',
          (error) => error.code,
        );
      const { server: _, ...unplaced } = call.tool;
      expect(await code({ ...call, tool: { server: 'files', name: 'wipe_disk' } })).toBe('EVIDENCE_CONFLICT');
      expect(await code({ ...call, args: record.payload('args', { to: 'x' }) })).toBe('EVIDENCE_CONFLICT');
      expect(await code({ ...call, request: 'tools/call files/wipe_disk' })).toBe('EE_TOOL_CALL');
      expect(await code({ ...call, agentId: 'other' })).toBe('EE_TOOL_CALL');
      expect(await code({ ...call, userId: 'account:bob' })).toBe('EE_TOOL_CALL');
      expect(await code({ ...call, rest: record.payload('rest', {}) })).toBe('EE_TOOL_CALL');
      const bare = await verifierOn(store).rule(text, authorization, { ...call, tool: unplaced });
      if ('deny' in bare) return expect.unreachable();
      await expect(record.intent(call, [bare.pass])).rejects.toMatchObject({ code: 'EE_TOOL_CALL' });
      const { evidence: __, ...silent } = ruling.pass;
      await expect(record.intent(call, [silent])).rejects.toMatchObject({ code: 'EE_TOOL_CALL' });
      expect(await records(store)).toEqual([]);
      expect(await code(call)).toBe('sealed');
    });

    test('are of the agent that the envelope names, whatever it does', async () => {
      const store = await opened();
      const decision = await verifierOn(store).verifyAndConsume(...(await payment(1)), never, {
        agentId: 'intruder',
      });
      expect([decision.status, decision.verdict.code, decision.verdict.path]).toEqual([
        'blocked',
        'EE_TOOL_CALL',
        '/actor/caller',
      ]);
    });

    test('say what the ruling said, whoever holds it', async () => {
      const store = await opened();
      const record = recordOn(store);
      const verifier = verifierOn(store);
      const [text, authorization] = await payment(1);
      const call = {
        door: 'agents',
        ...{ agentId: 'agent-7', source: 'agent-7', request: 'pay', tool: { name: 'pay' } },
      } as const;
      const ruling = await verifier.rule(text, authorization, call);
      if ('deny' in ruling) return expect.unreachable();
      const { pass, permit, verdict } = ruling;
      const { policy } = permit;
      for (const part of [
        ...[ruling, pass, pass.evidence!.envelope!, pass.authority![0]!],
        ...[permit, permit.envelope.target, permit.authorization.people, permit.authorization.approvals[0]!],
        ...[policy, policy.actions[0]!, policy.ceilings, policy.ceilings[0]!, policy.velocity, policy.deny],
        ...[verdict, verdict.steps, verdict.steps[0]!],
      ])
        expect(Object.isFrozen(part)).toBe(true);
      const forged = { ...pass.authority![0]!, approver: 'ceo' } as (typeof pass.authority & object)[0];
      for (const authority of [undefined, [forged, ...pass.authority!.slice(1)]])
        await expect(record.intent(call, [{ ...pass, authority }])).rejects.toMatchObject({
          code: 'EE_TOOL_CALL',
        });
      expect(await records(store)).toEqual([]);
      await record.intent(call, [pass]);
    });

    test('of an intent are never those of a refusal', async () => {
      const store = await opened();
      const [text] = await payment(1);
      const ruling = await verifierOn(store).rule(text, null);
      if (!('deny' in ruling)) return expect.unreachable();
      expect([ruling, ruling.deny, ruling.part, ruling.verdict].every(Object.isFrozen)).toBe(true);
      const call = { door: 'agents', agentId: 'agent-7', source: 'agent-7', request: 'pay' } as const;
      await expect(recordOn(store).intent(call, [ruling.part])).rejects.toMatchObject({
        code: 'CONSENT_DENIED',
      });
      expect(await records(store)).toEqual([]);
    });

    test('name the authorization that was verified, whatever becomes of its bytes', async () => {
      const store = await opened();
      const [text, authorization] = await payment(1);
      const [bytes, about] = [toUtf8(authorization), { request: 'pay', tool: { name: 'pay' } }];
      const verifier = verifierOn(store, {
        risk() {
          bytes.fill(0x20);
          about.tool.name = 'wipe';
          about.request = 'wipe';
          return null;
        },
      });
      const decision = await verifier.verifyAndConsume(text, bytes, pay, about);
      if (decision.status !== 'success') return expect.unreachable();
      expect(decision.intent.authority.chain.at(-1)).toMatchObject({
        step: 'envelope',
        authorization: digestOf(authorization),
      });
      expect([decision.intent.trigger.request, readEvidence(decision.intent)!.tool]).toEqual([
        'pay',
        { name: 'pay' },
      ]);
    });

    test('are made with what others decide, in one transaction or not at all', async () => {
      const store = await opened();
      const record = recordOn(store);
      const verifier = verifierOn(store);
      const [text, authorization] = await payment(1);
      const kill = (agentId: string) => setKill({ agentId, reason: 'r', capsuleId: 'k' });
      const call = {
        door: 'gateway',
        ...{ agentId: 'agent-7', source: 'host', request: 'tools/call a/b' },
      } as const;
      const ruling = await verifier.rule(text, authorization, call);
      if ('deny' in ruling) return expect.unreachable();
      expect([ruling.verdict.ok, await records(store)]).toEqual([false, []]);
      const refusing = {
        onIntent: () => async () => {
          throw new BullaError('CONSENT_EXPIRED', 'Too late.');
        },
      };
      const marking = { evidence: { consent: { id: 'c' } }, onIntent: () => kill('marked') };
      await expect(record.intent(call, [marking, ruling.pass, refusing])).rejects.toMatchObject({
        code: 'CONSENT_EXPIRED',
      });
      const ledger = createLedger(store);
      const { exec_hash } = ruling.permit;
      expect([await ledger.execution(exec_hash), await store.kills()]).toEqual([null, []]);
      const intent = await record.intent(call, [marking, ruling.pass]);
      expect((await ledger.execution(exec_hash))!.intent_id).toBe(intent.capsule.id);
      expect((await store.kills()).map(({ agentId }) => agentId)).toEqual(['marked']);
      // Stopped behind its intent, it surely did not happen.
      const failure = { stage: 'kill', code: 'KILLED' } as const;
      await record.outcome(intent, { status: 'blocked', failure, durationMs: 1 });
      expect((await ledger.execution(exec_hash))!.state).toBe('released');
      // Once more: the ledger refuses, and the denial says so.
      const refusal = await record.intent(call, [ruling.pass]).then(
        () => expect.unreachable(),
        (error: unknown) => ruling.refused(error),
      );
      expect([refusal.deny, refusal.verdict.ok, refusal.verdict.permit]).toEqual([
        { stage: 'envelope', code: 'EE_NONCE_REPLAY' },
        false,
        null,
      ]);
      const blocked = await record.denied(call, refusal.deny, [refusal.part]);
      expect(blocked.authority).toMatchObject({ type: 'policy', approver: null });
      expect(await ledger.refusals(exec_hash)).toEqual([
        { exec_hash, code: 'EE_NONCE_REPLAY', capsule_id: blocked.id },
      ]);
    });

    test('an outcome that can settle nothing does not keep others of its batch from settling', async () => {
      const store = await opened();
      const ledger = createLedger(store);
      const pairs = await Promise.all(Array.from({ length: 4 }, (_, i) => payment(i)));
      const hashes = pairs.map(([text]) => execHash(parseEnvelope(text)));
      const all = Promise.withResolvers<void>();
      let begun = 0;
      const decisions = await Promise.all(
        pairs.map((pair) =>
          verifierOn(store).verifyAndConsume(...pair, async () => {
            if (++begun === pairs.length) {
              await settleExecution(store, hashes[1]!, 'released', operatorOn(store));
              all.resolve();
            }
            await all.promise;
          }),
        ),
      );
      expect(decisions.map(({ status, cause }) => [status, cause])).toEqual(
        pairs.map(() => ['success', undefined]),
      );
      const states = await Promise.all(hashes.map(async (hash) => (await ledger.execution(hash))!.state));
      expect(states).toEqual(['committed', 'released', 'committed', 'committed']);
      const ended = (await records(store)).filter(({ outcome }) => outcome.status === 'success');
      expect(ended.length).toBe(4);
    });
  });

  describe('policies', () => {
    const version = (policy_version: number, policy_effective_at = policyDocument.policy_effective_at) =>
      JSON.stringify({ ...policyDocument, policy_version, policy_effective_at });

    test('are published in versions that only go up, and never change', async () => {
      const store = await opened();
      for (const low of [3, 2]) {
        expect(await rejection(publishPolicy(store, version(low), operatorOn(store)))).toEqual([
          'EE_POLICY_VERSION',
          '/policy_version',
          'The policy payments has the version 3 already; a new one has a higher version.',
        ]);
      }
      const { policy, capsule } = await publishPolicy(store, version(5), operatorOn(store));
      expect(policy.policy_version).toBe(5);
      const { policy_id, policy_hash, policy_effective_at } = policy;
      const [newest, oldest] = await createLedger(store).policies();
      expect([newest, oldest!.policy_version]).toEqual([
        { policy_id, policy_version: 5, policy_hash, policy_effective_at, capsule_id: capsule.id },
        3,
      ]);
      expect(await createLedger(store).policyDocument('payments', 5)).toBe(version(5));
      expect(await createLedger(store).policyDocument('payments', 4)).toBe(null);
      expect(await verifiedLength(store, CHAIN)).toBe(2);
    });

    test('two of one version at once are one', async () => {
      const store = await opened();
      const results = await Promise.allSettled(
        [1, 2].map(() => publishPolicy(store, version(4), operatorOn(store))),
      );
      expect(results.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    });

    test('a new version refuses what was approved under the old one, from when it is in effect', async () => {
      const store = await opened();
      const verifier = verifierOn(store);
      await publishPolicy(store, version(4, NOW + 1), operatorOn(store));
      expect((await verifier.verifyAndConsume(...(await payment(1)), pay)).status).toBe('success');
      const later = verifierOn(store, { now: () => NOW + 1 });
      const drift = await later.verifyAndConsume(...(await payment(2)), never);
      expect([drift.verdict.code, drift.verdict.path]).toEqual([
        'EE_POLICY_DRIFT',
        '/policy_binding/policy_version',
      ]);
      // In effect only between the check and the consumption.
      const times = [NOW, NOW + 1];
      const meanwhile = verifierOn(store, { now: () => times.shift()! });
      const late = await meanwhile.verifyAndConsume(...(await payment(2)), never);
      expect([late.verdict.code, late.verdict.message, late.verdict.steps.at(-1)!.status]).toEqual([
        'EE_POLICY_DRIFT',
        'The policy is no longer the one that was bound.',
        'failed',
      ]);
    });

    test('none is a drift, and one that was tampered with cannot be used', async () => {
      const store = await open({ sealer, tenant: 'no-policy' });
      onTestFinished(() => store.close());
      const verdictOf = async () =>
        (await verifierOn(store).verifyAndConsume(...(await payment(1)), never)).verdict;
      expect((await verdictOf()).message).toBe('There is no such policy now.');
      await publishSample(store);
      const set = (document: string) =>
        store.transaction(
          async ({ run }) =>
            void (await run(
              'UPDATE envelope_policy SET document = ? WHERE tenant = ?',
              document,
              'no-policy',
            )),
        );
      await set('{}');
      expect((await verdictOf()).code).toBe('EE_POLICY_HASH_DERIVATION_FAILED');
      await set(policyWith({ velocity: [] }));
      expect(await verdictOf()).toMatchObject({
        code: 'EE_POLICY_DRIFT',
        message: 'The policy is no longer the one that was bound.',
      });
    });
  });

  test('check says the same, and consumes and records nothing', async () => {
    const store = await opened();
    const verifier = verifierOn(store);
    const [text, authorization] = await payment(1);
    for (let i = 0; i < 2; i++) {
      const { ok, code, steps } = await verifier.check(text, authorization);
      expect([ok, code, steps.at(-1)!.status]).toEqual([false, null, 'not reached']);
    }
    expect((await verifier.check(text, null)).code).toBe('EE_AO_INVALID');
    const expected = { expected: '0'.repeat(64) };
    expect((await verifier.check(text, authorization, expected)).code).toBe('EE_HASH_MISMATCH');
    expect(await records(store)).toEqual([]);
  });

  test('a record that cannot be sealed leaves nothing of its effect', async () => {
    const store = await opened();
    const kill = { agentId: 'x', reason: 'r', capsuleId: 'k' };
    const bad = input('bad', { authority: { type: 'policy' } });
    const results = await Promise.allSettled([
      store.chain('effects').append(bad, { effect: setKill(kill) }),
      store.chain('effects').append(input('good'), { effect: setKill({ ...kill, agentId: 'y' }) }),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect((await store.kills()).map(({ agentId }) => agentId)).toEqual(['y']);
  });
}
