// `kill -9` of a guard under load, on a store that a sibling uses too.
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readEvidence } from '@bulla/core/evidence';
import { describe, expect, inject, test, vi } from 'vitest';
import {
  bundledGuard,
  guardTarget,
  preparePlace,
  type Running,
  runGuard,
  shakeHands,
} from '../../test/guard-process.ts';
import { script } from '../../test/mcp.ts';
import { hasPostgres } from '../../test/postgres.ts';
import { temporaryFolder } from '../../test/run.ts';
import { sharedPostgres } from '../../test/shared-postgres.ts';
import { storeSource, verifyChain } from '../chain/index.ts';
import { loadKeyring } from '../keys/index.ts';
import { openStore } from '../store/index.ts';

const cli = bundledGuard();

interface Capsule {
  readonly id: string;
  readonly type: string;
  readonly parent_id: string | null;
  readonly trigger: { readonly correlation_id: string | null };
  readonly outcome: { readonly status: string; readonly error: string | null };
}

const instanceOf = (capsule: Capsule) => readEvidence(capsule)!.instance;
const isMark = ({ outcome }: Capsule) => outcome.error === 'record: RECORD_ORPHANED';

/** The ids of the calls that a server was asked to execute. */
function executed(received: string): string[] {
  if (!existsSync(received)) return [];
  const lines = readFileSync(received, 'utf8').split('\n').slice(0, -1);
  const messages = lines.map((line) => JSON.parse(line));
  return messages.filter(({ method }) => method === 'tools/call').map(({ params }) => params.arguments.id);
}

/** Kills guards at random points; `at` gives the store. Every round ends with a guard that marks what is orphaned. */
async function rounds(
  at: (file: string) => string | Promise<string>,
  outcome: 'durable' | 'lazy',
  count: number,
): Promise<number> {
  const received = join(temporaryFolder(), 'received');
  const server = script('rogue.mjs', received, 'ordinary');
  const place = await preparePlace(server);
  const url = await at(place.store);
  const file = join(place.home, 'bulla.json');
  const { command, args } = server;
  const servers = { rogue: { lock: place.lock, command, args, tools: { echo: { outcome } } } };
  writeFileSync(file, JSON.stringify({ servers }));
  const where = ['--store', url, '--keys', place.keys];
  const target = { kind: 'stdio', command: process.execPath, env: [] } as const;
  const started = async (): Promise<Running> => {
    const guard = runGuard({ ...target, args: [cli(), '--config', file, ...where] });
    await shakeHands(guard);
    return guard;
  };

  /** A guard with a call that its server never answers. */
  const holding = async (id: string): Promise<Running> => {
    const log = join(temporaryFolder(), 'received');
    const silent = script('rogue.mjs', log, 'never-answers');
    const other = { ...place, store: url };
    const guard = runGuard(guardTarget(cli(), other, silent, '--quiet', '--allow-other-command'));
    await shakeHands(guard);
    guard.send({ id, method: 'tools/call', params: { name: 'echo', arguments: { id } } });
    await vi.waitFor(() => expect(executed(log)).toEqual([id]), { timeout: 20_000 });
    return guard;
  };
  const sibling = await holding('held');

  const store = await openStore({ url });
  const keys = loadKeyring(place.keys).epochs.map(({ publicKey }) => publicKey);
  const capsules = async () => {
    const chain = store.chain('default');
    expect((await verifyChain(await storeSource(chain), { keys, threads: 0 })).failures).toEqual([]);
    return (await Array.fromAsync(chain.records())).map(({ data }) => JSON.parse(data) as Capsule);
  };
  const intentsIn = (all: readonly Capsule[]) =>
    all.filter(({ type, outcome: { status } }) => type === 'tool' && status === 'pending');
  let orphans = 0;
  try {
    for (let round = 0; round < count * inject('rounds'); round++) {
      const guard = await started();
      // With this one there is an orphan wherever the other is killed.
      const doomed = round === 0 ? await holding('doomed') : null;
      for (let n = 0; n < 300; n++) {
        const id = `${round}-${n}`;
        guard.send({ id, method: 'tools/call', params: { name: 'echo', arguments: { id } } });
      }
      const answers = 5 + Math.floor(250 * Math.random());
      const answered = await guard.lines(answers);
      for (const one of [guard, doomed]) one?.child.kill('SIGKILL');
      for (const one of [guard, doomed]) await one?.ended();

      const before = await capsules();
      const intents = intentsIn(before);
      const known = new Set(intents.map(({ trigger }) => trigger.correlation_id));
      expect(executed(received).filter((id) => !known.has(id))).toEqual([]);
      const ended = (all: readonly Capsule[]) => new Set(all.map((each) => readEvidence(each)?.intent));
      const open = intents.filter(({ id }) => !ended(before).has(id));
      const [held] = open.filter(({ trigger }) => trigger.correlation_id === 'held');
      const lost = open.filter((intent) => intent !== held);
      orphans += lost.length;
      // What the host was told is recorded, unless the tool may be lazy.
      const unrecorded = new Set(lost.map(({ trigger }) => trigger.correlation_id));
      const told = answered.map((line) => JSON.parse(line).id).filter((id) => unrecorded.has(id));
      if (outcome === 'durable') expect(told).toEqual([]);
      const said = lost.map((intent) => [
        intent.trigger.correlation_id === 'doomed',
        readEvidence(intent)!.outcome,
      ]);
      expect(said).toEqual(
        said.map(([isDoomed]) => [isDoomed, outcome === 'lazy' && !isDoomed ? 'lazy' : undefined]),
      );

      // Its lease ends, and the next guards start at once.
      const dead = lost.map((intent) => instanceOf(intent)!);
      expect(dead).not.toContain(instanceOf(held!));
      for (const instance of new Set(dead))
        await store.transaction(({ run }) =>
          run('UPDATE lease SET expires_at = 1 WHERE instance = ?', instance),
        );
      const next = await Promise.all([started(), started()]);
      await vi.waitFor(async () => expect(await store.chain('default').openIntents()).toBe(1), {
        timeout: 20_000,
      });
      for (const { child } of next) child.stdin!.end();
      for (const one of next) expect((await one.ended()).code).toBe(0);

      const after = await capsules();
      const marked = after.filter(isMark).map(({ parent_id }) => parent_id);
      expect(marked.toSorted()).toEqual([...new Set(marked)].toSorted());
      expect(lost.map(({ id }) => id).filter((id) => !marked.includes(id))).toEqual([]);
      expect(marked).toHaveLength(orphans);
      expect(marked).not.toContain(held!.id);
    }
    sibling.child.kill('SIGTERM');
    expect((await sibling.ended()).code).toBe(0);
    const all = await capsules();
    const [held] = intentsIn(all).filter(({ trigger }) => trigger.correlation_id === 'held');
    const ends = all.filter((each) => readEvidence(each)?.intent === held!.id);
    expect(ends.map(({ outcome: { status }, type }) => [type, status])).toEqual([['tool', 'failure']]);
    expect(readEvidence(ends[0]!)!.late).toBeUndefined();
  } finally {
    await store.close();
    sibling.child.kill('SIGKILL');
    await (sibling.child.exitCode === null && sibling.child.signalCode === null
      ? once(sibling.child, 'close')
      : null);
  }
  return orphans;
}

describe('kill -9 under load', () => {
  test.each(['durable', 'lazy'] as const)(
    'loses no intent, and every orphan is marked once, with %s outcomes on SQLite',
    async (outcome) => {
      expect(await rounds((file) => file, outcome, 2)).toBeGreaterThan(0);
    },
    600_000,
  );

  test.skipIf(!hasPostgres)(
    'loses no intent, and every orphan is marked once, on PostgreSQL',
    async () => {
      const database = async () => (await sharedPostgres()).database('crash');
      expect(await rounds(database, 'durable', 1)).toBeGreaterThan(0);
    },
    600_000,
  );
});
