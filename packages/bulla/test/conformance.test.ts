import { expect, test } from 'vitest';
import {
  type Difference,
  differences,
  judge,
  parseExpected,
  type Status,
  type Verdicts,
} from './conformance.ts';

function outcomes(table: Record<string, Record<string, Status>>): Verdicts {
  const entries = Object.entries(table).map(([name, checks]) => {
    const list = Object.entries(checks).map(([id, status]) => ({ id, status }));
    return [name, { verdict: 'pass' as const, checks: list }] as const;
  });
  return new Map(entries);
}

test('a difference is a check whose status changes, comes or goes', () => {
  const direct = outcomes({
    s: { same: 'SUCCESS', worse: 'SUCCESS', gone: 'SUCCESS', note: 'INFO' },
    t: { a: 'SUCCESS' },
  });
  const other = outcomes({ s: { same: 'SUCCESS', worse: 'WARNING', log: 'INFO', more: 'FAILURE' } });
  expect(differences(direct, other)).toEqual([
    { scenario: 's', check: 'worse', direct: 'SUCCESS', other: 'WARNING' },
    { scenario: 's', check: 'gone', direct: 'SUCCESS', other: 'absent' },
    { scenario: 's', check: 'more', direct: 'absent', other: 'FAILURE' },
    { scenario: 't', check: 'a', direct: 'SUCCESS', other: 'absent' },
  ]);
});

test('a note in the place of a status is a difference', () => {
  const found = differences(outcomes({ s: { id: 'SUCCESS' } }), outcomes({ s: { id: 'INFO' } }));
  expect(found).toEqual([{ scenario: 's', check: 'id', direct: 'SUCCESS', other: 'INFO' }]);
});

const worse: Difference = { scenario: 's', check: 'a', direct: 'SUCCESS', other: 'FAILURE' };
const expectation = (checks: Record<string, Status | 'absent'>) => ({
  ...{ column: 'guard', version: '2026-07-28' as const, scenario: 's', checks, reason: 'Because.' },
});

test('a difference is expected only with the status that is named', () => {
  expect(judge([worse], [expectation({ a: 'FAILURE' })])).toEqual({ unexpected: [], stale: [] });
  const other = judge([worse], [expectation({ a: 'absent' })]);
  expect(other).toEqual({ unexpected: [worse], stale: [{ scenario: 's', check: 'a' }] });
  expect(judge([worse], [])).toEqual({ unexpected: [worse], stale: [] });
});

test('an expected difference that does not occur is told', () => {
  const judgement = judge([worse], [expectation({ a: 'FAILURE', b: 'WARNING' })]);
  expect(judgement).toEqual({ unexpected: [], stale: [{ scenario: 's', check: 'b' }] });
});

test('a list of expectations is read strictly', () => {
  const entry = expectation({ a: 'FAILURE' });
  expect(parseExpected(JSON.stringify([entry]))).toEqual([entry]);
  expect(() => parseExpected(JSON.stringify([entry, entry]))).toThrow('There are two entries');
  expect(() => parseExpected(JSON.stringify([{ ...entry, reason: '' }]))).toThrow();
  expect(() => parseExpected(JSON.stringify([{ ...entry, note: 'x' }]))).toThrow();
  expect(() => parseExpected(JSON.stringify([{ ...entry, checks: { a: 'failure' } }]))).toThrow();
});
