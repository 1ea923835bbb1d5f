import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { mintAuthorization } from '@bulla/core/consent';
import { localSigner, publicKey } from '@bulla/core/crypto';
import { authorize, parsePolicy, toolCallEnvelope } from '@bulla/core/envelope';
import { isCommitment, readEvidence } from '@bulla/core/evidence';
import { expect, onTestFinished, test } from 'vitest';
import {
  AGENT,
  CHAIN,
  calling,
  consentOn,
  grant,
  passkey,
  push,
  recorderOf,
  ruled,
  USER,
} from '../../test/consent.ts';
import { temporaryFolder } from '../../test/run.ts';
import { sealer } from '../../test/store-suite.ts';
import { createVerifier, publishPolicy } from '../envelope/index.ts';
import { openStore } from '../store/index.ts';

const LOCK = `sha256:${'1c'.repeat(32)}`;
const LOCKED = `sha256:${'9d'.repeat(32)}`;
const POLICY = JSON.stringify({
  policy_namespace: 'cryptocardia.policy.v1',
  policy_version: 1,
  policy_effective_at: 0,
  policy_doc: {
    format: 'bulla.policy.v1',
    policy_id: 'desk',
    actions: [{ action_type: 'TOOL_CALL', people: 1 }],
    assets: [],
    destinations: { allow: null, deny: [] },
    ceilings: [],
    velocity: [],
  },
});
const signer = localSigner('Ed25519', new Uint8Array(32).fill(3));

test('a call that a person just allowed carries an envelope that the answer authorizes, in one intent', async () => {
  const store = await openStore({ url: join(temporaryFolder(), 'store.db'), create: true, sealer });
  onTestFinished(() => store.close());
  const record = recorderOf(store);
  const bindings = JSON.stringify({ read_file: { server: 'files', tool: 'read' } });
  await push(store, undefined, undefined, bindings);
  await publishPolicy(store, POLICY, { record, by: 'operator' });
  const consent = consentOn(store);
  await grant(consent);
  const key = publicKey('Ed25519', signer.publicKey);
  const keys = [{ key, person: 'gateway' }];
  const verifier = createVerifier({ store, record, audience: 'desk.example', tenantId: 'acme', keys });

  const asked = ruled(store, {
    ...calling('read_file'),
    tool: 'read',
    server: 'files',
    locked: LOCKED,
    lock: LOCK,
  });
  const ruling = await consent.rule(asked);
  const { prompt, ask } = 'ask' in ruling ? ruling : expect.unreachable();
  const { id, shown } = prompt;
  await consent.answer({ prompt: id, shown, choice: 'allow-once', who: USER, channel: passkey });
  const settled = await ask;
  const { pass, decision } = 'pass' in settled ? settled : expect.unreachable();
  expect([decision.stage, decision.exec_hash]).toEqual(['allowed', null]);

  const { call, args } = asked;
  const { committed, opening } = call.args;
  if (!isCommitment(committed)) throw new Error('no commitment');
  const minted = async (nonce: number, iss = 'gateway.example') => {
    const now = Math.floor(Date.now() / 1000);
    const envelope = toolCallEnvelope({
      ...{ lock: LOCK, server: 'files', name: 'read', locked: LOCKED, args: committed },
      ...{ ttl: now + 300, nonce, replay_scope: 'caller' },
      ...{ intent_id: randomUUID(), execution_id: randomUUID(), tenant_id: 'acme' },
      actor: { caller: AGENT, role: null },
      policy: parsePolicy(POLICY),
      metadata: { created_at: now },
    });
    const { claims, approval } = mintAuthorization(decision, envelope, {
      iss,
      aud: 'desk.example',
      binding: { lock: LOCK, args, salt: opening!.salt },
    });
    return [envelope, await authorize(claims, [{ signer, ...approval }])] as const;
  };
  const [second, first] = [await minted(2), await minted(1)];
  const done = await verifier.verifyAndConsume(...first, () => 'read', { ...call, parts: [pass] });
  expect(done).toMatchObject({ status: 'success', result: 'read', verdict: { ok: true } });

  const { exec_hash } = done.verdict;
  expect(await consent.decision(id)).toMatchObject({ stage: 'ok', by: 'medium-allowed-once', exec_hash });
  const [, intent] = (await Array.fromAsync(store.chain(CHAIN).records())).slice(-3);
  expect(readEvidence(JSON.parse(intent!.data))).toMatchObject({
    consent: { id },
    envelope: { exec_hash, audience: 'desk.example' },
  });
  // The answer was for one call: the ledger takes no other envelope for it, also where consent is not asked.
  for (const other of [second, await minted(3, 'other.example')])
    expect(await verifier.verifyAndConsume(...other, () => expect.unreachable(), call)).toMatchObject({
      status: 'blocked',
      verdict: { code: 'EE_AO_USED', path: '/payload/jti' },
    });
});
