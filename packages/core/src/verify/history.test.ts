import { expect, test } from 'vitest';
import { type JsonObject, parse } from '../json/index.ts';
import { createHistory, storyOf } from './history.ts';
import { historyLines } from './notices.ts';
import { verifyRecords } from './records.ts';

const record = (more: object) => storyOf(parse(JSON.stringify(more)) as JsonObject);
const told = (...records: object[]) => {
  const history = createHistory();
  for (const [i, more] of records.entries()) history.add(record(more), i);
  return history.finish();
};
const intent = (id: string) => ({ type: 'tool', id, outcome: { status: 'pending' } });

test('a call without an outcome is unfinished; one with an outcome, or a session that is open, is not', () => {
  expect(
    told(
      { type: 'agent', id: 'session', outcome: { status: 'pending' } },
      { ...intent('a'), parent_id: 'session' },
      { ...intent('b'), parent_id: 'session' },
      { type: 'tool', id: 'c', parent_id: 'a', outcome: { status: 'failure' } },
      // Nested in the other call, which is not over by that.
      { ...intent('d'), parent_id: 'b' },
      // A command with --record that was killed.
      { ...intent('e'), type: 'auth', domain: 'admin' },
    ).unfinished,
  ).toEqual({
    count: 3,
    first: [
      { id: 'b', index: 2 },
      { id: 'd', index: 4 },
      { id: 'e', index: 5 },
    ],
  });
});

test('only an outcome ends a call of ours, not a denial or a thought inside of it', () => {
  const ours = (more: object, intent?: string) => ({
    ...more,
    context: { environment: { bulla: { v: 1, ...(intent && { intent }) } } },
  });
  const acting = { type: 'agent', trigger: { type: 'agent' }, outcome: { status: 'pending' } };
  const calls = [
    ours(intent('pay')),
    ours({ type: 'tool', id: 'no', parent_id: 'pay', outcome: { status: 'blocked' } }),
    ours({ ...acting, id: 'think', parent_id: 'pay' }),
    ours({ type: 'agent', id: 'thought', parent_id: 'think', outcome: { status: 'success' } }, 'think'),
  ];
  expect(told(...calls).unfinished).toEqual({ count: 1, first: [{ id: 'pay', index: 0 }] });
  const end = ours({ type: 'tool', id: 'end', parent_id: 'pay', outcome: { status: 'success' } }, 'pay');
  expect(told(...calls, end).unfinished.count).toBe(0);
  expect(told(calls[2]!).unfinished.count).toBe(1);
});

test('a call that was marked is orphaned, until its outcome comes all the same', () => {
  const ours = (more: object, evidence: object) => ({
    ...more,
    context: { environment: { bulla: { v: 1, ...evidence } } },
  });
  const mark = ours(
    {
      type: 'system',
      id: 'm',
      parent_id: 'a',
      outcome: { status: 'failure', error: 'record: RECORD_ORPHANED' },
    },
    { intent: 'a' },
  );
  const end = ours(
    { type: 'tool', id: 'end', parent_id: 'a', outcome: { status: 'success' } },
    { intent: 'a', late: 'm' },
  );
  const calls = [ours(intent('a'), {}), ours(intent('b'), {}), mark];
  const a = { count: 1, first: [{ id: 'a', index: 0 }] };
  const b = { count: 1, first: [{ id: 'b', index: 1 }] };
  const none = { count: 0, first: [] };
  expect(told(...calls)).toMatchObject({ orphaned: a, unfinished: b });
  expect(told(...calls, end)).toMatchObject({ orphaned: none, unfinished: b });
  expect(Object.fromEntries(historyLines(told(...calls)))).toMatchObject({
    unfinished: '1 call has an intent and no outcome: b (record 1)',
    orphaned: '1 call has an outcome that nobody knows, since the process ended: a (record 0)',
  });
});

test('a question that nobody answered is no call', () => {
  const question = {
    type: 'auth',
    id: 'asked',
    parent_id: null,
    domain: 'agents',
    outcome: { status: 'pending' },
  };
  expect(told(question).unfinished).toEqual({ count: 0, first: [] });
});

test('records that store their canonical text tell the same', () => {
  const canonical = JSON.stringify({ ...intent('a'), trigger: { timestamp: '2026-01-01T00:00:00Z' } });
  const seal = { hash: '', signature: '', signed_at: '2026-02-01T00:00:00Z' };
  const options = { mode: 'structural', keys: [], pqKeys: [], facts: [], requirePq: false } as const;
  const [result] = verifyRecords([{ canonical, ...seal }], 0, {
    ...options,
    ...{ allowNonFinite: false, leaves: false, hashOnlyBelow: 0 },
  });
  expect(result!.story).toMatchObject({ intent: 'a', time: Date.parse(seal.signed_at) });
});

test('a clock that went back is told once, with both times; small differences are not', () => {
  const at = (signed_at: string | null) => ({
    signed_at,
    trigger: { timestamp: '2026-01-01T00:00:00+00:00' },
  });
  expect(
    told(
      at('2026-11-16T12:00:00+00:00'),
      at('2026-11-16T11:56:00+00:00'),
      at('2025-10-12T11:56:00+00:00'),
      at('2025-10-12T11:57:00+00:00'),
      at('then'),
      at(null),
      at('2025-12-31T23:00:00+00:00'),
    ).clockBack,
  ).toEqual({
    count: 2,
    first: [
      { index: 2, before: '2026-11-16T11:56:00.000Z', after: '2025-10-12T11:56:00.000Z' },
      { index: 6, before: '2026-01-01T00:00:00.000Z', after: '2025-12-31T23:00:00.000Z' },
    ],
  });
});

test('a recovery is told with its reason; only so many of each are listed', () => {
  const recovered = { origin: 'op/-/c', size: 8, root: '00', length: 5 };
  const bulla = { v: 1, origin: 'op/-/c~2', recovered };
  const recovery = {
    type: 'system',
    context: { environment: { bulla } },
    outcome: { status: 'success', summary: 'disk' },
  };
  expect(told({}, recovery).recoveries).toEqual([
    { index: 1, origin: 'op/-/c~2', reason: 'disk', recovered },
  ]);
  const many = told(...Array.from({ length: 150 }, (_, i) => intent(`i${i}`)), ...Array(120).fill(recovery));
  expect([many.unfinished.count, many.unfinished.first.length, many.recoveries.length]).toEqual([
    150, 100, 100,
  ]);
});
