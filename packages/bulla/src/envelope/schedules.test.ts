import { join } from 'node:path';
import { authorize, parsePolicy, writeEnvelope } from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import fc from 'fast-check';
import { expect, inject, test } from 'vitest';
import { brokenStore, type Driver } from '../../test/broken-store.ts';
import {
  alice,
  bob,
  by,
  CHAIN,
  claimsFor,
  envelopeWith,
  fields,
  type Json,
  NOW,
  payment,
  policyWith,
  publishSample,
  verifierOn,
} from '../../test/envelope.ts';
import { temporaryFolder } from '../../test/run.ts';
import { sealer, verifiedLength } from '../../test/store-suite.ts';
import { createLedger, openStore, type Store } from '../store/index.ts';
import { ExecutionNotStarted } from './index.ts';

const CEILING = 10;
const document = policyWith({
  ceilings: [{ id: 'all', asset: 'USDC', per: [], window: 'ever', amount: `${CEILING}` }] as never,
  velocity: [],
});
const { policy_hash } = parsePolicy(document);

type Ending = 'success' | 'failure' | 'not started';
/** Whether a write is lost or kept when the driver fails, and whether the store can be asked which. */
type Fault = 'lost' | 'kept' | 'lost, silent' | 'kept, silent';

interface Attempt {
  readonly nonce: number;
  readonly amount: number;
  readonly ending: Ending;
  readonly expired: boolean;
}

/** Attempts that come at once; a fault strikes only one that comes alone, so that it is known whom it meets. */
interface Turn {
  readonly attempts: readonly Attempt[];
  readonly fault: { readonly kind: Fault; readonly at: 'intent' | 'outcome' } | null;
}

const attempt: fc.Arbitrary<Attempt> = fc.record({
  nonce: fc.nat({ max: 6 }),
  amount: fc.integer({ min: 1, max: 5 }),
  ending: fc.constantFrom<Ending>('success', 'failure', 'not started'),
  expired: fc.nat({ max: 9 }).map((n) => n === 0),
});
const turn: fc.Arbitrary<Turn> = fc.oneof(
  fc.record({ attempts: fc.array(attempt, { minLength: 1, maxLength: 4 }), fault: fc.constant(null) }),
  fc.record({
    attempts: fc.tuple(attempt),
    fault: fc.record({
      kind: fc.constantFrom<Fault>('lost', 'kept', 'lost, silent', 'kept, silent'),
      at: fc.constantFrom('intent', 'outcome'),
    }),
  }),
);

interface State {
  readonly used: ReadonlySet<number>;
  readonly spent: number;
}

/** What must come of it. */
class Model {
  #state: State = { used: new Set(), spent: 0 };

  /** What the caller of each attempt is told, and what is executed. */
  take({ attempts, fault }: Turn): { told: string[]; executed: number[] } {
    const told: string[] = [];
    const executed: number[] = [];
    let givenBack = 0;
    for (const attempt of attempts) {
      const { nonce, amount, ending, expired } = attempt;
      const exceeds = this.spent + amount > CEILING;
      if (expired) told.push('EE_TTL_EXPIRED');
      else if (this.#state.used.has(nonce)) told.push('EE_NONCE_REPLAY');
      else if (fault?.at === 'intent' && (exceeds || fault.kind !== 'kept')) {
        told.push('EE_NONCE_STORE_FAILURE');
        // Nobody knows, and so nothing is executed, but the nonce is gone.
        if (fault.kind === 'kept, silent' && !exceeds) this.#consume(attempt);
      } else if (exceeds) {
        told.push('EE_CONSTRAINT_VIOLATION');
      } else {
        this.#consume(attempt);
        executed.push(nonce);
        told.push(ending === 'success' ? 'success' : 'failure');
        const isTold = fault?.at !== 'outcome' || fault.kind.startsWith('kept');
        if (ending === 'not started' && isTold) givenBack += amount;
      }
    }
    this.#state = { ...this.#state, spent: this.spent - givenBack };
    return { told, executed };
  }

  #consume({ nonce, amount }: Attempt): void {
    this.#state = { used: new Set([...this.#state.used, nonce]), spent: this.spent + amount };
  }

  get spent(): number {
    return this.#state.spent;
  }
}

/** A store whose locked append fails as armed: the first from now on, or the second. */
function breakable(file: string) {
  let left = 0;
  let kind: Fault | null = null;
  let silent = false;
  const error = new BullaError('STORE_FAILED', 'A fault.');
  const breakIt = (driver: Driver): Partial<Driver> => ({
    async appendLocked(chain, make) {
      if (kind === null || --left > 0) return driver.appendLocked(chain, make);
      const fault = kind;
      kind = null;
      silent = fault.endsWith('silent');
      const isKept = fault.startsWith('kept');
      await driver.appendLocked(chain, async (tip, transaction) => {
        const addition = await make(tip, transaction);
        if (!isKept) throw error;
        return addition;
      });
      throw error;
    },
    async settle(...args) {
      if (!silent) return driver.settle(...args);
      silent = false;
      throw new BullaError('STORE_UNREADABLE', 'Gone.');
    },
  });
  return {
    store: brokenStore(file, breakIt),
    arm(fault: Turn['fault']) {
      kind = fault?.kind ?? null;
      left = fault?.at === 'outcome' ? 2 : 1;
      silent = false;
    },
  };
}

let jti = 0;
async function sent({ nonce, amount, expired }: Attempt): Promise<[string, string]> {
  const of = envelopeWith({
    target: { amount: `${amount}` },
    constraints: { nonce, ...(expired && { ttl: NOW - 1 }) },
    policy_binding: { policy_hash },
  });
  return [writeEnvelope(of), await authorize(claimsFor(of, { jti: `s-${jti++}` }), by(alice, bob))];
}

test('under any schedule of attempts, endings and faults a nonce is used once and a ceiling holds', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 12 }), async (turns) => {
      const file = join(temporaryFolder(), 'store.db');
      const { store, arm } = breakable(file);
      await publishSample(store, document);
      const verifier = verifierOn(store);
      const model = new Model();
      const everExecuted: number[] = [];
      for (const each of turns) {
        const pairs = await Promise.all(each.attempts.map(sent));
        const executed: number[] = [];
        arm(each.fault);
        const decisions = await Promise.all(
          each.attempts.map(({ ending }, i) =>
            verifier.verifyAndConsume(...pairs[i]!, ({ envelope }) => {
              executed.push(envelope.constraints.nonce);
              if (ending === 'not started') throw new ExecutionNotStarted('It did not start.');
              if (ending === 'failure') throw new Error('It broke.');
            }),
          ),
        );
        arm(null);
        const told = decisions.map(({ status, verdict }) => verdict.code ?? status);
        expect({ told, executed }).toEqual(model.take(each));
        everExecuted.push(...executed);
      }
      expect(new Set(everExecuted).size).toBe(everExecuted.length);
      const usage = await usageOf(store);
      expect([usage, usage <= CEILING]).toEqual([model.spent, true]);
      await verifiedLength(store, CHAIN);
      await store.close();
    }),
    { numRuns: 15 * inject('soak') },
  );
});

async function usageOf(store: Store): Promise<number> {
  const rows = await store.reading.all<{ amount: string }>('SELECT amount FROM spent');
  return rows.reduce((sum, { amount }) => sum + Number(amount), 0);
}

test('a change of any field that binds is refused by the first step that it fails, and burns nothing', async () => {
  const store = await openStore({ url: join(temporaryFolder(), 'store.db'), create: true, sealer });
  await publishSample(store);
  const verifier = verifierOn(store);
  const [text, authorization] = await payment(7);
  const used = await payment(6);
  expect((await verifier.verifyAndConsume(...used, () => 'paid')).status).toBe('success');
  const FIRST: Readonly<Record<string, [value: Json, step: string, code: string]>> = {
    '/version': [2, 'schema', 'EE_SCHEMA_INVALID'],
    '/intent_id': ['other', 'authorization', 'EE_HASH_MISMATCH'],
    '/execution_id': ['other', 'authorization', 'EE_HASH_MISMATCH'],
    '/tenant_id': ['other', 'authorization', 'EE_TENANT_MISMATCH'],
    '/action_type': ['TOOL_CALL', 'authorization', 'EE_HASH_MISMATCH'],
    '/rail/type': ['BANK', 'authorization', 'EE_HASH_MISMATCH'],
    '/rail/network': ['mainnet', 'authorization', 'EE_HASH_MISMATCH'],
    '/rail/chain_id': [1, 'authorization', 'EE_HASH_MISMATCH'],
    '/rail/contract': [null, 'authorization', 'EE_HASH_MISMATCH'],
    '/actor/caller': ['agent-8', 'authorization', 'EE_AO_SUBJECT_MISMATCH'],
    '/actor/role': ['admin', 'authorization', 'EE_HASH_MISMATCH'],
    '/target/to': [`0x${'3'.repeat(40)}`, 'authorization', 'EE_HASH_MISMATCH'],
    '/target/asset': ['EUR', 'authorization', 'EE_HASH_MISMATCH'],
    '/target/asset_class': [2, 'authorization', 'EE_HASH_MISMATCH'],
    '/target/amount': ['1000001', 'authorization', 'EE_HASH_MISMATCH'],
    '/target/decimals': [0, 'authorization', 'EE_HASH_MISMATCH'],
    '/constraints/ttl': [NOW - 1, 'time', 'EE_TTL_EXPIRED'],
    '/constraints/nonce': [6, 'replay', 'EE_NONCE_REPLAY'],
    '/constraints/replay_scope': ['tenant', 'authorization', 'EE_HASH_MISMATCH'],
    '/policy_binding/policy_id': ['other', 'authorization', 'EE_HASH_MISMATCH'],
    '/policy_binding/policy_version': [4, 'authorization', 'EE_HASH_MISMATCH'],
    '/policy_binding/policy_hash': ['0x000000', 'authorization', 'EE_HASH_MISMATCH'],
  };
  const { metadata: _, ...binding } = fields;
  const places = Object.entries(binding).flatMap(([name, value]) =>
    typeof value === 'object' ? Object.keys(value).map((inner) => `/${name}/${inner}`) : [`/${name}`],
  );
  expect(Object.keys(FIRST).toSorted()).toEqual(places.toSorted());
  for (const [place, [value, step, code]] of Object.entries(FIRST)) {
    const [outer, inner] = place.slice(1).split('/') as [string, string | undefined];
    const changed = JSON.parse(text);
    if (inner === undefined) changed[outer] = value;
    else changed[outer][inner] = value;
    const decision = await verifier.verifyAndConsume(JSON.stringify(changed), authorization, () =>
      expect.unreachable(),
    );
    const failed = decision.verdict.steps.find(({ status }) => status === 'failed');
    expect([place, failed?.name, decision.verdict.code]).toEqual([place, step, code]);
  }
  expect((await createLedger(store).unsettled()).length).toBe(0);
  expect((await verifier.verifyAndConsume(text, authorization, () => 'paid')).status).toBe('success');
  await store.close();
});
