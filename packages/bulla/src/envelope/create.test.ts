import {
  checkEnvelope,
  execHash,
  parseEnvelope,
  readApprovals,
  readAuthorization,
  writeEnvelope,
} from '@bulla/core/envelope';
import { expect, test } from 'vitest';
import {
  AUDIENCE,
  alice,
  bob,
  fields,
  keys,
  NOW,
  policy,
  policyText,
  rejection,
} from '../../test/envelope.ts';
import type { EnvelopeDraft } from './create.ts';
import { authorize, createEnvelope } from './index.ts';

const draft: EnvelopeDraft = {
  tenant_id: 'acme',
  action_type: 'TRANSFER',
  rail: fields.rail,
  actor: { caller: 'agent-7' },
  target: fields.target,
  policy,
};
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

test('an envelope is filled in with ids, a nonce, five minutes and the binding of its policy', () => {
  const envelope = createEnvelope(draft, { now: NOW });
  expect(envelope).toEqual(parseEnvelope(writeEnvelope(envelope)));
  expect(envelope).toMatchObject({
    version: 1,
    actor: { caller: 'agent-7', role: null },
    constraints: { ttl: NOW + 300, replay_scope: 'caller' },
    policy_binding: fields.policy_binding,
  });
  expect(envelope.metadata.get('created_at')).toMatchObject({ lexeme: `${NOW}` });
  for (const id of [envelope.intent_id, envelope.execution_id]) expect(id).toMatch(UUID);
  const nonces = Array.from({ length: 100 }, () => createEnvelope(draft).constraints.nonce);
  expect(new Set(nonces).size).toBe(100);
  expect(nonces.every(Number.isSafeInteger)).toBe(true);
});

test('what is given is kept, and what does not belong there is refused', () => {
  const given = { ttl: NOW + 5, nonce: 0, replay_scope: 'global' as const };
  const envelope = createEnvelope(
    { ...draft, constraints: given, intent_id: 'i', execution_id: 'e', metadata: { note: 'rent' } },
    { now: NOW },
  );
  expect([envelope.constraints, envelope.intent_id, envelope.execution_id]).toEqual([given, 'i', 'e']);
  expect(envelope.metadata.get('note')).toBe('rent');
  const rail = { ...draft.rail, speed: 'fast' };
  expect(() => createEnvelope({ ...draft, rail })).toThrow(
    expect.objectContaining({ code: 'EE_UNKNOWN_FIELD', path: '/rail/speed' }),
  );
});

test('an authorization is for exactly this envelope, from now until its time is over', async () => {
  const envelope = createEnvelope(draft, { now: NOW });
  const options = {
    iss: 'desk',
    aud: AUDIENCE,
    now: NOW,
  };
  const authorization = await authorize(envelope, options, [{ signer: alice }, { signer: bob }]);
  const claims = readAuthorization(authorization);
  expect(claims).toMatchObject({
    ...{ iss: 'desk', sub: 'agent-7', aud: AUDIENCE, tenant_id: 'acme', exec_hash: execHash(envelope) },
    ...{ nbf: NOW, exp: NOW + 301 },
  });
  expect(readApprovals(authorization)).toMatchObject([
    { when: NOW, how: 'human', chain: [] },
    { when: NOW, how: 'human', chain: [] },
  ]);
  expect(claims.jti).toMatch(UUID);
  const check = (now: number) =>
    checkEnvelope({
      ...{
        envelope,
        authorization,
        keys,
        audience: AUDIENCE,
        tenantId: 'acme',
        now,
        replay: 'fresh',
        policy: policyText,
      },
    });
  expect([check(NOW - 1).code, check(NOW).code, check(NOW + 300).code, check(NOW + 301).code]).toEqual([
    'EE_NOT_YET_VALID',
    null,
    null,
    'EE_TTL_EXPIRED',
  ]);
  const draftHash = await authorize(envelope, { ...options, profile: 'envelope-v1-nul' }, [
    { signer: alice },
  ]);
  expect(readAuthorization(draftHash).exec_hash).toBe(execHash(envelope, 'envelope-v1-nul'));
  expect(await rejection(authorize(envelope, options, []))).toEqual([
    'EE_AO_INVALID',
    '/signatures',
    'An authorization has 1 to 100 signatures.',
  ]);
});
