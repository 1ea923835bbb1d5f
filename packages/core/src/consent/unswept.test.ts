import { expect, test } from 'vitest';
import {
  added,
  COMMITMENT,
  caller,
  host,
  manifest,
  NOTIFY,
  OTHER,
  passkey,
  READ,
  type Relation,
  tool,
  USER,
} from '../../test/consent.ts';
import { applyChanges, decide, rowsOf, stateOf } from './index.ts';

// A store may write a new manifest once and sweep the people of the agent later. Until then nothing old holds.

/** Writes the manifest's row alone. */
function declareOnly(relation: Relation, next: ReturnType<typeof manifest>, breaking: boolean): void {
  const { changes } = decide(relation.state, { type: 'manifest', at: relation.at, manifest: next, breaking });
  relation.state = applyChanges(relation.state, changes.slice(0, 1));
}

test('what was allowed before a breaking change does not start after it', () => {
  const relation = added();
  const allowed = relation.call(NOTIFY).decisions[0]!;
  declareOnly(relation, manifest(2), true);
  expect(relation.start(allowed).refusal?.code).toBe('CONSENT_NOT_GRANTED');
  expect(relation.sweep().decisions).toMatchObject([
    { id: allowed.id, stage: 'denied', detail: 'suspended' },
  ]);
});

test('nor what was allowed of a tool that is another one now', () => {
  const relation = added();
  const allowed = relation.call(NOTIFY).decisions[0]!;
  declareOnly(relation, manifest(2, [tool('notify', 'notification:send', 'low', 2)]), false);
  expect(relation.start(allowed).refusal?.code).toBe('CONSENT_CHANGED');
});

test('a question and a call under an old grant do not come back to life with a new one', () => {
  const relation = added();
  const allowed = relation.call(NOTIFY).decisions[0]!;
  const { prompt } = relation.call(READ);
  declareOnly(relation, manifest(2), true);
  relation.grant();
  expect(relation.refusal(relation.answering(prompt!, 'allow-once'))).toBe('CONSENT_NOT_GRANTED');
  expect(relation.start(allowed).refusal?.code).toBe('CONSENT_NOT_GRANTED');
});

test('a window under an old grant does not either, even if its row was left', () => {
  const relation = added();
  relation.answer(relation.call(READ).prompt!, 'allow-session');
  const rows = rowsOf(relation.state);
  const grants = rows.grants.map((grant) => ({ ...grant, id: `${grant.id}-again` }));
  relation.state = stateOf({ ...rows, grants });
  expect(relation.call(READ).prompt).not.toBe(null);
});

test('a question that was altered in the store is not the one that was shown', () => {
  const relation = added();
  const { prompt } = relation.call(READ);
  const rows = rowsOf(relation.state);
  const prompts = rows.prompts.map((row) => ({ ...row, args: OTHER }));
  relation.state = stateOf({ ...rows, prompts });
  expect(relation.refusal(relation.answering(prompt!, 'allow-once'))).toBe('CONSENT_SHOWN');
});

test('Never stays Never when everything is revoked', () => {
  const relation = added();
  relation.answer(relation.call(READ).prompt!, 'never');
  relation.run({ type: 'revoke', at: relation.at, scopes: 'all', who: USER, channel: passkey });
  expect(
    Object.fromEntries([...relation.state.rows.grants].map(([scope, { status }]) => [scope, status])),
  ).toEqual({
    'notification:send': 'revoked',
    'filesystem:read': 'refused',
    'location:read': 'revoked',
  });
});

test('a request for what was revoked is not granted over the host', () => {
  const relation = added();
  relation.revoke('filesystem:read');
  const [id, at] = [relation.id(), relation.at];
  const { prompt } = relation.run({ type: 'request', id, at, identity: caller, scope: 'filesystem:read' });
  const grant = { ...relation.answering(prompt!, 'grant', host), disclosure: relation.disclose() };
  expect(relation.refusal(grant)).toBe('CONSENT_CHANNEL');
  expect(relation.refusal({ ...grant, choice: 'deny-once' })).toBe(undefined);
});

test('a grant answers the open request for it', () => {
  const relation = added();
  relation.revoke('filesystem:read');
  const [id, at] = [relation.id(), relation.at];
  relation.run({ type: 'request', id, at, identity: caller, scope: 'filesystem:read' });
  const step = relation.grant(['filesystem:read']);
  expect(step.decisions).toMatchObject([{ id, kind: 'grant', stage: 'ok', answer: null }]);
  expect(relation.state.rows.prompts.size).toBe(0);
});

test('a request falls with the manifest that it was shown under', () => {
  const relation = added();
  relation.revoke('filesystem:read');
  const [id, at] = [relation.id(), relation.at];
  const { prompt } = relation.run({ type: 'request', id, at, identity: caller, scope: 'filesystem:read' });
  declareOnly(relation, manifest(2), false);
  const answer = { ...relation.answering(prompt!, 'grant'), disclosure: relation.disclose() };
  expect(relation.refusal(answer)).toBe('CONSENT_CHANGED');
  expect(relation.sweep().decisions).toMatchObject([{ id, stage: 'error', reason: 'manifest_changed' }]);
});

test('a call with no manifest at all is an error', () => {
  const relation = added();
  relation.state = stateOf({ ...rowsOf(relation.state), manifests: [] });
  expect(relation.call(NOTIFY, { args: COMMITMENT }).decisions).toMatchObject([
    { stage: 'error', reason: 'tool_unknown' },
  ]);
});
