import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { disclosureDigest, identityOf } from '@bulla/core/consent';
import { readEvidence } from '@bulla/core/evidence';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { open, storeSource, verifyChain } from '../index.ts';

test('a program opens a folder, records what it does, and finds it verified later', async () => {
  const home = join(temporaryFolder(), 'data');
  const options = { agentId: 'release-bot', sessionId: 's1', operator: 'op.example', recordPayloads: true };
  {
    await using bulla = await open(home, options);
    const call = { request: 'scale web', tool: 'scale', arguments: { replicas: 6 } };
    expect(await bulla.audit.record(call, () => 6)).toBe(6);
    expect([bulla.audit.lost, await bulla.chain.checkpoints()]).toEqual([0, []]);
  }
  await using bulla = await open(home, options);
  // Closing made a checkpoint of what was recorded.
  expect(await bulla.chain.checkpoints()).toMatchObject([{ origin: 'op.example/-/default', size: 2 }]);
  const keys = bulla.keys.current().epochs.map(({ publicKey }) => publicKey);
  const { ok, count } = await verifyChain(await storeSource(bulla.chain), { keys });
  expect([ok, count]).toEqual([true, 2]);
  const [intent] = await Array.fromAsync(bulla.chain.records());
  const capsule = JSON.parse(intent!.data);
  expect(capsule.context).toMatchObject({ agent_id: 'release-bot', session_id: 's1' });
  const { commitment } = readEvidence(capsule)!.args as { commitment: string };
  expect((await bulla.store.opening(commitment))!.payload).toBe('{"replicas":6}');
});

test('a store with records whose keyring is gone is not opened under another one', async () => {
  const home = join(temporaryFolder(), 'data');
  const options = { agentId: 'bot' };
  {
    await using bulla = await open(home, options);
    await bulla.audit.record({ request: 'x' }, () => undefined);
  }
  rmSync(join(home, 'keys'), { recursive: true });
  await expect(open(home, options)).rejects.toMatchObject({ code: 'KEYRING_MISSING' });
});

test('one handle serves manifests, consent and the record of an allowed call', async () => {
  await using bulla = await open(join(temporaryFolder(), 'data'), { agentId: 'desk' });
  const manifest = JSON.stringify({
    schema_version: '1.0',
    agent_version: '1.0.0',
    tools: [
      {
        name: 'read_note',
        description_i18n_key: 'tools.read_note',
        input_schema: {
          type: 'object',
          properties: { id: { type: 'string' } },
          additionalProperties: false,
        },
        permission_scope: 'notes:read',
      },
    ],
    permission_scopes: [{ id: 'notes:read', label_i18n_key: 'scopes.read', sensitivity: 'low' }],
    capability_flags: {
      ...{ supports_streaming: false, supports_artifacts: false },
      ...{ supports_voice: false, supports_group_chat: false },
    },
  });
  const { consent, manifests, record } = bulla;
  await manifests.push('desk', manifest, { by: 'operator', record });
  const identity = identityOf({
    ...{ transport: 'console', agent: 'desk', account: 'alice', credential: 'phone', login: 'l' },
  });
  const call = { identity, tool: 'read_note', args: { id: 'n1' } };
  expect(await consent.run(call, () => 'text')).toMatchObject({
    status: 'denied',
    reason: 'permission_revoked',
  });
  const disclosure = (await consent.disclosure('desk'))!;
  const said = { who: identity.user!, channel: { kind: 'passkey', device: 'd', session: null } } as const;
  await consent.disclose(said.who, disclosure, said);
  const pair = { user: said.who, agent: 'desk' };
  await consent.grant(pair, ['notes:read'], { ...said, disclosure: disclosureDigest(disclosure) });
  expect(await consent.run(call, () => 'text')).toMatchObject({ status: 'ok', result: 'text' });
  const rows = await Array.fromAsync(bulla.chain.records());
  expect(
    rows.map(({ data }) => JSON.parse(data)).map(({ type, outcome }) => `${type} ${outcome.status}`),
  ).toEqual(['auth success', 'tool blocked', 'auth success', 'auth success', 'tool pending', 'tool success']);
});

test('what a program gets wrong is refused with a code', async () => {
  await expect(open(undefined, undefined as never)).rejects.toMatchObject({ code: 'USAGE' });
  await using bulla = await open(join(temporaryFolder(), 'data'), { agentId: 'a' });
  const noting = bulla.audit.record({ request: 'x' }, (step) => step.note({ side_effects: ['y'] } as never));
  await expect(noting).rejects.toMatchObject({ code: 'USAGE', path: '/side_effects' });
  const [, outcome] = await Array.fromAsync(bulla.chain.records());
  expect(JSON.parse(outcome!.data).outcome).toMatchObject({ status: 'failure', error: 'action: USAGE' });
  // Before anything is recorded.
  const { record } = bulla.audit;
  const misspelt = { request: 'x', tool: 't', args: {} } as never;
  await expect(record(misspelt, () => 1)).rejects.toMatchObject({ code: 'USAGE', path: '/args' });
  await expect(record({} as never, () => 1)).rejects.toMatchObject({ code: 'USAGE' });
  await expect(record({ request: 'x' }, undefined as never)).rejects.toMatchObject({ code: 'USAGE' });
  expect((await bulla.chain.head()).length).toBe(2);
});
