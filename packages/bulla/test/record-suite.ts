import { opens } from '@bulla/core/canon';
import { verifyCapsule } from '@bulla/core/capsule';
import { commitmentsOf, readEvidence, resultOf } from '@bulla/core/evidence';
import { JsonNumber, parse } from '@bulla/core/json';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createAudit, createRecorder, type Note } from '../src/record/index.ts';
import type { Store, StoreOptions } from '../src/store/index.ts';
import { key, sealer, verifiedLength } from './store-suite.ts';

/** An object that throws when it is read. */
const throwing = Object.defineProperty({}, 'secret', {
  enumerable: true,
  get() {
    throw new TypeError('not now');
  },
});
const revoked = (() => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
})();
const cyclic: unknown[] = [];
cyclic.push(cyclic);
const nested = (depth: number) => {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = [value];
  return value;
};

/** Whatever an application may note or return, and what keeps it from being committed to. */
const NO_JSON: [string, unknown, string][] = [
  ['a Date', new Date(0), 'VALUE_NOT_JSON'],
  ['NaN', { a: Number.NaN }, 'CANON_NOT_FINITE'],
  ['a function', { a: () => 1 }, 'VALUE_NOT_JSON'],
  ['a symbol', Symbol('x'), 'VALUE_NOT_JSON'],
  ['undefined inside', { a: undefined }, 'VALUE_NOT_JSON'],
  ['a cycle', cyclic, 'VALUE_CYCLE'],
  ['a very deep value', nested(2000), 'VALUE_TOO_DEEP'],
  ['a getter that throws', throwing, 'VALUE_UNREADABLE'],
  ['a revoked proxy', [revoked], 'VALUE_UNREADABLE'],
];

/** What JSON can carry, and doubles or Unicode cannot. */
const EXACT: [string, unknown, 'jcs' | 'exact'][] = [
  ['a small number', { cost_usd: 0.00002 }, 'jcs'],
  ['1.0', { n: new JsonNumber('1.0') }, 'jcs'],
  ['1e16', { n: 1e16 }, 'jcs'],
  ['9007199254740993', { n: new JsonNumber('9007199254740993') }, 'exact'],
  ['a BigInt', { n: 2n ** 70n }, 'exact'],
  ['keys within and beyond the basic plane', { '\u{1f600}': 1, '\uffff': 2 }, 'jcs'],
  ['half of a character', { text: '\ud800' }, 'exact'],
  ['members that a seal has', { hash: 'x', signature: 'y', reasoning: { confidence: 1 } }, 'jcs'],
];

/** Any JSON value, and any JavaScript value. */
const anything = fc.oneof(
  { weight: 4, arbitrary: fc.jsonValue() },
  {
    weight: 2,
    arbitrary: fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withSparseArray: true,
      withTypedArray: true,
      withUnicodeString: true,
      withObjectString: true,
      withBoxedValues: true,
    }),
  },
  fc.string({ unit: 'binary' }).map((text) => ({ [text]: text })),
  fc.constantFrom(...NO_JSON, ...EXACT).map(([, value]) => value),
);

/** Whatever a program returns or notes, what it did is recorded. `runs`: how many values are tried. */
export function recordSuite(
  open: (options: Partial<StoreOptions>) => Promise<Store>,
  { runs }: { readonly runs: number },
): void {
  const opened = async (tenant: string, recordPayloads = true) => {
    const store = await open({ sealer, tenant });
    onTestFinished(() => store.close());
    const recorder = createRecorder(store.chain('default'), { recordPayloads });
    return { store, audit: createAudit(recorder, store, { agentId: 'bot' }) };
  };
  /** The last intent and its outcome, as they lie in the store. */
  const lastTwo = async (store: Store) => {
    const { length } = await store.chain('default').head();
    const rows = await Array.fromAsync(store.chain('default').records(length - 2));
    for (const { data } of rows) expect(verifyCapsule(data, { keys: [key] })).toMatchObject({ ok: true });
    return rows.map(({ data }) => parse(data, { allow: ['lone-surrogates'] })) as [unknown, unknown];
  };
  /** Every commitment in a capsule is opened by what the store has. */
  const openedAll = async (store: Store, capsule: unknown, kinds: readonly ('args' | 'result')[]) => {
    const commitments = commitmentsOf(capsule);
    for (const kind of kinds) {
      const commitment = commitments[kind]!;
      const { salt, payload } = (await store.opening(commitment.commitment))!;
      expect(opens(commitment, kind, parse(payload!, { allow: ['lone-surrogates'] }), salt)).toBe(true);
    }
  };

  describe('whatever a program returns or notes', () => {
    test.each(NO_JSON)('%s is returned unchanged and recorded as uncommitted', async (_, value, code) => {
      const { store, audit } = await opened('no-json');
      const note = { summary: value, sideEffects: value, metrics: value } as Note;
      const returned = await audit.record({ request: 'go', tool: 't', arguments: { a: 1 } }, (step) => {
        step.note(note);
        return value;
      });
      expect(Object.is(returned, value)).toBe(true);
      const [intent, outcome] = await lastTwo(store);
      expect(resultOf(outcome)).toEqual({ uncommitted: code });
      expect(readEvidence(outcome)).toMatchObject({
        uncommitted: { '/outcome/summary': code, '/outcome/side_effects': code, '/outcome/metrics': code },
      });
      await openedAll(store, intent, ['args']);
    });

    test.each(EXACT)('%s is committed to and can be opened', async (_, value, of) => {
      const { store, audit } = await opened('exact');
      const call = { request: 'go', tool: 't', arguments: value as never };
      await audit.record(call, (step) => {
        step.note({ metrics: value as never });
        return value;
      });
      const [intent, outcome] = await lastTwo(store);
      expect([readEvidence(intent)?.args, resultOf(outcome)]).toMatchObject([{ of }, { of }]);
      await openedAll(store, intent, ['args']);
      await openedAll(store, outcome, ['result']);
    });

    test('notes of another form are left out, and the record says so', async () => {
      const { store, audit } = await opened('form');
      const note = { summary: 5, sideEffects: ['x', 5], metrics: [1] } as unknown as Note;
      await audit.record({ request: 'go' }, (step) => step.note(note));
      await audit.record({ request: 'deep' }, (step) =>
        step.note({ summary: 'done', metrics: { deep: nested(992) as never } }),
      );
      const all = await Array.fromAsync(store.chain('default').records());
      const [first, second] = [all[1]!, all[3]!].map(({ data }) => JSON.parse(data));
      expect(first.outcome).toMatchObject({ summary: 'go', side_effects: [], metrics: {} });
      expect(readEvidence(first)?.uncommitted).toEqual({
        '/outcome/summary': 'CAPSULE_LINT',
        '/outcome/side_effects': 'CAPSULE_LINT',
        '/outcome/metrics': 'CAPSULE_LINT',
      });
      expect(second.outcome).toMatchObject({ summary: 'deep', metrics: {}, status: 'success' });
      expect(readEvidence(second)?.uncommitted).toEqual({
        '/outcome/summary': 'CAPSULE_LINT',
        '/outcome/metrics': 'CAPSULE_LINT',
      });
    });

    test('what reads differently each time is kept as it was committed to', async () => {
      const { store, audit } = await opened('changing');
      let reads = 0;
      const changing = Object.defineProperty({}, 'n', { enumerable: true, get: () => reads++ });
      await audit.record({ request: 'go', tool: 't' }, () => changing);
      await openedAll(store, (await lastTwo(store))[1], ['result']);
    });

    test('any value: intent and outcome verify, and their commitments open with what the store has', async () => {
      const { store, audit } = await opened('any');
      let calls = 0;
      await fc.assert(
        fc.asyncProperty(anything, anything, fc.jsonValue(), async (returned, noted, args) => {
          const isObject = typeof noted === 'object' && noted !== null;
          await audit.record({ request: 'go', tool: 't', arguments: args as never }, (step) => {
            step.note({ [isObject ? 'metrics' : 'summary']: noted } as Note);
            return { returned };
          });
          calls++;
          const [intent, outcome] = await lastTwo(store);
          await openedAll(store, intent, ['args']);
          const result = resultOf(outcome)!;
          if ('commitment' in result) await openedAll(store, outcome, ['result']);
          else expect(result.uncommitted).toMatch(/^(?:VALUE|CANON)_[A-Z_]+$/);
        }),
        { numRuns: runs },
      );
      expect(audit.lost).toBe(0);
      expect(await verifiedLength(store, 'default')).toBe(2 * calls);
    });
  });
}
