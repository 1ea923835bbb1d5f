import { expect, test } from 'vitest';
import {
  AGENT,
  added,
  caller,
  LIST,
  LOCATE,
  LOCK,
  manifest,
  NOTIFY,
  PINNED,
  READ,
  Relation,
  tool,
} from '../../test/consent.ts';
import { type Bound, covered, disclose, disclosureLines, ENGLISH, showing, type Tool } from './index.ts';

// Which declared tool is which tool of a server, and what rests on it.

const FILES: Bound = { server: 'files', tool: 'read_text' };
const there = (tool: Tool, bound: Bound): Tool => ({ ...tool, bound });
const lockOf = (lock: string) => ({ locked: PINNED, lock });

/** An agent whose `read_file` is a tool of a server, all granted. */
function bound(...bindings: readonly (readonly [string, Bound])[]): Relation {
  const relation = new Relation();
  relation.declare();
  relation.bind(...(bindings.length === 0 ? [['read_file', FILES] as const] : bindings));
  relation.grant();
  return relation;
}

test('a call on a server is of the tool that is bound to it', () => {
  const relation = bound();
  const { prompt } = relation.call(there(READ, FILES), lockOf(LOCK));
  expect(prompt).toMatchObject({
    tool: 'read_file',
    server: 'files',
    server_tool: 'read_text',
    declared: READ.digest,
    locked: PINNED,
    lock: LOCK,
  });
});

test('a call on a server that no tool is bound to is of no tool, and a bound tool is called nowhere else', () => {
  const relation = bound();
  const reason = (tool: Tool) => relation.call(tool).decisions[0];
  const unknown = { stage: 'error', reason: 'tool_unknown' };
  expect(reason(there(READ, { server: 'files', tool: 'read_file' }))).toMatchObject({
    ...unknown,
    tool: null,
  });
  expect(reason(there(READ, { server: 'disk', tool: 'read_text' }))).toMatchObject(unknown);
  expect(reason(READ)).toMatchObject({ ...unknown, tool: 'read_file' });
  expect(relation.call(LIST).prompt).toMatchObject({ tool: 'list_files', server: null });
});

test('the digest of the declaration need not be known to a caller, and must be right where it is', () => {
  const relation = bound();
  const event = {
    type: 'call' as const,
    at: relation.at,
    identity: caller,
    server: 'files',
    tool: 'read_text',
    ...lockOf(LOCK),
    args: { commitment: 'ab'.repeat(32), of: 'exact' as const },
  };
  expect(relation.run({ ...event, id: 'a' }).prompt).toMatchObject({ declared: READ.digest });
  expect(relation.run({ ...event, id: 'b', declared: LIST.digest }).decisions).toMatchObject([
    { reason: 'tool_changed' },
  ]);
});

test('two declared tools are never one tool of a server, and what is not declared is not bound', () => {
  const relation = added();
  const bind = (...names: string[]) => {
    const tools = new Map(names.map((name) => [name, FILES] as const));
    return relation.refusal({ type: 'bind', at: relation.at, bound: tools, bindings: 'b' });
  };
  expect(bind('read_file', 'list_files')).toBe('MANIFEST_BINDING_TWICE');
  expect(bind('unheard_of')).toBe('CONSENT_MANIFEST');
  expect(bind('read_file')).toBe(undefined);
  const nobody = new Relation();
  const none = { type: 'bind' as const, at: nobody.at, bound: new Map(), bindings: 'b' };
  expect(nobody.refusal(none)).toBe('CONSENT_MANIFEST');
});

test('a window covers the tools of one server under the lock that it began under', () => {
  const relation = bound(
    ['read_file', FILES],
    ['list_files', { server: 'files', tool: 'list' }],
    ['locate', { server: 'disk', tool: 'find' }],
  );
  const [read, list] = [there(READ, FILES), there(LIST, { server: 'files', tool: 'list' })];
  const { prompt } = relation.call(read, lockOf(LOCK));
  expect(covered(relation.state, 'filesystem:read', 'files')).toEqual(['read_file', 'list_files']);
  expect(covered(relation.state, 'filesystem:read', 'disk')).toEqual([]);
  relation.answer(prompt!, 'allow-session');
  expect(relation.call(list, lockOf(LOCK)).decisions[0]!.by).toBe('medium-window');
  // The server was locked anew: nothing says that the tool is still the one of then.
  expect(relation.call(list, lockOf(`${LOCK}0`)).prompt).not.toBe(null);
  expect(relation.call(read).prompt).not.toBe(null);
  expect(relation.call(read, lockOf(LOCK)).decisions[0]!.by).toBe('medium-window');
});

test('a window does not cover another definition of the tool that it was opened for, under the same lock', () => {
  const relation = bound();
  const read = there(READ, FILES);
  relation.answer(relation.call(read, lockOf(LOCK)).prompt!, 'allow-session');
  expect(relation.call(read, { locked: `${PINNED}0`, lock: LOCK }).prompt).toMatchObject({
    locked: `${PINNED}0`,
    previous: { locked: PINNED },
  });
  expect(relation.call(read, lockOf(LOCK)).decisions[0]!.by).toBe('medium-window');
});

test('a low tool that is bound for the first time after the grant is asked about', () => {
  const relation = added();
  const send = there(NOTIFY, { server: 'mail', tool: 'send' });
  relation.bind([NOTIFY.name, send.bound!]);
  const { prompt } = relation.call(send);
  expect(prompt).toMatchObject({ tool: 'notify', sensitivity: 'medium', raised: ['new'] });
  // What waits for an answer under the grant before hears at once that it will not get one.
  expect(relation.grant().decisions).toMatchObject([
    { id: prompt!.id, stage: 'denied', reason: 'permission_revoked' },
  ]);
  expect(relation.call(send).decisions[0]!.by).toBe('low-silent');
});

test('a low tool that comes or changes after the grant is asked about, until it is granted again', () => {
  const relation = added();
  const before = relation.state.rows.grants.get('notification:send')!.id;
  const [ping, loud] = [
    tool('ping', 'notification:send', 'low'),
    tool('notify', 'notification:send', 'low', 2),
  ];
  relation.declare(manifest(2, [NOTIFY, READ, LIST, LOCATE, ping]));
  expect(relation.call(NOTIFY).decisions[0]!.by).toBe('low-silent');
  const prompt = relation.call(ping).prompt!;
  expect(prompt).toMatchObject({
    sensitivity: 'medium',
    raised: ['new'],
    choices: ['allow-once', 'allow-session', 'deny-once', 'never'],
  });
  expect(relation.answer(prompt, 'allow-session').decisions[0]!.by).toBe('medium-session');
  expect(relation.call(ping).decisions[0]!.by).toBe('medium-window');
  relation.declare(manifest(3, [loud, READ, LIST, LOCATE, ping]));
  expect(relation.call(loud).prompt).toMatchObject({ sensitivity: 'medium', raised: ['new'] });
  relation.grant();
  expect(relation.state.rows.grants.get('notification:send')!.id).not.toBe(before);
  expect([loud, ping].map((called) => relation.call(called).decisions[0]!.by)).toEqual([
    'low-silent',
    'low-silent',
  ]);
  // Of the other scopes a grant would add nothing, and nothing is written.
  expect(relation.grant().changes).toEqual([]);
});

test('a first binding leaves grants alone, and what was asked of the tool before ends', () => {
  const relation = added();
  const open = relation.call(READ).prompt!;
  const step = relation.bind(['read_file', FILES]);
  expect(step.decisions).toMatchObject([{ id: open.id, reason: 'tool_changed' }]);
  expect(relation.call(NOTIFY).decisions[0]!.by).toBe('low-silent');
  expect(relation.call(there(READ, FILES)).prompt).not.toBe(null);
});

test('another binding, or none, lets every grant rest until it is reviewed', () => {
  for (const next of [[['read_file', { server: 'disk', tool: 'read_text' }] as const], []]) {
    const relation = bound();
    const allowed = relation.call(NOTIFY).decisions[0]!;
    expect(relation.bind(...next).decisions).toMatchObject([{ id: allowed.id, detail: 'suspended' }]);
    expect(relation.call(NOTIFY).decisions[0]!.detail).toBe('suspended');
    relation.grant();
    expect(relation.call(NOTIFY).decisions[0]!.by).toBe('low-silent');
  }
});

test('so does a manifest that comes with another binding, whatever its diff said', () => {
  const relation = bound();
  const same = manifest(2, [NOTIFY, there(READ, FILES), LIST]);
  relation.declare(same, false);
  expect(relation.call(NOTIFY).decisions[0]!.by).toBe('low-silent');
  relation.declare({ ...manifest(3, [NOTIFY, READ, LIST]) }, false);
  expect(relation.call(NOTIFY).decisions[0]!.detail).toBe('suspended');
});

test('a question shows the server, and what is another one since the last approval', () => {
  const relation = bound();
  const read = there(READ, FILES);
  relation.answer(relation.call(read, lockOf(LOCK)).prompt!, 'allow-once');
  const anew = { locked: `${PINNED}0`, lock: `${LOCK}0` };
  const prompt = relation.call(read, anew).prompt!;
  const shown = showing(prompt, { args: { path: '/tmp/a' }, salt: new Uint8Array(32).fill(7) });
  expect(shown).toMatchObject({
    tool: 'read_file',
    server: 'files',
    server_tool: 'read_text',
    declared: READ.digest,
    locked: anew.locked,
    redefined: ['locked'],
    previous: { server: 'files', declared: READ.digest, locked: PINNED },
  });
});

test('a disclosure tells which tool of which server each is, and holds for these bindings alone', () => {
  const relation = bound();
  const declared = relation.state.rows.manifests.get(AGENT)!;
  const disclosure = disclose({ ...declared, flags: {} }, ENGLISH);
  expect(disclosureLines(disclosure)).toContain('    read_file = files/read_text');
  const told = (changed: typeof disclosure) =>
    relation.refusal({
      type: 'disclose',
      at: relation.at,
      disclosure: changed,
      who: caller.user!,
      channel: { kind: 'passkey', device: null, session: null },
    });
  expect(told(disclosure)).toBe(undefined);
  expect(told({ ...disclosure, bindings: 'others' })).toBe('CONSENT_DISCLOSURE');
  const unbound = disclosure.scopes.map((scope) => ({
    ...scope,
    tools: scope.tools.map((tool) => ({ ...tool, bound: null })),
  }));
  expect(told({ ...disclosure, scopes: unbound })).toBe('CONSENT_DISCLOSURE');
});
