import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import {
  bundledGuard,
  guardTarget,
  type Place,
  preparePlace,
  runGuard,
  shakeHands,
} from '../../test/guard-process.ts';
import { expectGone, script } from '../../test/mcp.ts';
import { temporaryFolder } from '../../test/run.ts';
import { storeSource, verifyChain } from '../chain/index.ts';
import { loadKeyring } from '../keys/index.ts';
import { openStore } from '../store/index.ts';

const cli = bundledGuard();

interface Capsule {
  readonly id: string;
  readonly type: string;
  readonly parent_id: string | null;
  readonly outcome: { readonly status: string; readonly error: string | null };
}

async function capsulesOf({
  store: url,
  keys: folder,
}: Place): Promise<{ capsules: Capsule[]; anchored: number }> {
  const keys = loadKeyring(folder).epochs.map(({ publicKey }) => publicKey);
  const store = await openStore({ url });
  try {
    const chain = store.chain('default');
    const report = await verifyChain(await storeSource(chain), { keys, threads: 0 });
    expect(report.failures).toEqual([]);
    const rows = await Array.fromAsync(chain.records());
    const [checkpoint] = await chain.checkpoints(1);
    return { capsules: rows.map(({ data }) => JSON.parse(data) as Capsule), anchored: checkpoint?.size ?? 0 };
  } finally {
    await store.close();
  }
}

test('kill -9 under load leaves a chain that verifies, with an intent for every call that reached the server', async () => {
  const received = join(temporaryFolder(), 'received');
  const server = script('rogue.mjs', received, 'ordinary');
  const place = await preparePlace(server);
  const reached = (): number =>
    existsSync(received)
      ? readFileSync(received, 'utf8')
          .split('\n')
          .filter((line) => line.includes('tools/call')).length
      : 0;
  let before = 0;
  for (let round = 0; round < 3 * inject('rounds'); round++) {
    const guard = runGuard(guardTarget(cli(), place, server, '--quiet'));
    await shakeHands(guard);
    for (let id = 0; id < 400; id++)
      guard.send({ id, method: 'tools/call', params: { name: 'echo', arguments: { id } } });
    // Somewhere in the midst of the calls.
    await guard.lines(20 + ((60 * round) % 360));
    guard.child.kill('SIGKILL');
    await guard.ended();
    const { capsules } = await capsulesOf(place);
    const intents = capsules.filter(({ type, parent_id }) => type === 'tool' && parent_id === null);
    expect(reached()).toBeGreaterThan(before);
    expect(intents.length).toBeGreaterThanOrEqual(reached());
    before = reached();
  }
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s ends it in order: everything is recorded, and nothing is left',
  async (signal) => {
    const pids = join(temporaryFolder(), 'pids');
    const server = script('hostile.mjs', pids, 'leaves-a-child');
    const place = await preparePlace(server);
    const guard = runGuard(guardTarget(cli(), place, server, '--quiet'));
    await shakeHands(guard);
    // The server knows no calls, so that it answers with an error.
    guard.send({ id: 1, method: 'tools/call', params: { name: 'one' } });
    await guard.lines(2);
    guard.child.kill(signal);
    expect(await guard.ended()).toMatchObject({ code: 0, signal: null });
    await expectGone(pids);
    const { capsules, anchored } = await capsulesOf(place);
    expect(capsules.map(({ type, outcome }) => `${type} ${outcome.status}`)).toEqual([
      'system pending',
      'tool pending',
      'tool failure',
      'system success',
    ]);
    expect(anchored).toBe(4);
  },
);

test('SIGTERM answers and records what the server has not answered', async () => {
  const received = join(temporaryFolder(), 'received');
  const place = await preparePlace(script('rogue.mjs', received, 'ordinary'));
  const server = script('rogue.mjs', received, 'never-answers');
  const guard = runGuard(guardTarget(cli(), place, server, '--quiet', '--allow-other-command'));
  await shakeHands(guard);
  guard.send({ id: 1, method: 'tools/call', params: { name: 'echo' } });
  while (!readFileSync(received, 'utf8').includes('"tools/call"')) {
    guard.send({ id: `p${performance.now()}`, method: 'ping' });
    await once(guard.child.stdout!, 'data');
  }
  guard.child.kill('SIGTERM');
  expect(await guard.ended()).toMatchObject({ code: 0, signal: null });
  const { capsules } = await capsulesOf(place);
  const outcome = capsules.filter(({ type }) => type === 'tool').at(-1)!.outcome;
  expect(outcome.status).toBe('failure');
  expect(outcome.error).toMatch(/^server: GATEWAY_(?:CLOSED|SERVER_ENDED): /);
});
