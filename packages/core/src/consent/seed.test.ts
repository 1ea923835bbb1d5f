import { expect, test } from 'vitest';
import {
  added,
  caller,
  DAY,
  LIST,
  LOCATE,
  manifest,
  NOTIFY,
  passkey,
  READ,
  Relation,
  SECOND,
  tool,
  USER,
} from '../../test/consent.ts';
import { type Decision, type Identity, resultOf, type Step } from './index.ts';
import { shownDigest } from './showing.ts';

// Every rule of the capability manifest's text that speaks of consent, by name.

/** What the agent is told at once; undefined when the person is asked or the call may run. */
function told(step: Step): unknown {
  expect(step.refusal).toBe(null);
  const result = step.decisions[0] && resultOf(step.decisions[0]);
  return result && (result.status === 'ok' ? 'ok' : `${result.status}: ${result.reason}`);
}
const by = (step: Step) => step.decisions[0]?.by;

test('low runs in silence', () => {
  const relation = added();
  for (let i = 0; i < 3; i++) expect(by(relation.call(NOTIFY))).toBe('low-silent');
});

test('medium prompts first, then is silent for 24 hours on the same device in the same session', () => {
  const relation = added();
  const { prompt } = relation.call(READ);
  expect(prompt).toMatchObject({ scope: 'filesystem:read', sensitivity: 'medium', expires_at: null });
  expect(by(relation.answer(prompt!, 'allow-session'))).toBe('medium-session');
  relation.at += DAY - 1;
  expect(by(relation.call(READ))).toBe('medium-window');
});

test('the window slides: 24 hours are counted from the last use', () => {
  const relation = added();
  relation.answer(relation.call(READ).prompt!, 'allow-session');
  for (let i = 0; i < 10; i++) {
    relation.at += DAY - 1;
    expect(by(relation.call(READ))).toBe('medium-window');
  }
  relation.at += DAY;
  expect(relation.call(READ).prompt).not.toBe(null);
});

test('the window is that of the scope: another tool in it is silent too', () => {
  const relation = added();
  relation.answer(relation.call(READ).prompt!, 'allow-session');
  expect(by(relation.call(LIST))).toBe('medium-window');
});

test.each([
  ['device', { ...caller, device: 'installation:other' }],
  ['session', { ...caller, session: 'process:p2' }],
])('another %s is asked again', (_, identity: Identity) => {
  const relation = added();
  relation.answer(relation.call(READ).prompt!, 'allow-session');
  expect(relation.call(READ, { identity }).prompt).not.toBe(null);
});

test.each(['device', 'session'] as const)('without a known %s medium is never silent', (unknown) => {
  const relation = added();
  const identity = { ...caller, [unknown]: null };
  for (let i = 0; i < 3; i++) {
    const { prompt } = relation.call(READ, { identity });
    expect(prompt!.choices).toEqual(['allow-once', 'deny-once', 'never']);
    expect(relation.refusal(relation.answering(prompt!, 'allow-session'))).toBe('CONSENT_CHOICE');
    expect(by(relation.answer(prompt!, 'allow-once'))).toBe('medium-allowed-once');
  }
});

test('allowed once is allowed once', () => {
  const relation = added();
  expect(by(relation.answer(relation.call(READ).prompt!, 'allow-once'))).toBe('medium-allowed-once');
  expect(relation.call(READ).prompt).not.toBe(null);
});

test('a session that ended is asked again', () => {
  const relation = added();
  relation.answer(relation.call(READ).prompt!, 'allow-session');
  relation.run({ type: 'end-session', at: relation.at, device: caller.device!, session: caller.session! });
  expect(relation.call(READ).prompt).not.toBe(null);
});

test('a clock that went back opens no window', () => {
  const relation = added();
  relation.answer(relation.call(READ).prompt!, 'allow-session');
  relation.at -= 1;
  expect(relation.call(READ).prompt).not.toBe(null);
});

test('high is asked at every call, also when the scope is granted', () => {
  const relation = added();
  for (let i = 0; i < 3; i++) {
    const { prompt } = relation.call(LOCATE);
    expect(prompt!.choices).toEqual(['allow-once', 'deny-once', 'never']);
    expect(by(relation.answer(prompt!, 'allow-once'))).toBe('high-allowed-once');
  }
});

test('high without an answer for 30 seconds is denied: user_timeout', () => {
  const relation = added();
  const { prompt } = relation.call(LOCATE);
  expect(prompt!.expires_at).toBe(relation.at + 30 * SECOND);
  relation.at += 30 * SECOND - 1;
  expect(relation.sweep().decisions).toEqual([]);
  relation.at += 1;
  expect(relation.refusal(relation.answering(prompt!, 'allow-once'))).toBe('CONSENT_EXPIRED');
  expect(told(relation.sweep())).toBe('denied: user_timeout');
  expect(relation.refusal(relation.answering(prompt!, 'allow-once'))).toBe('CONSENT_ANSWERED');
});

test('an answer in the last millisecond counts', () => {
  const relation = added();
  const { prompt } = relation.call(LOCATE);
  relation.at += 30 * SECOND - 1;
  expect(by(relation.answer(prompt!, 'allow-once'))).toBe('high-allowed-once');
});

test.each(['deny-once', 'never'] as const)('%s is denied: user_rejected', (choice) => {
  const relation = added();
  expect(told(relation.answer(relation.call(LOCATE).prompt!, choice))).toBe('denied: user_rejected');
});

test('after Deny once the person is asked again; after Never nobody is, and no request is passed on', () => {
  const relation = added();
  relation.answer(relation.call(READ).prompt!, 'deny-once');
  const other = relation.call(LIST).prompt!;
  const never = relation.answer(relation.call(READ).prompt!, 'never');
  expect(never.decisions.map(({ id, reason, detail }) => [id === other.id, reason, detail])).toEqual([
    [false, 'user_rejected', 'answered'],
    [true, 'permission_revoked', 'scope_refused'],
  ]);
  expect(told(relation.call(READ))).toBe('denied: permission_revoked');
  const at = relation.at;
  const id = relation.id();
  const asked = relation.run({ type: 'request', id, at, identity: caller, scope: 'filesystem:read' });
  expect(told(asked)).toBe('denied: user_rejected');
});

test.each([
  ['a group', 'group' as const, 'group'],
  ['a conversation of unknown kind', null, 'conversation_unknown'],
])('in %s every call is denied: tool_not_supported_in_group', (_, conversation, detail) => {
  const relation = added();
  relation.answer(relation.call(READ).prompt!, 'allow-session');
  for (const called of [NOTIFY, READ, LOCATE, tool('nothing', 'no:scope', 'low')]) {
    const step = relation.call(called, { identity: { ...caller, conversation } });
    expect(told(step)).toBe('denied: tool_not_supported_in_group');
    expect(step.decisions[0]!.detail).toBe(detail);
  }
});

test('a new scope is not granted; the agent can ask for it, and the person answers', () => {
  const relation = added();
  const scopes = [...manifest(1).scopes, { id: 'clipboard:read', sensitivity: 'medium' as const }];
  const paste = tool('paste', 'clipboard:read', 'medium');
  relation.declare(manifest(2, [NOTIFY, READ, LIST, LOCATE, paste], scopes));
  const denied = relation.call(paste);
  expect([told(denied), denied.decisions[0]!.detail]).toEqual([
    'denied: permission_revoked',
    'scope_not_granted',
  ]);

  const id = relation.id();
  const request = {
    type: 'request' as const,
    id,
    at: relation.at,
    identity: caller,
    scope: 'clipboard:read',
  };
  const { prompt } = relation.run(request);
  expect(prompt!.choices).toEqual(['grant', 'deny-once', 'never']);
  expect(relation.refusal({ ...request, id: relation.id() })).toBe('CONSENT_ALREADY_ASKED');
  const answer = relation.answering(prompt!, 'grant');
  expect(relation.refusal(answer)).toBe('CONSENT_DISCLOSURE');
  expect(told(relation.run({ ...answer, disclosure: relation.disclose() }))).toBe('ok');
  expect(relation.refusal({ ...request, id: relation.id() })).toBe('CONSENT_ALREADY_GRANTED');
  expect(relation.call(paste).prompt).toMatchObject({ grant: id });
});

test('revocation takes effect at once, also on an open prompt and on a call that was allowed and not started', () => {
  const relation = added();
  const waiting = relation.answer(relation.call(READ).prompt!, 'allow-session').decisions[0]!;
  const running = relation.call(LIST).decisions[0]!;
  relation.start(running);
  const open = relation.call(READ, { identity: { ...caller, session: 'process:p2' } }).prompt!;
  const step = relation.revoke('filesystem:read');
  expect(step.decisions.map(({ id, reason }) => [id, reason])).toEqual([
    [open.id, 'permission_revoked'],
    [waiting.id, 'permission_revoked'],
  ]);
  expect(step.running).toEqual([running.id]);
  expect(told(relation.call(READ))).toBe('denied: permission_revoked');
  relation.grant(['filesystem:read']);
  expect(relation.refusal(relation.answering(open, 'allow-once'))).toBe('CONSENT_ANSWERED');
  expect(relation.start(waiting).refusal!.code).toBe('CONSENT_NOT_ALLOWED');
  // The window went with the grant.
  expect(relation.call(READ).prompt).not.toBe(null);
});

test('a breaking change suspends all grants until they are reviewed', () => {
  const relation = added();
  const open = relation.call(READ).prompt!;
  const step = relation.declare(manifest(2), true);
  expect(step.decisions.map(({ id, reason, detail }) => [id, reason, detail])).toEqual([
    [open.id, 'permission_revoked', 'suspended'],
  ]);
  for (const called of [NOTIFY, READ, LOCATE])
    expect(told(relation.call(called))).toBe('denied: permission_revoked');
  expect(relation.grant(['notification:send']).refusal).toBe(null);
  expect(by(relation.call(NOTIFY))).toBe('low-silent');
  expect(told(relation.call(READ))).toBe('denied: permission_revoked');
});

test('a change that breaks nothing leaves grants and windows alone, but a new tool is asked about', () => {
  const relation = added();
  relation.answer(relation.call(READ).prompt!, 'allow-session');
  const stat = tool('stat_file', 'filesystem:read', 'medium');
  relation.declare(manifest(2, [NOTIFY, READ, LIST, LOCATE, stat]));
  expect(by(relation.call(READ))).toBe('medium-window');
  expect(relation.call(stat).prompt).not.toBe(null);
});

test('a tool that was defined anew is asked about again, in the window and at an open prompt', () => {
  const relation = added();
  const waiting = relation.answer(relation.call(READ).prompt!, 'allow-session').decisions[0]!;
  const second = { ...caller, session: 'process:p2' };
  const open = relation.call(READ, { identity: second }).prompt!;
  const anew = tool('read_file', 'filesystem:read', 'medium', 2);
  const step = relation.declare(manifest(2, [NOTIFY, anew, LIST, LOCATE]));
  expect(step.decisions.map(({ id, stage, reason }) => [id, stage, reason])).toEqual([
    [open.id, 'error', 'tool_changed'],
    [waiting.id, 'error', 'tool_changed'],
  ]);
  expect(relation.call(anew).prompt).toMatchObject({ previous: { declared: READ.digest } });
  expect(by(relation.call(LIST))).toBe('medium-window');
  expect(told(relation.call(READ))).toBe('error: tool_changed');
});

test('a scope whose sensitivity is another one needs another grant, whatever the diff said', () => {
  const relation = added();
  const scopes = manifest(1).scopes.map((scope) =>
    scope.id === 'location:read' ? { ...scope, sensitivity: 'low' as const } : scope,
  );
  relation.declare(manifest(2, [NOTIFY, READ, LIST, tool('locate', 'location:read', 'low')], scopes));
  const step = relation.call(LOCATE);
  expect([told(step), step.decisions[0]!.detail]).toEqual([
    'denied: permission_revoked',
    'sensitivity_changed',
  ]);
});

test('a tool that runs for its timeout_ms ends in error: timeout, however late its answer', () => {
  const run = (ms: number, finish: boolean): Decision[] => {
    const relation = added();
    const { id } = relation.start(relation.call(NOTIFY).decisions[0]!).decisions[0]!;
    relation.at += ms;
    const step = finish
      ? relation.run({ type: 'finish', at: relation.at, id, status: 'ok' })
      : relation.sweep();
    return [...step.decisions];
  };
  expect(resultOf(run(9999, true)[0]!)).toEqual({ id: 'id-4', call_id: 'id-4', status: 'ok' });
  expect(resultOf(run(10_000, true)[0]!)).toEqual({
    id: 'id-4',
    call_id: 'id-4',
    status: 'error',
    reason: 'timeout',
  });
  expect(run(9999, false)).toEqual([]);
  expect(resultOf(run(10_000, false)[0]!)).toEqual({
    id: 'id-4',
    call_id: 'id-4',
    status: 'error',
    reason: 'timeout',
  });
});

test('the agent knows the answer by its own call_id, which is never ours and may come twice', () => {
  const relation = added();
  const [one, other] = [1, 2].map(() => relation.call(LOCATE, { call_id: 'c-1' }).prompt!);
  expect([one!.call_id, other!.call_id, one!.id === other!.id]).toEqual(['c-1', 'c-1', false]);
  // It is not shown, so that another name for the call is the same question.
  const { call_id: _, ...claims } = one!;
  expect(shownDigest(claims)).toBe(one!.shown);
  const denied = relation.answer(one!, 'deny-once').decisions[0]!;
  expect(resultOf(denied)).toEqual({
    id: one!.id,
    call_id: 'c-1',
    status: 'denied',
    reason: 'user_rejected',
  });
  for (const call_id of ['', 'x'.repeat(4097), '\ud83d'])
    expect(relation.call(LOCATE, { call_id }).refusal?.code).toBe('CONSENT_ID');
});

test('nothing can be granted before the person was told what the agent can do now', () => {
  const relation = new Relation();
  relation.declare();
  const early = relation.disclose();
  relation.declare(manifest(2));
  const grants = [{ scope: 'notification:send', id: 'g' }];
  const grant = { type: 'grant' as const, at: relation.at, grants, who: USER, channel: passkey };
  expect(relation.refusal({ ...grant, disclosure: 'never shown' })).toBe('CONSENT_DISCLOSURE');
  expect(relation.refusal({ ...grant, disclosure: early })).toBe('CONSENT_DISCLOSURE');
  expect(relation.run({ ...grant, disclosure: relation.disclose() }).refusal).toBe(null);
  expect(by(relation.call(NOTIFY))).toBe('low-silent');
});

test('an open prompt at a restart is denied: user_timeout, and a call that ran is an error', () => {
  const relation = added();
  const asked = relation.call(READ).prompt!;
  const ran = relation.call(NOTIFY).decisions[0]!;
  relation.start(ran);
  expect(relation.run({ type: 'restart', at: relation.at, holder: 'another' }).decisions).toEqual([]);
  const { decisions } = relation.run({ type: 'restart', at: relation.at });
  expect(decisions.map(resultOf)).toEqual([
    { id: asked.id, call_id: asked.id, status: 'denied', reason: 'user_timeout' },
    { id: ran.id, call_id: ran.id, status: 'error', reason: 'interrupted' },
  ]);
});
