import { expect, test } from 'vitest';
import {
  ARGS,
  added,
  COMMITMENT,
  caller,
  FLAGS,
  HOUR,
  LOCK,
  manifest,
  NOTIFY,
  OTHER,
  PINNED,
  passkey,
  READ,
  Relation,
  SALT,
  SCOPES,
  tool,
  USER,
} from '../../test/consent.ts';
import { commit } from '../canon/index.ts';
import { covered, disclose, ENGLISH, type Prompt, showing } from './index.ts';

const call = { args: ARGS, salt: SALT };

test('a person sees the tool, the scope, the level, the exact arguments, the choices and the end of the time', () => {
  const relation = added();
  const args = { path: '/tmp/a\u200b', all: true };
  const committed = commit('args', args, SALT);
  const raises = [{ to: 'high', why: 'annotations' } as const, { to: 'low', why: 'risk' } as const];
  const prompt = relation.call(READ, { args: committed, raises }).prompt!;
  const covers = covered(relation.state, prompt.scope, null).map((name) => ({ name }));
  expect(
    showing(
      prompt,
      { args, salt: SALT },
      { covers, tool: { name: READ.name, description_i18n_key: 'agent.read\u202e' } },
    ),
  ).toEqual({
    prompt: prompt.id,
    digest: prompt.shown,
    user: USER,
    agent: 'desk',
    tool: 'read_file',
    server: null,
    server_tool: null,
    declared: READ.digest,
    locked: null,
    description: 'agent.read⟨U+202E⟩',
    scope: 'filesystem:read',
    scope_label: 'Read local files',
    sensitivity: 'high',
    raised: ['annotations'],
    escalation: null,
    arguments: '{"all":true,"path":"/tmp/a⟨U+200B⟩"}',
    hidden: [expect.objectContaining({ offset: 26, length: 1 })],
    args: committed,
    previous: null,
    changed: null,
    redefined: [],
    choices: ['allow-once', 'deny-once', 'never'],
    session_covers: [],
    opened_at: relation.at,
    expires_at: relation.at + 30_000,
  });
});

test('and what an answer for the session would cover', () => {
  const relation = added();
  const prompt = relation.call(READ).prompt!;
  const covers = covered(relation.state, prompt.scope, null).map((name) => ({
    name,
    description_i18n_key: `tools.${name}`,
  }));
  const words = { ...ENGLISH, catalogue: { 'tools.read_file': 'Reads a file\u202e' } };
  expect(showing(prompt, call, { covers, words }).session_covers).toEqual([
    { name: 'read_file', description: 'Reads a file⟨U+202E⟩' },
    { name: 'list_files', description: 'tools.list_files' },
  ]);
});

test('only the arguments that were committed to can be shown', () => {
  const relation = added();
  const prompt = relation.call(READ).prompt!;
  const refused = expect.objectContaining({ code: 'CONSENT_SHOWING' });
  expect(() => showing(prompt, { args: { path: '/tmp/b' }, salt: SALT })).toThrow(refused);
  expect(() => showing(prompt, { args: ARGS, salt: new Uint8Array(32) })).toThrow(refused);
  expect(() => showing(prompt, call, { previous: call })).toThrow(refused);
});

test('what changed since the last approval, in the arguments and in the definition', () => {
  const relation = added();
  relation.answer(relation.call(READ).prompt!, 'allow-once');
  relation.at += HOUR;
  const args = { path: '/tmp/b' };
  const salt = new Uint8Array(32).fill(8);
  const anew = tool('read_file', 'filesystem:read', 'medium', 2);
  relation.declare(manifest(2, [NOTIFY, anew]));
  const prompt = relation.call(anew, { args: commit('args', args, salt) }).prompt!;
  const shown = showing(prompt, { args, salt }, { previous: call });
  expect(shown.previous).toMatchObject({ args: COMMITMENT, at: relation.at - HOUR });
  expect(shown.redefined).toEqual(['declared']);
  expect(shown.changed).toEqual([
    { kind: 'same', text: '{"path":"/tmp/' },
    { kind: 'removed', text: 'a' },
    { kind: 'added', text: 'b' },
    { kind: 'same', text: '"}' },
  ]);
  // The arguments of the last approval may have been erased.
  expect(showing(prompt, { args, salt }).changed).toBe(null);
  expect(() => showing(prompt, { args, salt }, { previous: { args, salt } })).toThrow(
    expect.objectContaining({ code: 'CONSENT_SHOWING' }),
  );
});

test('everything that is shown is in the digest', () => {
  const relation = added({ approvers: ['boss'] });
  const prompt = relation.call(READ).prompt!;
  const digests = new Set([prompt.shown]);
  const others: Prompt[] = [
    relation.call(READ).prompt!,
    relation.call(READ, { args: OTHER }).prompt!,
    relation.call(READ, { args: { ...COMMITMENT, of: 'exact' } }).prompt!,
    relation.call(READ, { locked: PINNED, lock: LOCK }).prompt!,
    relation.call(READ, { locked: PINNED, lock: `${LOCK}0` }).prompt!,
    relation.call(READ, { locked: `${PINNED}0`, lock: LOCK }).prompt!,
    relation.call(READ, { raises: [{ to: 'high', why: 'risk' }] }).prompt!,
    relation.call(READ, { identity: { ...caller, session: null } }).prompt!,
    relation.run({ type: 'escalate', at: relation.at, prompt: prompt.id, to: 'boss', why: 'x' }).prompt!,
  ];
  for (const { shown } of others) digests.add(shown);
  expect(digests.size).toBe(1 + others.length);
});

test('a question about a grant is no showing of a call', () => {
  const relation = new Relation();
  relation.declare();
  const id = relation.id();
  const { prompt } = relation.run({
    type: 'request',
    id,
    at: relation.at,
    identity: caller,
    scope: SCOPES[0]!.id,
  });
  expect(() => showing(prompt!, call)).toThrow(expect.objectContaining({ code: 'CONSENT_SHOWING' }));
});

test('a disclosure that leaves something out is none', () => {
  const relation = new Relation();
  relation.declare();
  const whole = disclose({ ...manifest(1), flags: FLAGS }, ENGLISH);
  const told = (disclosure: typeof whole, who = USER) =>
    relation.refusal({ type: 'disclose', at: relation.at, disclosure, who, channel: passkey });
  expect(told({ ...whole, scopes: whole.scopes.slice(1) })).toBe('CONSENT_DISCLOSURE');
  const without = whole.scopes.map((scope) => ({ ...scope, tools: scope.tools.slice(1) }));
  expect(told({ ...whole, scopes: without })).toBe('CONSENT_DISCLOSURE');
  const softer = whole.scopes.map((scope) => ({ ...scope, sensitivity: 'low' as const }));
  expect(told({ ...whole, scopes: softer })).toBe('CONSENT_DISCLOSURE');
  expect(told({ ...whole, manifest: 'another' })).toBe('CONSENT_DISCLOSURE');
  expect(told({ ...whole, locale: '\ud800' })).toBe('CONSENT_DISCLOSURE');
  expect(told(whole, 'mallory')).toBe('CONSENT_PERSON');
  expect(told(whole)).toBe(undefined);
});
