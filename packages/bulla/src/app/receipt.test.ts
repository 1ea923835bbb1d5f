import { userInfo } from 'node:os';
import { join } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { expect, onTestFinished, test, vi } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { sealer } from '../../test/store-suite.ts';
import { createRecorder } from '../record/index.ts';
import { openStore } from '../store/index.ts';
import { changeKill, withReceipt } from './index.ts';

/** A recorder whose key can be taken away. */
async function opened() {
  const key = { gone: false };
  const url = join(temporaryFolder(), 'store.db');
  const store = await openStore({
    url,
    create: true,
    operator: 'op.example',
    onCheckpointError: () => undefined,
    sealer: () => {
      if (key.gone) throw new BullaError('STORE_NO_KEY', 'No key.');
      return sealer();
    },
  });
  onTestFinished(() => store.close());
  const chain = store.chain('c');
  const capsules = async () => {
    const rows = await Array.fromAsync(chain.records());
    return rows.map(({ data }) => JSON.parse(data));
  };
  return { key, store, chain, record: createRecorder(chain), capsules };
}

test('a decision is sealed before and after it, with what it rests on', async () => {
  const { record, capsules } = await opened();
  const { value, hash } = await withReceipt(record, 'bulla check', async (onFacts) => {
    expect((await capsules()).length).toBe(1);
    onFacts({ lock: 'sha256:1', drift: { total: 2 } });
    onFacts({ policy: { name: 'strict', digest: 'sha256:2', passed: false } });
    return { value: 7, failure: { stage: 'action', code: 'BAD' }, metrics: { exit: 1 } };
  });
  const [intent, outcome] = await capsules();
  expect([value, hash]).toEqual([7, outcome.hash]);
  for (const capsule of [intent, outcome])
    expect(capsule).toMatchObject({
      ...{ type: 'auth', domain: 'admin', context: { agent_id: 'bulla', session_id: null } },
      trigger: { type: 'user_request', source: userInfo().username, request: 'bulla check' },
    });
  expect([intent.outcome.status, intent.parent_id, outcome.parent_id]).toEqual(['pending', null, intent.id]);
  const { instance } = record.chain;
  expect(intent.context.environment).toEqual({ bulla: { v: 1, instance, origin: 'op.example/-/c' } });
  expect(outcome.outcome).toMatchObject({ status: 'failure', error: 'action: BAD', metrics: { exit: 1 } });
  expect(outcome.context.environment).toEqual({
    bulla: {
      intent: intent.id,
      v: 1,
      instance,
      lock: 'sha256:1',
      policy: { id: 'strict', hash: 'sha256:2' },
      facts: { drift: { total: 2 }, policy: { passed: false } },
    },
  });
});

test('what it throws passes through, and is sealed by its code alone', async () => {
  const { record, capsules } = await opened();
  const thrown = new BullaError('MCP_TIMEOUT', 'sk-123');
  await expect(withReceipt(record, 'bulla lock', () => Promise.reject(thrown))).rejects.toBe(thrown);
  const [, outcome] = await capsules();
  expect(outcome.outcome).toMatchObject({ status: 'failure', error: 'action: MCP_TIMEOUT' });
});

test('what cannot be recorded is not done; a lost outcome carries how it ended', async () => {
  const { key, record } = await opened();
  const losing = <T>(end: () => T) =>
    withReceipt(record, 'bulla lock', async () => {
      key.gone = true;
      return { value: end(), failure: null };
    });
  const code = 'RECORD_OUTCOME_LOST';
  await expect(losing(() => 7)).rejects.toMatchObject({ code, result: { value: 7 } });
  const decide = vi.fn();
  await expect(withReceipt(record, 'bulla lock', decide)).rejects.toMatchObject({ code: 'STORE_NO_KEY' });
  expect(decide).not.toHaveBeenCalled();
  key.gone = false;
  const thrown = new Error('own');
  const failing = losing(() => {
    throw thrown;
  });
  await expect(failing).rejects.toMatchObject({ code, result: { thrown } });
});

test('a kill switch and its record become true together', async () => {
  const { key, store, record, capsules } = await opened();
  const at = { store, record };
  const change = { agentId: 'bot', reason: 'it ran away' };
  key.gone = true;
  await expect(changeKill(at, change)).rejects.toMatchObject({ code: 'STORE_NO_KEY' });
  expect(await store.kills()).toEqual([]);
  key.gone = false;
  const { capsule, isKnown } = await changeKill(at, change);
  await changeKill(at, { ...change, reason: 'it was mended', lift: true });
  const [set, lifted] = await capsules();
  expect([capsule.hash, isKnown]).toEqual([set.hash, false]);
  expect(set).toMatchObject({
    ...{ type: 'kill', domain: 'admin', context: { agent_id: 'bot' } },
    trigger: { type: 'user_request', request: 'Kill switch for agent bot' },
    outcome: { status: 'blocked', summary: 'Kill switch for agent bot: it ran away', error: null },
  });
  expect(lifted.outcome).toMatchObject({
    status: 'success',
    summary: 'Kill switch lifted for agent bot: it was mended',
  });
  expect(await store.kills()).toEqual([]);
});
