import { rmSync } from 'node:fs';
import { join } from 'node:path';
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
