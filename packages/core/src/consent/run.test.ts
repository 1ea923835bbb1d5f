import { expect, test } from 'vitest';
import {
  AGENT,
  added,
  COMMITMENT,
  HOUR,
  LOCATE,
  NOTIFY,
  OTHER,
  PINNED,
  READ,
  type Relation,
  SCOPES,
  SECOND,
} from '../../test/consent.ts';
import { type Prompt, rowsOf, stateOf } from './index.ts';

// A call that was allowed begins once and ends; and the rows that say so are read exactly.

function asking(called = READ): { relation: Relation; prompt: Prompt } {
  const relation = added();
  return { relation, prompt: relation.call(called).prompt! };
}

test('starting: only what was allowed, with its definition and its arguments, in time, once', () => {
  const relation = added();
  const allowed = relation.answer(relation.call(READ).prompt!, 'allow-once').decisions[0]!;
  const other = relation.answer(relation.call(READ, { args: OTHER }).prompt!, 'allow-once');
  const start = {
    type: 'start' as const,
    at: relation.at,
    id: allowed.id,
    declared: READ.digest,
    locked: null,
    args: COMMITMENT,
  };
  expect(relation.refusal({ ...start, id: 'unheard of' })).toBe('CONSENT_UNKNOWN');
  expect(relation.refusal({ ...start, id: other.decisions[0]!.id })).toBe('CONSENT_OTHER_CALL');
  expect(relation.refusal({ ...start, declared: LOCATE.digest })).toBe('CONSENT_OTHER_CALL');
  expect(relation.refusal({ ...start, locked: PINNED })).toBe('CONSENT_OTHER_CALL');
  const otherForm = { ...COMMITMENT, of: 'exact' } as const;
  expect(relation.refusal({ ...start, args: otherForm })).toBe('CONSENT_OTHER_CALL');
  expect(relation.refusal({ ...start, exec_hash: 'nonsense' })).toBe('CONSENT_ID');
  expect(relation.refusal({ ...start, at: relation.at - 1 })).toBe('CONSENT_TIME');
  expect(relation.refusal({ ...start, at: relation.at + 300 * SECOND })).toBe('CONSENT_EXPIRED');
  expect(relation.run({ ...start, at: relation.at + 300 * SECOND - 1 }).refusal).toBe(null);
  expect(relation.refusal(start)).toBe('CONSENT_SPENT');
  const denied = relation.answer(relation.call(READ).prompt!, 'deny-once').decisions[0]!;
  expect(relation.refusal({ ...start, id: denied.id })).toBe('CONSENT_NOT_ALLOWED');
});

test('what was allowed and not started in time is denied: user_timeout', () => {
  const relation = added();
  const { id } = relation.call(NOTIFY).decisions[0]!;
  relation.at += 300 * SECOND;
  expect(relation.sweep().decisions).toMatchObject([
    { id, reason: 'user_timeout', detail: 'not_started', by: null },
  ]);
});

test('finishing: only what runs, with a code for an error', () => {
  const relation = added();
  const { id } = relation.start(relation.call(NOTIFY).decisions[0]!).decisions[0]!;
  const finish = { type: 'finish' as const, at: relation.at, id, status: 'error' as const };
  expect(relation.refusal({ ...finish, id: 'unheard of' })).toBe('CONSENT_UNKNOWN');
  expect(relation.refusal(finish)).toBe('CONSENT_ID');
  expect(relation.refusal({ ...finish, reason: 'Something went wrong' })).toBe('CONSENT_ID');
  expect(relation.refusal({ ...finish, status: 'ok', reason: 'tool_failed' })).toBe('CONSENT_ID');
  expect(relation.run({ ...finish, reason: 'tool_failed' }).decisions).toMatchObject([
    { stage: 'error', reason: 'tool_failed' },
  ]);
  expect(relation.refusal({ ...finish, reason: 'tool_failed' })).toBe('CONSENT_NOT_OPEN');
});

test('withdrawing ends what has not begun', () => {
  const { relation, prompt } = asking();
  const withdraw = (id: string) => ({ type: 'withdraw' as const, at: relation.at, id });
  expect(relation.run(withdraw(prompt.id)).decisions).toMatchObject([
    { reason: 'user_timeout', detail: 'withdrawn' },
  ]);
  expect(relation.refusal(relation.answering(prompt, 'allow-once'))).toBe('CONSENT_ANSWERED');
  const allowed = relation.call(NOTIFY).decisions[0]!;
  relation.run(withdraw(allowed.id));
  expect(relation.start(allowed).refusal!.code).toBe('CONSENT_NOT_ALLOWED');
  expect(relation.refusal(withdraw('unheard of'))).toBe('CONSENT_NOT_OPEN');
});

test('a manifest that was read once is not read again for the next person', () => {
  const relation = added();
  const rows = rowsOf(relation.state);
  const other = { ...rows, user: 'other', disclosures: [], grants: [], decisions: [] };
  const state = stateOf(other, relation.state);
  expect(state.tools).toBe(relation.state.tools);
  expect([state.user, state.rows.grants.size]).toEqual(['other', 0]);
  expect(stateOf(JSON.parse(JSON.stringify(other)), relation.state).tools).not.toBe(relation.state.tools);
});

test('rows that were altered decide nothing', () => {
  const relation = added();
  relation.answer(relation.call(READ).prompt!, 'allow-session');
  relation.call(LOCATE);
  relation.at += HOUR;
  const good = JSON.stringify(rowsOf(relation.state));
  const altered = (edit: (rows: Record<string, Record<string, unknown>[]>) => void) => {
    const rows = JSON.parse(good);
    edit(rows);
    try {
      stateOf(rows, relation.state);
    } catch (error) {
      const { code, path } = error as { code: string; path: string };
      return `${code} ${path}`;
    }
    return 'read';
  };
  expect(altered(() => {})).toBe('read');
  const same = rowsOf(relation.state);
  const again = (rows: typeof same) => stateOf(rows, relation.state);
  expect(again(same)).toEqual(relation.state);
  const refusing = (path: string) => expect.objectContaining({ code: 'CONSENT_STATE', path });
  // Rows that were checked before are checked again among those of others and in another table.
  expect(() => again({ ...same, user: 'other' })).toThrow(refusing('/prompts/0'));
  expect(() => again({ ...same, grants: [same.grants[0]!, same.grants[0]!] })).toThrow(refusing('/grants/1'));
  expect(() => again({ ...same, silences: same.grants as never })).toThrow(refusing('/silences/0/id'));
  expect(altered((rows) => delete rows.grants![0]!.status)).toBe('CONSENT_STATE /grants/0/status');
  expect(altered((rows) => (rows.grants![0]!.status = 'always'))).toBe('CONSENT_STATE /grants/0/status');
  expect(altered((rows) => (rows.grants![0]!.more = 1))).toBe('CONSENT_STATE /grants/0/more');
  expect(altered((rows) => rows.grants!.push(rows.grants![0]!))).toBe(
    `CONSENT_STATE /grants/${SCOPES.length}`,
  );
  expect(altered((rows) => (rows.silences![0]!.until = 1e300))).toBe('CONSENT_STATE /silences/0/until');
  expect(altered((rows) => (rows.prompts![0]!.user = 'other'))).toBe('CONSENT_STATE /prompts/0');
  expect(altered((rows) => (rows.manifests![0]!.agent = `${AGENT}2`))).toBe('CONSENT_STATE /manifests/0');
  expect(altered((rows) => (rows.decisions![0]!.by = 'magic'))).toBe('CONSENT_STATE /decisions/0/by');
  expect(altered((rows) => (rows.decisions![0]!.answer = 'yes'))).toBe('CONSENT_STATE /decisions/0/answer');
  expect(altered((rows) => (rows.approvals = 'none' as never))).toBe('CONSENT_STATE /approvals');
});
