import { expect, test } from 'vitest';
import {
  added,
  COMMITMENT,
  caller,
  channel,
  host,
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
import {
  applyChanges,
  type CallEvent,
  type ConsentEvent,
  DEFAULT_RULES,
  decide,
  type Prompt,
  rowsOf,
} from './index.ts';

// What is refused, with which code. `refusal` also sees to it that nothing changed.

function asking(called = READ): { relation: Relation; prompt: Prompt } {
  const relation = added();
  return { relation, prompt: relation.call(called).prompt! };
}

test('an answer to nothing, and a second answer', () => {
  const { relation, prompt } = asking();
  const answer = relation.answering(prompt, 'allow-once');
  expect(relation.refusal({ ...answer, prompt: 'unheard of' })).toBe('CONSENT_UNKNOWN');
  relation.run(answer);
  expect(relation.refusal(answer)).toBe('CONSENT_ANSWERED');
  expect(relation.refusal({ ...answer, choice: 'deny-once' })).toBe('CONSENT_ANSWERED');
});

test('two answers at once: the second writer is told of the conflict', () => {
  const { relation, prompt } = asking();
  const allow = decide(relation.state, relation.answering(prompt, 'allow-once'));
  const deny = decide(relation.state, relation.answering(prompt, 'deny-once'));
  const after = applyChanges(relation.state, deny.changes);
  expect(() => applyChanges(after, allow.changes)).toThrow(
    expect.objectContaining({ code: 'CONSENT_CONFLICT' }),
  );
});

test.each([Number.NaN, -1, 0.5, Number.POSITIVE_INFINITY, 253_402_300_800_000])(
  'nothing is decided at the time %s',
  (at) => {
    const { relation, prompt } = asking();
    const allowed = relation.call(NOTIFY).decisions[0]!;
    const running = relation.start(relation.call(NOTIFY).decisions[0]!).decisions[0]!;
    const events: ConsentEvent[] = [
      { ...relation.answering(prompt, 'allow-once'), at },
      { type: 'escalate', at, prompt: prompt.id, to: 'boss', why: 'why' },
      { type: 'start', at, id: allowed.id, declared: allowed.declared!, locked: null, args: COMMITMENT },
      { type: 'bind', at, bound: new Map(), bindings: 'none' },
      { type: 'finish', at, id: running.id, status: 'ok' },
      { type: 'withdraw', at, id: prompt.id },
      { type: 'revoke', at, scopes: 'all', who: USER, channel: passkey },
      { type: 'grant', at, grants: [], disclosure: '', who: USER, channel: passkey },
      { type: 'end-session', at, device: 'd', session: 's' },
      { type: 'request', at, id: 'r', identity: caller, scope: 'x' },
      { type: 'sweep', at },
      { type: 'restart', at },
      { type: 'manifest', at, manifest: manifest(2), breaking: false },
    ];
    for (const event of events) expect(relation.refusal(event)).toBe('CONSENT_TIME');
  },
);

test('an answer from before the question', () => {
  const { relation, prompt } = asking();
  const answer = relation.answering(prompt, 'allow-once');
  expect(relation.refusal({ ...answer, at: prompt.opened_at - 1 })).toBe('CONSENT_TIME');
});

test('an answer to what another prompt showed', () => {
  const { relation, prompt } = asking();
  const other = relation.call(READ).prompt!;
  expect(other.shown).not.toBe(prompt.shown);
  const answer = relation.answering(prompt, 'allow-once');
  expect(relation.refusal({ ...answer, shown: other.shown })).toBe('CONSENT_SHOWN');
  expect(relation.refusal({ ...answer, prompt: other.id })).toBe('CONSENT_SHOWN');
});

test('an answer from somebody else', () => {
  const { relation, prompt } = asking();
  expect(relation.refusal({ ...relation.answering(prompt, 'allow-once'), who: 'mallory' })).toBe(
    'CONSENT_PERSON',
  );
});

test.each(['device', 'terminal', 'host'] as const)('high is not answered over %s', (kind) => {
  const { relation, prompt } = asking(LOCATE);
  for (const choice of ['allow-once', 'deny-once', 'never'] as const)
    expect(relation.refusal(relation.answering(prompt, choice, channel(kind)))).toBe('CONSENT_CHANNEL');
});

test('a channel that does not exist carries no answer', () => {
  const { relation, prompt } = asking();
  const unknown = { kind: 'toString' as 'host', device: null, session: null };
  expect(relation.refusal(relation.answering(prompt, 'allow-once', unknown))).toBe('CONSENT_CHANNEL');
});

test('the operator may open high to other channels, and still it is asked every time', () => {
  const open = (highChannels: 'out-of-band' | 'any', kind: 'terminal' | 'host') => {
    const relation = added({ highChannels });
    const { prompt } = relation.call(LOCATE);
    const step = relation.answer(prompt!, 'allow-once', channel(kind));
    expect(relation.call(LOCATE).prompt).not.toBe(null);
    return step.refusal?.code ?? step.decisions[0]!.by;
  };
  expect(open('out-of-band', 'terminal')).toBe('high-allowed-once');
  expect(open('out-of-band', 'host')).toBe('CONSENT_CHANNEL');
  expect(open('any', 'host')).toBe('high-allowed-once');
});

test.each([
  ['a host of another session', { ...host, session: 'process:p2' }],
  ['a host on another device', { ...host, device: 'installation:other' }],
  ['a terminal elsewhere', { ...channel('terminal'), device: 'installation:other' }],
  ['a device that nobody knows', { kind: 'device' as const, device: null, session: null }],
  ['a name that is no text', { ...passkey, device: '\ud800' }],
])('%s does not answer', (_, over) => {
  const { relation, prompt } = asking();
  expect(relation.refusal(relation.answering(prompt, 'allow-once', over))).toBe('CONSENT_PERSON');
});

test('where devices are named, only they answer', () => {
  const relation = added();
  const { name, digest } = READ;
  const { prompt } = relation.run({
    type: 'call',
    id: 'c',
    at: relation.at,
    identity: caller,
    server: null,
    tool: name,
    declared: digest,
    locked: null,
    lock: null,
    args: COMMITMENT,
    devices: ['credential:watch', caller.device!],
  });
  expect(relation.refusal(relation.answering(prompt!, 'allow-once'))).toBe('CONSENT_PERSON');
  const elsewhere = { ...host, session: 'process:p2' };
  expect(relation.refusal(relation.answering(prompt!, 'allow-once', elsewhere))).toBe('CONSENT_PERSON');
  const watch = { ...passkey, device: 'credential:watch' };
  expect(relation.answer(prompt!, 'allow-once', watch).decisions[0]!.by).toBe('medium-allowed-once');
});

test('a stateless host, whose device and session nobody knows, reports an answer for one call', () => {
  const relation = added();
  const identity = { ...caller, device: null, session: null };
  const { prompt } = relation.call(READ, { identity });
  const nowhere = { kind: 'host' as const, device: null, session: null };
  expect(relation.answer(prompt!, 'allow-once', nowhere).decisions[0]!.by).toBe('medium-allowed-once');
  const elsewhere = relation.call(READ).prompt!;
  expect(relation.refusal(relation.answering(elsewhere, 'allow-once', nowhere))).toBe('CONSENT_PERSON');
});

test('a choice that was not offered', () => {
  const { relation, prompt } = asking(LOCATE);
  for (const choice of ['allow-session', 'grant', 'always' as 'never'] as const)
    expect(relation.refusal(relation.answering(prompt, choice))).toBe('CONSENT_CHOICE');
});

test('a tool that changed while the question was open, when nothing has swept it yet', () => {
  const { relation, prompt } = asking();
  const anew = manifest(2, [NOTIFY, tool('read_file', 'filesystem:read', 'medium', 2), LOCATE]);
  const { changes } = decide(relation.state, {
    type: 'manifest',
    at: relation.at,
    manifest: anew,
    breaking: false,
  });
  relation.state = applyChanges(relation.state, changes.slice(0, 1));
  expect(relation.refusal(relation.answering(prompt, 'allow-once'))).toBe('CONSENT_CHANGED');
});

test('a scope that was suspended while the question was open, when nothing has swept it yet', () => {
  const { relation, prompt } = asking();
  const event = { type: 'manifest' as const, at: relation.at, manifest: manifest(2), breaking: true };
  const { changes } = decide(relation.state, event);
  relation.state = applyChanges(relation.state, changes.slice(0, 1));
  expect(relation.refusal(relation.answering(prompt, 'allow-once'))).toBe('CONSENT_NOT_GRANTED');
});

test('a tool whose level rose while the question was open', () => {
  const { relation, prompt } = asking();
  relation.declare(manifest(2, [NOTIFY, { ...READ, sensitivity: 'high' }, LOCATE]));
  expect(relation.refusal(relation.answering(prompt, 'allow-once'))).toBe('CONSENT_ANSWERED');
  expect(relation.call(READ).prompt).toMatchObject({
    sensitivity: 'high',
    expires_at: relation.at + 30 * SECOND,
  });
});

test('an id that was used before, of whatever', () => {
  const { relation, prompt } = asking();
  const call: CallEvent = {
    type: 'call',
    id: prompt.id,
    at: relation.at,
    identity: caller,
    server: null,
    tool: NOTIFY.name,
    declared: NOTIFY.digest,
    locked: null,
    lock: null,
    args: COMMITMENT,
  };
  expect(relation.refusal(call)).toBe('CONSENT_REPEATED');
  relation.answer(prompt, 'deny-once');
  expect(relation.refusal(call)).toBe('CONSENT_REPEATED');
  expect(relation.refusal({ ...call, id: '' })).toBe('CONSENT_ID');
  expect(relation.refusal({ ...call, id: 'x', tool: '\udfff' })).toBe('CONSENT_ID');
  const none = { commitment: 'abc', of: 'jcs' } as const;
  expect(relation.refusal({ ...call, id: 'x', args: none })).toBe('CONSENT_ID');
  const formless = { ...COMMITMENT, of: 'text' as 'jcs' };
  expect(relation.refusal({ ...call, id: 'x', args: formless })).toBe('CONSENT_ID');
  expect(relation.refusal({ ...call, id: 'x', server: '' })).toBe('CONSENT_ID');
  expect(relation.refusal({ ...call, id: 'x', locked: 'pinned' })).toBe('CONSENT_LOCK');
  expect(relation.refusal({ ...call, id: 'x', lock: 'lock' })).toBe('CONSENT_LOCK');
  const stranger = { ...caller, user: 'os:other/1' };
  expect(relation.refusal({ ...call, id: 'x', identity: stranger })).toBe('CONSENT_STATE');
  expect(relation.refusal({ ...call, id: 'x', identity: { ...caller, agent: 'other' } })).toBe(
    'CONSENT_STATE',
  );
});

test('where the user or the agent is not known, the call is denied and leaves no row', () => {
  const relation = added();
  for (const unknown of ['user', 'agent'] as const) {
    const before = JSON.stringify(rowsOf(relation.state));
    const { decisions, changes } = relation.call(NOTIFY, { identity: { ...caller, [unknown]: null } });
    expect(decisions[0]).toMatchObject({
      stage: 'denied',
      reason: 'permission_revoked',
      detail: `${unknown}_unknown`,
    });
    expect(changes).toEqual([]);
    expect(JSON.stringify(rowsOf(relation.state))).toBe(before);
  }
});

test('an agent cannot wear a person down: beyond the limit its calls fail unasked', () => {
  const relation = added({ maxOpenPrompts: 2 });
  relation.call(READ);
  relation.call(LOCATE);
  expect(relation.call(READ).decisions[0]).toMatchObject({ stage: 'error', reason: 'too_many_prompts' });
  expect(DEFAULT_RULES.maxOpenPrompts).toBe(16);
});

test('escalating asks an approver, who is authenticated and decides about this call alone', () => {
  const relation = added({ approvers: ['boss'] });
  const { prompt } = relation.call(READ);
  const event = { type: 'escalate' as const, at: relation.at, prompt: prompt!.id, to: 'boss', why: 'large' };
  for (const wrong of [{ to: 'mallory' }, { to: USER }, { why: '' }])
    expect(relation.refusal({ ...event, ...wrong })).toBe('CONSENT_ESCALATION');
  const asked = relation.run(event).prompt!;
  expect(asked).toMatchObject({ asked: 'boss', escalation: 'large', choices: ['allow-once', 'deny-once'] });
  expect(asked.shown).not.toBe(prompt!.shown);
  expect(relation.refusal(relation.answering(asked, 'allow-once'))).toBe('CONSENT_PERSON');
  const answer = { ...relation.answering(asked, 'allow-once'), who: 'boss' };
  expect(relation.refusal({ ...answer, shown: prompt!.shown })).toBe('CONSENT_SHOWN');
  expect(relation.refusal({ ...answer, channel: host })).toBe('CONSENT_CHANNEL');
  expect(relation.refusal({ ...answer, choice: 'allow-session' })).toBe('CONSENT_CHOICE');
  expect(relation.run(answer).decisions).toMatchObject([
    { by: 'medium-allowed-once', answer: { who: 'boss', escalation: 'large' } },
  ]);
});

test('escalating a high question does not move its deadline', () => {
  const relation = added({ approvers: ['boss'] });
  const { prompt } = relation.call(LOCATE);
  const event = { type: 'escalate' as const, prompt: prompt!.id, to: 'boss', why: 'large' };
  expect(relation.run({ ...event, at: relation.at + 29 * SECOND }).prompt!.expires_at).toBe(
    prompt!.expires_at,
  );
  expect(relation.refusal({ ...event, at: relation.at + 30 * SECOND })).toBe('CONSENT_EXPIRED');
  expect(relation.refusal({ ...event, at: relation.at, prompt: 'unheard of' })).toBe('CONSENT_UNKNOWN');
});

test('granting and revoking: by the right person, over the right channel, of scopes that exist', () => {
  const relation = new Relation({ approvers: ['boss'] });
  relation.declare();
  const disclosure = relation.disclose();
  const grant = (scope: string, more: object = {}) =>
    relation.refusal({
      type: 'grant',
      at: relation.at,
      grants: [{ scope, id: `${scope}-1` }],
      disclosure,
      who: USER,
      channel: host,
      ...more,
    });
  const revoke = (who: string, ...scopes: string[]) =>
    relation.refusal({ type: 'revoke', at: relation.at, scopes, who, channel: passkey });
  expect(grant('filesystem:read', { who: 'boss' })).toBe('CONSENT_PERSON');
  expect(grant('no:scope')).toBe('CONSENT_SCOPE');
  const twice = [1, 2].map((n) => ({ scope: 'filesystem:read', id: `g${n}` }));
  expect(grant('filesystem:read', { grants: twice })).toBe('CONSENT_SCOPE');
  expect(grant('filesystem:read', { grants: [{ scope: 'filesystem:read', id: '' }] })).toBe('CONSENT_ID');
  expect(grant('location:read')).toBe('CONSENT_CHANNEL');
  expect(grant('filesystem:read')).toBe(undefined);
  expect(revoke('mallory', 'filesystem:read')).toBe('CONSENT_PERSON');
  expect(revoke(USER, 'location:read')).toBe('CONSENT_SCOPE');
  expect(revoke('boss', 'filesystem:read')).toBe(undefined);
  // What was taken back is not given again over the host, nor under the old id.
  const again = { grants: [{ scope: 'filesystem:read', id: 'filesystem:read-2' }] };
  expect(grant('filesystem:read', again)).toBe('CONSENT_CHANNEL');
  expect(grant('filesystem:read', { channel: passkey })).toBe('CONSENT_ID');
  expect(grant('filesystem:read', { ...again, channel: passkey })).toBe(undefined);
});

test('manifests only grow, and are of this agent and whole', () => {
  const relation = added();
  const declare = (next: ReturnType<typeof manifest>) =>
    relation.refusal({ type: 'manifest', at: relation.at, manifest: next, breaking: false });
  expect(declare(manifest(1))).toBe('CONSENT_MANIFEST');
  expect(declare({ ...manifest(2), agent: 'other' })).toBe('CONSENT_STATE');
  expect(declare(manifest(2, [{ ...READ, sensitivity: 'none' as 'low' }]))).toBe('CONSENT_MANIFEST');
  expect(declare(manifest(9))).toBe(undefined);
});

test('an event of no known type', () => {
  expect(added().refusal({ type: 'allow' } as unknown as ConsentEvent)).toBe('CONSENT_EVENT');
});
