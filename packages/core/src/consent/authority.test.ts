import { describe, expect, test } from 'vitest';
import {
  AGENT,
  added,
  channel,
  LOCATE,
  LOCK,
  NOTIFY,
  PINNED,
  READ,
  type Relation,
  SALT,
  START,
  USER,
} from '../../test/consent.ts';
import { alice, envelopeWith, keys, policy, policyText } from '../../test/envelope.ts';
import { type Commitment, commit } from '../canon/index.ts';
import {
  authorize,
  checkEnvelope,
  type Envelope,
  execHash,
  readMapping,
  toolCallEnvelope,
} from '../envelope/index.ts';
import { type JsonObject, parse } from '../json/index.ts';
import { type ChannelKind, consentAuthority, type Decision, mintAuthorization } from './index.ts';

const AT = '2026-09-21T14:13:20+00:00';
const SERVER = 'files';
/** Of the tool as the lock pins it; another one than the manifest's. */
const LOCKED = PINNED;
const THERE = { ...READ, bound: { server: SERVER, tool: READ.name } };
const ARGS = parse('{"path":"/etc/hosts"}') as JsonObject;
const COMMITTED = commit('args', ARGS, SALT);

function allowed(relation: Relation, kind: ChannelKind): Decision {
  return relation.answer(relation.call(READ).prompt!, 'allow-once', channel(kind)).decisions[0]!;
}

describe('the authority in a capsule', () => {
  test.each(['passkey', 'pin', 'os-user'] as const)('is human_approved after an answer over %s', (kind) => {
    const decision = allowed(added(), kind);
    expect(consentAuthority(decision)).toEqual({
      type: 'human_approved',
      approver: USER,
      step: {
        step: 'consent',
        decision: 'medium-allowed-once',
        channel: kind,
        shown: decision.shown,
        at: AT,
      },
    });
  });

  test.each(['device', 'terminal', 'host'] as const)('is only a report after an answer over %s', (kind) => {
    const { shown } = allowed(added(), kind);
    expect(consentAuthority(allowed(added(), kind))).toEqual({
      type: 'policy',
      reference: `consent:${kind}-reported`,
      step: { step: 'consent', decision: 'medium-allowed-once', channel: kind, shown, at: AT },
    });
  });

  test('is the grant where nobody was asked', () => {
    const relation = added();
    const low = relation.call(NOTIFY).decisions[0]!;
    const grants = relation.state.rows.grants;
    expect(consentAuthority(low)).toMatchObject({
      type: 'policy',
      reference: grants.get('notification:send')!.id,
      step: {
        decision: 'low-silent',
        channel: 'grant',
        shown: grants.get('notification:send')!.disclosure,
      },
    });
    const opening = relation.call(READ).prompt!;
    relation.answer(opening, 'allow-session');
    expect(consentAuthority(relation.call(READ).decisions[0]!)).toMatchObject({
      type: 'policy',
      reference: grants.get('filesystem:read')!.id,
      step: { decision: 'medium-window', channel: 'window', shown: opening.shown },
    });
  });

  test('is escalated where another was asked', () => {
    const relation = added({ approvers: ['boss'] });
    const { id } = relation.call(LOCATE).prompt!;
    const { prompt } = relation.run({
      type: 'escalate',
      at: relation.at,
      prompt: id,
      to: 'boss',
      why: 'abroad',
    });
    const step = relation.run({ ...relation.answering(prompt!, 'allow-once'), who: 'boss' });
    expect(consentAuthority(step.decisions[0]!)).toMatchObject({
      type: 'escalated',
      approver: 'boss',
      reason: 'abroad',
    });
  });

  test('has no approver where it was denied, whoever denied it', () => {
    const relation = added();
    const rejected = relation.answer(relation.call(LOCATE).prompt!, 'never').decisions[0]!;
    expect(consentAuthority(rejected)).toMatchObject({
      type: 'policy',
      reference: 'consent:user_rejected',
      step: { decision: 'user_rejected', channel: 'passkey', shown: rejected.shown },
    });
    expect(consentAuthority(relation.call(LOCATE).decisions[0]!)).toMatchObject({
      reference: 'consent:permission_revoked',
      step: { decision: 'permission_revoked', channel: 'none', shown: null },
    });
  });
});

describe('an authorization that a decision mints', () => {
  const now = START / 1000;
  const toolCall = (nonce = 1, more: { locked?: string; server?: string } = {}): Envelope =>
    toolCallEnvelope({
      ...{ lock: LOCK, server: SERVER, name: READ.name, locked: LOCKED, args: COMMITTED },
      ...more,
      ttl: now + 600,
      nonce,
      replay_scope: 'caller',
      intent_id: 'i',
      execution_id: 'e',
      tenant_id: 'acme',
      actor: { caller: AGENT, role: null },
      policy,
      metadata: { created_at: now },
    });
  const options = {
    iss: 'gateway.example',
    aud: 'ledger.example',
    binding: { lock: LOCK, args: ARGS, salt: SALT },
  };

  function answered(relation: Relation, kind: ChannelKind, committed: Commitment): Decision {
    relation.bind([READ.name, THERE.bound]);
    const { prompt } = relation.call(THERE, { args: committed, locked: LOCKED, lock: LOCK });
    return relation.answer(prompt!, 'allow-once', channel(kind)).decisions[0]!;
  }

  function started(
    envelope: Envelope,
    kind: ChannelKind = 'passkey',
    committed: Commitment = COMMITTED,
  ): Decision {
    const relation = added();
    const { id } = answered(relation, kind, committed);
    const start = {
      type: 'start' as const,
      at: relation.at,
      id,
      declared: READ.digest,
      locked: LOCKED,
      args: committed,
      exec_hash: execHash(envelope),
    };
    return relation.run(start).decisions[0]!;
  }

  test('approves the one call, and the verifier permits it without another question', async () => {
    const envelope = toolCall();
    const decision = started(envelope);
    const { claims, approval } = mintAuthorization(decision, envelope, options);
    expect(claims).toEqual({
      iss: 'gateway.example',
      sub: AGENT,
      aud: 'ledger.example',
      tenant_id: 'acme',
      exec_hash: execHash(envelope),
      nbf: now,
      exp: now + 300,
      jti: decision.id,
    });
    const link = { ...consentAuthority(decision).step, approver: USER, policy_reference: null };
    expect(approval).toEqual({ when: now, how: 'human', chain: [link] });
    const verdict = checkEnvelope({
      envelope,
      authorization: await authorize(claims, [{ signer: alice, ...approval }]),
      keys,
      audience: 'ledger.example',
      tenantId: 'acme',
      now,
      replay: 'fresh',
      policy: policyText,
    });
    // The gateway's key vouches for the person's answer; who approved is whoever holds that key.
    const approvals = verdict.permit?.authorization.approvals;
    expect([verdict.code, approvals?.map(({ person, how }) => [person, how])]).toEqual([
      null,
      [['alice', 'human']],
    ]);
  });

  test('is minted before the call begins, and has the id of the decision whatever the envelope', () => {
    const decision = answered(added(), 'passkey', COMMITTED);
    expect([decision.stage, decision.exec_hash]).toEqual(['allowed', null]);
    const minted = [toolCall(1), toolCall(2)].map((envelope) =>
      mintAuthorization(decision, envelope, options),
    );
    expect(minted.map(({ claims }) => claims.exec_hash)).toEqual([
      execHash(toolCall(1)),
      execHash(toolCall(2)),
    ]);
    expect(minted.map(({ claims }) => claims.jti)).toEqual([decision.id, decision.id]);
  });

  test('says how it was approved', () => {
    const envelope = toolCall();
    const { how, chain } = mintAuthorization(started(envelope, 'host'), envelope, options).approval;
    expect([how, chain]).toMatchObject([
      'policy',
      [{ approver: null, policy_reference: 'consent:host-reported' }],
    ]);
  });

  test('is minted for no other envelope, no other call, and nothing that is not allowed', () => {
    const envelope = toolCall();
    const decision = started(envelope);
    const refused = (code: string) => expect.objectContaining({ code });
    const mint = (of: Decision, which = envelope, more: Partial<typeof options> = {}) => {
      return () => mintAuthorization(of, which, { ...options, ...more });
    };
    expect(mint(decision, toolCall(2))).toThrow(refused('CONSENT_MINT'));
    const { binding } = options;
    expect(mint(decision, envelope, { binding: { ...binding, lock: `sha256:${'00'.repeat(32)}` } })).toThrow(
      refused('CONSENT_MINT'),
    );
    const others = parse('{"path":"/etc/shadow"}') as JsonObject;
    const committed = commit('args', others, SALT);
    expect(mint(decision, envelope, { binding: { ...binding, args: others } })).toThrow(
      refused('CONSENT_MINT'),
    );
    // A commitment to the same arguments under another form or salt is not the one that was decided on.
    expect(mint({ ...decision, args: { ...COMMITTED, of: 'exact' } })).toThrow(refused('CONSENT_MINT'));
    expect(
      mint(started(envelope, 'passkey', committed), envelope, { binding: { ...binding, args: others } }),
    ).toThrow(refused('EE_TOOL_CALL'));
    const pinned = { server: SERVER, locked: LOCKED, lock: LOCK, args: COMMITTED };
    expect(mint({ ...decision, exec_hash: null })).toThrow(refused('CONSENT_MINT'));
    expect(mint({ ...decision, agent: 'other' })).toThrow(refused('CONSENT_MINT'));
    expect(mint({ ...decision, stage: 'ok' })).toThrow(refused('CONSENT_MINT'));
    expect(mint({ ...decision, start_before: decision.decided_at })).toThrow(refused('CONSENT_MINT'));
    const relation = added();
    const denied = relation.answer(relation.call(LOCATE).prompt!, 'deny-once').decisions[0]!;
    expect(mint({ ...denied, ...pinned })).toThrow(refused('CONSENT_MINT'));
  });

  test('binds the tool as the lock pins it, on its server, and not as the manifest declares it', () => {
    const mint = (envelope: Envelope, change: Partial<Decision> = {}) =>
      mintAuthorization({ ...started(envelope), ...change }, envelope, options);
    expect(mint(toolCall()).claims.exec_hash).toBe(execHash(toolCall()));
    const refused = (code: string, path?: string) =>
      expect.objectContaining({ code, ...(path !== undefined && { path }) });
    expect(() => mint(toolCall(1, { locked: READ.digest }))).toThrow(
      refused('EE_TOOL_CALL', '/rail/contract'),
    );
    expect(() => mint(toolCall(1, { server: 'other' }))).toThrow(refused('EE_TOOL_CALL', '/target/asset'));
    for (const change of [{ locked: null }, { server: null }])
      expect(() => mint(toolCall(), change)).toThrow(refused('CONSENT_MINT'));
  });

  test('binds an action whose fields are arguments of the tool', () => {
    const envelope = envelopeWith({ actor: { caller: AGENT } });
    const mapping = readMapping(parse('{"bind":{"/to":"/target/to","/amount":"/target/amount"}}'));
    const mint = (args: JsonObject, committed = args) => {
      const decision = started(envelope, 'passkey', commit('args', committed, SALT));
      return mintAuthorization(decision, envelope, { ...options, binding: { mapping, args, salt: SALT } });
    };
    const args = (to: string) => parse(`{"to":"${to}","amount":1000000}`) as JsonObject;
    const right = args('0x2222222222222222222222222222222222222222');
    expect(mint(right).claims.exec_hash).toBe(execHash(envelope));
    expect(() => mint(right, args('mallory'))).toThrow(expect.objectContaining({ code: 'CONSENT_MINT' }));
    expect(() => mint(args('mallory'))).toThrow(expect.objectContaining({ code: 'EE_ARGS_MISMATCH' }));
  });
});
