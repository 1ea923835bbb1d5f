import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Decision } from '@bulla/core/consent';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import {
  AGENT,
  CHAIN,
  consentOn,
  grant,
  manifestText,
  PAIR,
  passkey,
  push,
  USER,
} from '../../test/consent.ts';
import { consentSuite } from '../../test/consent-suite.ts';
import { manifestSuite } from '../../test/manifest-suite.ts';
import { hasPostgres, type Postgres } from '../../test/postgres.ts';
import { type Started, startWorker } from '../../test/processes.ts';
import { sharedPostgres } from '../../test/shared-postgres.ts';
import { sealer, verifiedLength } from '../../test/store-suite.ts';
import { createManifests } from '../manifest/index.ts';
import { createRecorder } from '../record/index.ts';
import { openStore, type Store } from '../store/index.ts';

const PROCESSES = 5;
const PATCHES = 100;

function processes(urlOf: (name: string, folder: string) => string): void {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'bulla-consent-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const prepared = async (name: string) => {
    const url = urlOf(name, folder);
    const store = await openStore({ url, create: true, sealer });
    await push(store);
    await grant(consentOn(store));
    return { url, store, file: join(folder, `${name}.go`) };
  };
  const ready = async (workers: readonly Started[]) => {
    while (workers.some((worker) => worker.output().length === 0 && worker.exitCode === null))
      await new Promise((resolve) => setTimeout(resolve, 10));
  };
  /** Starts workers, gives them the file when all are ready, and gives what each of them said. */
  const together = async (args: readonly string[], file: string, text: string, count = PROCESSES) => {
    const workers = Array.from({ length: count }, () => startWorker('consent-worker.ts', args));
    await ready(workers);
    // It is there only when it is whole.
    writeFileSync(`${file}.draft`, text);
    renameSync(`${file}.draft`, file);
    expect(await Promise.all(workers.map((worker) => worker.done))).toEqual(new Array(count).fill(0));
    return workers.flatMap((worker) => worker.output().slice(1));
  };

  test('100 manifests at once from 5 processes are 100 versions in a row, none lost', async () => {
    const { url, store, file } = await prepared('push');
    const said = await together([url, file, 'push', `${PATCHES / PROCESSES}`], file, '');
    const numbers = said.map(Number).toSorted((a, b) => a - b);
    expect(numbers).toEqual(Array.from({ length: PATCHES }, (_, i) => i + 2));
    const versions = await createManifests(store).versions(AGENT);
    expect(versions.map(({ version }) => version)).toEqual([1, ...numbers]);
    // Each content was sent once by each process, and none took the place of another.
    const counts = Map.groupBy(versions.slice(1), ({ hash }) => hash);
    expect([...counts.values()].map((list) => list.length)).toEqual(
      new Array(PATCHES / PROCESSES).fill(PROCESSES),
    );
    expect((await createManifests(store).current(AGENT))!.version).toBe(PATCHES + 1);
    await verifiedLength(store, CHAIN);
    await store.close();
  });

  test('5 processes answer one question: one of them is heard, and the process that asked begins the call', async () => {
    const { url, store, file } = await prepared('answer');
    const asking = startWorker('consent-worker.ts', [url, '', 'ask']);
    await ready([asking]);
    const [prompt] = await consentOn(store).pending();
    expect(asking.output()).toEqual([prompt!.id]);
    const answers = await together([url, file, 'answer'], file, JSON.stringify(prompt));
    expect(answers.toSorted()).toEqual([...new Array(PROCESSES - 1).fill('CONSENT_ANSWERED'), 'allowed']);
    expect(await asking.done).toBe(0);
    expect(asking.output()).toEqual([prompt!.id, 'running']);
    expect(await consentOn(store).decision(prompt!.id)).toMatchObject({
      stage: 'running',
      by: 'medium-allowed-once',
    });
    await store.close();
  });

  test('a revocation stops processes that call all the time, at once', async () => {
    const { url, store } = await prepared('revoke');
    const workers = [0, 1].map(() => startWorker('consent-worker.ts', [url, '', 'calls'], 'ignore'));
    await ready(workers);
    while (workers.some((worker) => worker.output().length < 3 && worker.exitCode === null))
      await new Promise((resolve) => setTimeout(resolve, 10));
    const consent = consentOn(store);
    const said = { who: USER, channel: passkey };
    const { capsules } = await consent.revoke(PAIR, ['notification:send'], said);
    expect(await Promise.all(workers.map((worker) => worker.done))).toEqual([0, 0]);
    const later: { outcome: { status: string; error: string | null } }[] = [];
    for await (const { data } of store.chain(CHAIN).records(capsules[0]!.sequence + 1))
      later.push(JSON.parse(data));
    const statuses = later.map(({ outcome }) => outcome.status);
    // What ran has its outcome; nothing begins any more, and each process was told once.
    expect(statuses.filter((status) => status === 'pending')).toEqual([]);
    expect(later.filter(({ outcome }) => outcome.error === 'consent: permission_revoked').length).toBe(2);
    await verifiedLength(store, CHAIN);
    await store.close();
  });

  test('processes that are killed at any moment leave no call allowed without its capsule', {
    timeout: 120_000 * inject('rounds'),
  }, async () => {
    const { url, store } = await prepared('killed');
    for (let round = 0; round < 3 * inject('rounds'); round++) {
      const workers = [0, 1].map(() => startWorker('consent-worker.ts', [url, '', 'calls']));
      await ready(workers);
      await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 150));
      for (const worker of workers) worker.kill('SIGKILL');
      await Promise.all(workers.map((worker) => worker.done));
      await expectSealed(
        store,
        workers.flatMap((worker) => worker.output().slice(1)),
      );
    }
    await verifiedLength(store, CHAIN);
    await store.close();
  });
}

/** Every call that was begun has its intent and its row, and none has the one without the other. */
async function expectSealed(store: Store, done: readonly string[]): Promise<void> {
  const intents: string[] = [];
  const outcomes: string[] = [];
  for await (const { data } of store.chain(CHAIN).records()) {
    const { type, outcome, context } = JSON.parse(data);
    if (type === 'tool')
      (outcome.status === 'pending' ? intents : outcomes).push(context.environment.bulla.consent.id);
  }
  const rows = await store.reading.all<{ data: string }>('SELECT data FROM consent_subject');
  const decisions = rows.map(({ data }) => JSON.parse(data) as Decision);
  expect(decisions.map(({ id }) => id).toSorted()).toEqual(intents.toSorted());
  const ended = decisions.filter(({ stage }) => stage === 'ok').map(({ id }) => id);
  expect(ended.toSorted()).toEqual(outcomes.toSorted());
  expect(done.filter((id) => !outcomes.includes(id))).toEqual([]);
}

describe('SQLite', () => {
  processes((name, folder) => join(folder, `${name}.db`));
});

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  let server: Pick<Postgres, 'database'>;
  let suite = '';
  beforeAll(async () => {
    server = await sharedPostgres();
    suite = server.database('suite');
  }, 60_000);

  manifestSuite((options) => openStore({ url: suite, create: true, ...options }));
  consentSuite((options) => openStore({ url: suite, create: true, ...options }));
  processes((name) => server.database(name));

  test('100 manifests at once over 16 connections and 4 chains are 100 versions in a row', async () => {
    const store = await openStore({ url: server.database('chains'), create: true, sealer });
    const pushed = await Promise.all(
      Array.from({ length: PATCHES }, (_, i) =>
        createManifests(store).push(AGENT, manifestText(), {
          by: 'operator',
          record: createRecorder(store.chain(`chain-${i % 4}`)),
        }),
      ),
    );
    expect(pushed.map(({ version }) => version).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: PATCHES }, (_, i) => i + 1),
    );
    await store.close();
  });
});
