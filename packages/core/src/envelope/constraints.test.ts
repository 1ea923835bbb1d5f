import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { envelope, envelopeWith, NOW, policy, policyDocument } from '../../test/envelope.ts';
import { BullaError } from '../error.ts';
import { buckets, evaluateConstraints } from './constraints.ts';
import {
  type Envelope,
  limitExceeded,
  type Policy,
  parsePolicy,
  type Reservation,
  reservationsOf,
} from './index.ts';

type Rules = Partial<Record<keyof typeof policyDocument.policy_doc, unknown>>;

/** The sample policy with other rules. */
function policyWith(rules: Rules): Policy {
  return parsePolicy(
    JSON.stringify({ ...policyDocument, policy_doc: { ...policyDocument.policy_doc, ...rules } }),
  );
}

function violations(of: Envelope, by: Policy = policy, usage?: ReadonlyMap<string, bigint>, people = 2) {
  const found = evaluateConstraints(by, of, { now: NOW, people, ...(usage && { usage }) });
  if (found.violations.length > 0) expect(found.reservations).toEqual([]);
  return found.violations.map(({ code, path, message }) => [code, path, message]);
}

const violation = (path: string, message: string) => [['EE_CONSTRAINT_VIOLATION', path, message]];
const euro = {
  rail: { type: 'BANK_RAIL', network: 'sepa', chain_id: null, contract: null },
  target: { to: 'DE00', asset: 'EUR', asset_class: null, decimals: 2 },
};
const toolCall = {
  action_type: 'TOOL_CALL',
  rail: { type: 'MCP', network: 'sha256:00', chain_id: null, contract: 'sha256:11' },
  target: { to: 'ab', asset: 'USDC', asset_class: null, amount: '0', decimals: 0 },
};

describe('what a policy permits', () => {
  test('the sample, and takes up what it must', () => {
    const { violations, reservations } = evaluateConstraints(policy, envelope, { now: NOW, people: 2 });
    expect(violations).toEqual([]);
    expect(reservations.map(({ key, ...rest }) => [key.length, rest])).toEqual([
      [
        64,
        {
          limit: 'ceilings',
          rule: 'usdc-day',
          window: 86400,
          ceiling: 5000000n,
          bucket: Math.floor(NOW / 1440),
          from: Math.floor((NOW - 86399) / 1440),
          amount: 1000000n,
        },
      ],
      [
        64,
        {
          limit: 'velocity',
          rule: 'calls',
          window: 3600,
          ceiling: 10n,
          bucket: Math.floor(NOW / 60),
          from: Math.floor((NOW - 3599) / 60),
          amount: 1n,
        },
      ],
    ]);
  });

  test('a transfer on a bank rail, and a tool call', () => {
    expect(violations(envelopeWith(euro))).toEqual([]);
    expect(violations(envelopeWith(toolCall), policy, undefined, 1)).toEqual([]);
  });
});

describe('EE_CONSTRAINT_VIOLATION', () => {
  test.each<[string, Record<string, unknown>, string, string]>([
    [
      'EVM without a chain id',
      { rail: { chain_id: null } },
      '/rail/chain_id',
      'An EVM rail needs the chain id.',
    ],
    [
      'EVM with a destination that is no address',
      { target: { to: 'bob' } },
      '/target/to',
      'A destination on an EVM rail is 0x and 40 hex digits.',
    ],
    [
      'EVM with a contract that is no address',
      { rail: { contract: 'usdc' } },
      '/rail/contract',
      'A contract on an EVM rail is 0x and 40 hex digits.',
    ],
    [
      'an unlisted asset',
      { target: { asset: 'ETH' } },
      '/target/asset',
      'The policy does not list this asset.',
    ],
    [
      'a listed asset by another contract',
      { rail: { contract: `0x${'b'.repeat(40)}` } },
      '/rail',
      'The policy does not list the asset on this rail.',
    ],
    [
      'a listed asset in another class',
      { target: { asset_class: 2 } },
      '/rail',
      'The policy does not list the asset on this rail.',
    ],
    [
      'other decimals',
      { target: { decimals: 18 } },
      '/target/decimals',
      'The policy knows this asset with 6 decimals.',
    ],
    [
      'a denied destination, in other case',
      { target: { to: '0xbaD0000000000000000000000000000000000bad' } },
      '/target/to',
      'The policy denies this destination.',
    ],
    [
      'a denied destination on another rail',
      { ...euro, target: { ...euro.target, to: 'mallory' } },
      '/target/to',
      'The policy denies this destination.',
    ],
    [
      'more than each execution may move',
      { target: { amount: '2000001' } },
      '/target/amount',
      'The limit usdc-call is 2000000 for each execution.',
    ],
    [
      'a tool call on another rail',
      { ...toolCall, rail: euro.rail },
      '/rail/type',
      'A tool call runs on an MCP rail.',
    ],
    [
      'a tool call that moves something',
      { ...toolCall, target: { ...toolCall.target, amount: '1' } },
      '/target/amount',
      'The amount of a tool call is "0".',
    ],
    [
      'a tool call with decimals',
      { ...toolCall, target: { ...toolCall.target, decimals: 6 } },
      '/target/decimals',
      'The decimals of a tool call are 0.',
    ],
    [
      'a tool call with an asset class',
      { ...toolCall, target: { ...toolCall.target, asset_class: 1 } },
      '/target/asset_class',
      'A tool call has no asset class.',
    ],
    [
      'a tool call without the tool',
      { ...toolCall, rail: { ...toolCall.rail, contract: null } },
      '/rail/contract',
      'A tool call names the digest of the tool as its contract.',
    ],
    [
      'a tool call on a chain',
      { ...toolCall, rail: { ...toolCall.rail, chain_id: 1 } },
      '/rail/chain_id',
      'A tool call has no chain id.',
    ],
  ])('%s', (_, change, path, message) => {
    expect(violations(envelopeWith(change))[0]).toEqual(violation(path, message)[0]);
  });

  test('an action that is not listed', () => {
    expect(violations(envelopeWith({ action_type: 'MINT' }))).toEqual(
      violation('/action_type', 'The policy does not permit this action.'),
    );
  });

  test('another action on an MCP rail', () => {
    const of = envelopeWith({ ...toolCall, action_type: 'TRANSFER' });
    expect(violations(of)[0]).toEqual(
      violation('/action_type', 'On an MCP rail the action is TOOL_CALL.')[0],
    );
  });

  test('a destination that is not listed', () => {
    const strict = policyWith({
      destinations: { allow: [envelope.target.to.toUpperCase().replace('X', 'x')], deny: [] },
    });
    expect(violations(envelope, strict)).toEqual([]);
    expect(violations(envelopeWith({ target: { to: `0x${'3'.repeat(40)}` } }), strict)).toEqual(
      violation('/target/to', 'The policy does not list this destination.'),
    );
    expect(violations(envelopeWith(toolCall), strict)).toEqual([]);
  });

  test('denied counts more than allowed', () => {
    const both = policyWith({ destinations: { allow: [envelope.target.to], deny: [envelope.target.to] } });
    expect(violations(envelope, both)).toEqual(
      violation('/target/to', 'The policy denies this destination.'),
    );
  });

  test('a ceiling that is used up, to the last unit', () => {
    const [day] = reservationsOf(policy, envelope, NOW);
    expect(violations(envelope, policy, new Map([[day!.key, 4000000n]]))).toEqual([]);
    expect(violations(envelope, policy, new Map([[day!.key, 4000001n]]))).toEqual(
      violation(
        '/target/amount',
        'The limit usdc-day is 5000000 in 86400 seconds; 999999 is left, and this is 1000000.',
      ),
    );
    expect(violations(envelope, policy, new Map([[day!.key, 9000000n]]))[0]![2]).toBe(
      'The limit usdc-day is 5000000 in 86400 seconds; 0 is left, and this is 1000000.',
    );
  });

  test('a velocity that is used up', () => {
    const [, calls] = reservationsOf(policy, envelope, NOW);
    expect(violations(envelope, policy, new Map([[calls!.key, 9n]]))).toEqual([]);
    expect(violations(envelope, policy, new Map([[calls!.key, 10n]]))).toEqual(
      violation('/action_type', 'The limit calls is 10 executions in 3600 seconds.'),
    );
  });

  test('amounts of eighty digits are exact', () => {
    const huge = '9'.repeat(80);
    const ceilings = [{ id: 'all', asset: 'USDC', per: [], window: 'ever', amount: huge }];
    const by = policyWith({ ceilings });
    const of = envelopeWith({ target: { amount: `${'9'.repeat(79)}8` } });
    const [all] = reservationsOf(by, of, NOW);
    expect(all!.amount).toBe(10n ** 80n - 2n);
    expect(violations(of, by, new Map([[all!.key, 1n]]))).toEqual([]);
    expect(violations(of, by, new Map([[all!.key, 2n]]))[0]![2]).toBe(
      `The limit all is ${huge} in all; ${'9'.repeat(79)}7 is left, and this is ${'9'.repeat(79)}8.`,
    );
  });

  test('all at once are told in a fixed order', () => {
    const of = envelopeWith({
      action_type: 'MINT',
      rail: { chain_id: null },
      target: { asset: 'ETH', to: 'x' },
    });
    expect(violations(of).map(([, path]) => path)).toEqual([
      '/rail/chain_id',
      '/action_type',
      '/target/asset',
    ]);
  });
});

describe('EE_AO_THRESHOLD', () => {
  test('when fewer people signed than the action needs', () => {
    expect(violations(envelope, policy, undefined, 1)).toEqual([
      ['EE_AO_THRESHOLD', '/action_type', 'This action needs 2 people to sign, and 1 did.'],
    ]);
    expect(violations(envelopeWith(toolCall), policy, undefined, 0)).toEqual([
      ['EE_AO_THRESHOLD', '/action_type', 'This action needs 1 person to sign, and 0 did.'],
    ]);
    expect(violations(envelope, policy, undefined, 3)).toEqual([]);
  });
});

describe('reservations', () => {
  const keyOf = (of: Envelope, by: Policy = policy) => reservationsOf(by, of, NOW)[0]!.key;

  test('have a key for each part by which the rule sums, and the same for every tenant', () => {
    const base = keyOf(envelope);
    expect(keyOf(envelopeWith({ tenant_id: 'other' }))).toBe(base);
    expect(keyOf(envelopeWith({ actor: { caller: 'other' } }))).not.toBe(base);
    expect(keyOf(envelopeWith({ target: { to: `0x${'3'.repeat(40)}`, amount: '5' } }))).toBe(base);
    expect(keyOf(envelopeWith({ intent_id: 'x', execution_id: 'y', constraints: { nonce: 9 } }))).toBe(base);
  });

  test('go on under a new version of the policy, and anew under another id, window or partition', () => {
    const base = keyOf(envelope);
    const [, day] = policyDocument.policy_doc.ceilings;
    const next = parsePolicy(JSON.stringify({ ...policyDocument, policy_version: 4 }));
    expect(keyOf(envelope, next)).toBe(base);
    expect(keyOf(envelope, policyWith({ ceilings: [{ ...day, amount: '1' }] }))).toBe(base);
    for (const change of [{ id: 'x' }, { window: 86401 }, { window: 'ever' }, { per: [] }, { per: ['to'] }])
      expect(keyOf(envelope, policyWith({ ceilings: [{ ...day, ...change }] }))).not.toBe(base);
    expect(keyOf(envelope, policyWith({ policy_id: 'other' }))).not.toBe(base);
  });

  test('sum one EVM address once, however it is written', () => {
    const by = policyWith({ ceilings: [{ id: 'to', asset: 'USDC', per: ['to'], window: 60, amount: '9' }] });
    const to = '0xabcdefabcdefabcdefabcdefabcdefabcdefabcd';
    const key = keyOf(envelopeWith({ target: { to } }), by);
    expect(keyOf(envelopeWith({ target: { to: `0x${to.slice(2).toUpperCase()}` } }), by)).toBe(key);
  });

  test('an amount of 0 takes up nothing of a ceiling', () => {
    const taken = reservationsOf(policy, envelopeWith({ target: { amount: '0' } }), NOW);
    expect(taken.map(({ rule }) => rule)).toEqual(['calls']);
  });

  test('of a velocity count the actions that it names', () => {
    const by = policyWith({
      velocity: [{ id: 'tools', actions: ['TOOL_CALL'], per: ['asset'], window: 'ever', count: 1 }],
    });
    expect(reservationsOf(by, envelope, NOW).map(({ rule }) => rule)).toEqual(['usdc-day']);
    const [call] = reservationsOf(by, envelopeWith(toolCall), NOW);
    expect([call!.rule, call!.bucket, call!.from]).toEqual(['tools', 0, 0]);
  });

  test('are refused with the sentence of the violation', () => {
    const [day] = reservationsOf(policy, envelope, NOW);
    const error = limitExceeded(day!, 4500000n);
    expect([error.code, error.path, error.message]).toEqual([
      'EE_CONSTRAINT_VIOLATION',
      '/target/amount',
      'The limit usdc-day is 5000000 in 86400 seconds; 500000 is left, and this is 1000000.',
    ]);
  });
});

describe('a sliding window', () => {
  test('is cut into sixtieths', () => {
    expect(buckets(3600, 7200)).toEqual({ bucket: 120, from: 60 });
    expect(buckets(3600, 7259)).toEqual({ bucket: 120, from: 61 });
    expect(buckets(10, 1000)).toEqual({ bucket: 1000, from: 991 });
    expect(buckets(61, 100)).toEqual({ bucket: 50, from: 20 });
    expect(buckets(86400, 0)).toEqual({ bucket: 0, from: -60 });
    expect(buckets('ever', 5)).toEqual({ bucket: 0, from: 0 });
  });

  test('covers every second of its length, and no more than a slot beyond', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10_000_000 }), fc.nat(2_000_000_000), (window, now) => {
        const slot = Math.ceil(window / 60);
        const { bucket, from } = buckets(window, now);
        expect(bucket).toBe(Math.floor(now / slot));
        expect(from * slot).toBeLessThanOrEqual(now - window + 1);
        expect(from * slot).toBeGreaterThan(now - window + 1 - slot);
        expect(bucket - from + 1).toBeLessThanOrEqual(61);
      }),
      { numRuns: 500 * inject('soak') },
    );
  });
});

/** The smallest ledger that keeps the contract: one synchronous step is its transaction. */
class Ledger {
  readonly #sums = new Map<string, Map<number, bigint>>();

  take(reservations: readonly Reservation[]): void {
    for (const reservation of reservations) {
      const used = this.used(reservation);
      if (used + reservation.amount > reservation.ceiling) throw limitExceeded(reservation, used);
    }
    for (const { key, bucket, amount } of reservations) this.#add(key, bucket, amount);
  }

  release(reservations: readonly Reservation[]): void {
    for (const { key, bucket, amount } of reservations) this.#add(key, bucket, -amount);
  }

  used({ key, from }: Reservation): bigint {
    let sum = 0n;
    for (const [bucket, amount] of this.#sums.get(key) ?? []) if (bucket >= from) sum += amount;
    return sum;
  }

  #add(key: string, bucket: number, amount: bigint): void {
    const sums = this.#sums.get(key) ?? new Map<number, bigint>();
    sums.set(bucket, (sums.get(bucket) ?? 0n) + amount);
    this.#sums.set(key, sums);
  }
}

/** The usual run is the same each time; the long one seeks new cases. */
const repeatable = inject('soak') === 1 ? { seed: 1 } : {};

describe('under any schedule', () => {
  interface Spend {
    readonly at: number;
    readonly amount: bigint;
    readonly caller: string;
  }
  const CEILING = 100n;
  const COUNT = 6;

  test('no stretch of the window holds more than the ceiling', () => {
    const step = fc.record({
      // Clocks of several machines, which also go back.
      time: fc.integer({ min: -20, max: 60 }),
      amount: fc.bigInt({ min: 0n, max: 60n }),
      caller: fc.constantFrom('a', 'b'),
      // How the execution ends, and how long its caller waits between looking and taking.
      outcome: fc.constantFrom('commit', 'commit', 'commit', 'release'),
      delay: fc.nat(4),
    });
    const schedule = fc.record({
      window: fc.constantFrom<number | 'ever'>(1, 7, 60, 100, 150, 'ever'),
      per: fc.constantFrom<string[]>([], ['caller']),
      steps: fc.array(step, { minLength: 10, maxLength: 40 }),
    });
    const tally = { refused: 0, late: 0, permitted: 0 };
    fc.assert(
      fc.property(schedule, ({ window, per, steps }) => {
        const by = policyWith({
          ceilings: [{ id: 'c', asset: 'USDC', per, window, amount: `${CEILING}` }],
          velocity: [{ id: 'v', actions: null, per, window, count: COUNT }],
        });
        const ledger = new Ledger();
        const spent: Spend[] = [];
        const waiting: { due: number; run: () => void }[] = [];
        let now = 1_000_000;
        for (const [i, { time, amount, caller, outcome, delay }] of steps.entries()) {
          now += time;
          const at = now;
          const of = envelopeWith({ actor: { caller }, target: { amount: `${amount}` } });
          const wanted = reservationsOf(by, of, at);
          const usage = new Map(wanted.map((each) => [each.key, ledger.used(each)]));
          // Many look at the same figures before the first of them takes.
          const { violations, reservations } = evaluateConstraints(by, of, { now: at, people: 2, usage });
          if (violations.length > 0) tally.refused++;
          else
            waiting.push({
              due: i + delay,
              run: () => {
                try {
                  ledger.take(reservations);
                } catch (error) {
                  expect((error as BullaError).code).toBe('EE_CONSTRAINT_VIOLATION');
                  tally.late++;
                  return;
                }
                if (outcome === 'release') ledger.release(reservations);
                else {
                  tally.permitted++;
                  spent.push({ at, amount, caller });
                }
              },
            });
          for (const each of waiting.filter(({ due }) => due === i)) each.run();
        }
        for (const each of waiting.filter(({ due }) => due >= steps.length)) each.run();
        for (const { at: start, caller } of spent) {
          const end = window === 'ever' ? Number.POSITIVE_INFINITY : start + window;
          const inside = spent.filter(
            (each) =>
              (window === 'ever' || (each.at >= start && each.at < end)) &&
              (per.length === 0 || each.caller === caller),
          );
          expect(inside.reduce((sum, each) => sum + each.amount, 0n)).toBeLessThanOrEqual(CEILING);
          expect(inside.length).toBeLessThanOrEqual(COUNT);
        }
      }),
      { numRuns: 150 * inject('soak'), ...repeatable },
    );
    // None of the three is rare, or the schedules would show little.
    expect(Math.min(...Object.values(tally))).toBeGreaterThan(100);
  });

  test('two that saw the last allowance cannot both take it', () => {
    const ledger = new Ledger();
    const first = reservationsOf(policy, envelopeWith({ target: { amount: '2000000' } }), NOW);
    const second = reservationsOf(policy, envelopeWith({ target: { amount: '2000000' } }), NOW);
    ledger.take(reservationsOf(policy, envelopeWith({ target: { amount: '2000000' } }), NOW));
    expect(ledger.used(first[0]!)).toBe(2000000n);
    ledger.take(first);
    expect(() => ledger.take(second)).toThrow(BullaError);
    // What is refused takes nothing, neither of the ceiling nor of the velocity.
    expect(first.map((each) => ledger.used(each))).toEqual([4000000n, 2n]);
    ledger.release(first);
    ledger.take(second);
    expect(second.map((each) => ledger.used(each))).toEqual([4000000n, 2n]);
  });

  test('the allowance comes back, at the latest one slot after the window', () => {
    const ledger = new Ledger();
    const full = (now: number) =>
      reservationsOf(policy, envelopeWith({ target: { amount: '5000000' } }), now);
    ledger.take(full(NOW));
    expect(() => ledger.take(full(NOW + 86_399))).toThrow(BullaError);
    ledger.take(full(NOW + 86_400 + 1440));
  });
});
