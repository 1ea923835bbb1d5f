import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execHash, parseEnvelope, parsePolicy } from '@bulla/core/envelope';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { CHAIN, payment, policyWith, publishSample, recordOn, verifierOn } from '../../test/envelope.ts';
import { envelopeSuite } from '../../test/envelope-suite.ts';
import { hasPostgres, type Postgres } from '../../test/postgres.ts';
import { type Started, startWorker } from '../../test/processes.ts';
import { sharedPostgres } from '../../test/shared-postgres.ts';
import { sealer, verifiedLength } from '../../test/store-suite.ts';
import { createLedger, openStore, type Store } from '../store/index.ts';
import { ExecutionNotStarted } from './index.ts';

type Pair = [envelope: string, authorization: string];

const PROCESSES = 8;
const ATTEMPTS = inject('soak') > 1 ? 10_000 : 2_000;
const CEILING = 5_000_000n;
/** A ceiling alone, so that nothing else stops who spends. */
const spending = policyWith({
  ceilings: [{ id: 'all', asset: 'USDC', per: ['caller'], window: 86400, amount: `${CEILING}` }],
  velocity: [],
});
const { policy_hash } = parsePolicy(spending);

/** Payments of different amounts, which together are several times the ceiling. */
function payments(count: number): Promise<Pair[]> {
  return Promise.all(
    Array.from({ length: count }, (_, i) => {
      const amount = `${1 + ((i * 7919) % 400_000)}`;
      return payment(i, { target: { amount }, policy_binding: { policy_hash } });
    }),
  );
}

const amountOf = ([text]: Pair) => BigInt(parseEnvelope(text).target.amount);

/** What was refused would have exceeded the ceiling: nothing that was left over was withheld. */
function expectSpent(executed: readonly Pair[], refused: readonly Pair[]): void {
  const sum = executed.reduce((total, pair) => total + amountOf(pair), 0n);
  expect(sum <= CEILING).toBe(true);
  expect(refused.filter((pair) => sum + amountOf(pair) <= CEILING)).toEqual([]);
  expect([executed.length > 0, refused.length > 0]).toEqual([true, true]);
}

/** The store, and files for workers; each test has a store of its own. */
function processes(urlOf: (name: string, folder: string) => string): void {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'bulla-races-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const prepare = async (name: string, policy?: string) => {
    const url = urlOf(name, folder);
    const store = await openStore({ url, create: true, sealer });
    await publishSample(store, policy);
    await store.close();
    return { url, executions: join(folder, `${name}.txt`) };
  };
  const write = (name: string, pairs: readonly Pair[]) => {
    const file = join(folder, name);
    writeFileSync(file, pairs.map((pair) => `${JSON.stringify(pair)}\n`).join(''));
    return file;
  };
  const linesOf = (file: string) =>
    existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
  const started = async (workers: readonly Started[]) => {
    while (workers.some((worker) => worker.output().length === 0 && worker.exitCode === null))
      await new Promise((resolve) => setTimeout(resolve, 10));
  };
  const atOnce = async (url: string, executions: string, files: readonly string[]) => {
    const workers = files.map((file) =>
      startWorker('envelope-worker.ts', [url, file, 'at-once', executions]),
    );
    await started(workers);
    writeFileSync(`${executions}.go`, '');
    expect(await Promise.all(workers.map((worker) => worker.done))).toEqual(files.map(() => 0));
    return workers.flatMap((worker) => worker.output().filter((line) => line !== 'ready'));
  };

  test(`${ATTEMPTS} attempts at one nonce from 8 processes: one of them is executed`, {
    timeout: 300_000,
  }, async () => {
    const { url, executions } = await prepare('nonce');
    const pair = await payment(1);
    const file = write('nonce.jsonl', new Array(ATTEMPTS / PROCESSES).fill(pair));
    const said = await atOnce(url, executions, new Array(PROCESSES).fill(file));
    expect(linesOf(executions)).toEqual([execHash(parseEnvelope(pair[0]))]);
    expect(said.length).toBe(ATTEMPTS);
    expect(said.filter((line) => line.endsWith(' success')).length).toBe(1);
    expect(said.filter((line) => line.endsWith(' EE_NONCE_REPLAY')).length).toBe(ATTEMPTS - 1);
    const store = await openStore({ url });
    expect(await verifiedLength(store, CHAIN)).toBe(1 + 2 + ATTEMPTS - 1);
    await store.close();
  });

  test('spending from 8 processes never exceeds a ceiling', { timeout: 300_000 }, async () => {
    const { url, executions } = await prepare('ceiling', spending);
    const pairs = await payments(240);
    const files = Array.from({ length: PROCESSES }, (_, i) =>
      write(
        `ceiling-${i}.jsonl`,
        pairs.filter((_, at) => at % PROCESSES === i),
      ),
    );
    const said = await atOnce(url, executions, files);
    expect(said.length).toBe(240);
    const done = new Set(linesOf(executions));
    const isDone = ([text]: Pair) => done.has(execHash(parseEnvelope(text)));
    expectSpent(
      pairs.filter(isDone),
      pairs.filter((pair) => !isDone(pair)),
    );
    expect(said.filter((line) => line.endsWith(' success')).length).toBe(done.size);
  });

  test('kill -9 at the worst moments, again and again: nothing is executed twice', {
    timeout: 300_000 * inject('rounds'),
  }, async () => {
    const policy = policyWith({ ceilings: [], velocity: [] });
    const { url, executions } = await prepare('kill', policy);
    const bound = { policy_binding: { policy_hash: parsePolicy(policy).policy_hash } };
    const pairs = await Promise.all(Array.from({ length: 120 }, (_, i) => payment(i, bound)));
    const hashes = pairs.map(([text]) => execHash(parseEnvelope(text)));
    const end = async (worker: Started) => [await worker.done, worker.signalCode];

    // Between consumption and execution, and right after it: a retry finds the nonce consumed.
    const [first, second] = [
      write('first.jsonl', pairs.slice(0, 1)),
      write('second.jsonl', pairs.slice(1, 2)),
    ];
    const run = (file: string, mode: string) =>
      startWorker('envelope-worker.ts', [url, file, mode, executions]);
    expect(await end(run(first, 'die-before'))).toEqual([null, 'SIGKILL']);
    expect(linesOf(executions)).toEqual([]);
    expect(await end(run(second, 'die-after'))).toEqual([null, 'SIGKILL']);
    expect(linesOf(executions)).toEqual([hashes[1]]);
    for (const [file, hash] of [
      [first, hashes[0]],
      [second, hashes[1]],
    ] as const) {
      const retry = run(file, 'in-turn');
      expect(await end(retry)).toEqual([0, null]);
      expect(retry.output()).toEqual(['ready', `${hash} EE_NONCE_REPLAY`]);
    }
    expect(linesOf(executions)).toEqual([hashes[1]]);

    // At any moment, two processes at a time, until one of them got to the end.
    const all = write('all.jsonl', pairs);
    for (let killed = 0; killed < 4 * inject('rounds'); killed++) {
      const workers = [0, 1].map(() => run(all, 'in-turn'));
      await started(workers);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 200));
      for (const worker of workers) worker.kill('SIGKILL');
      await Promise.all(workers.map((worker) => worker.done));
    }
    const last = run(all, 'in-turn');
    expect(await last.done).toBe(0);
    const done = linesOf(executions);
    expect(new Set(done).size).toBe(done.length);
    const store = await openStore({ url });
    const ledger = createLedger(store);
    for (const hash of hashes) {
      const execution = await ledger.execution(hash);
      // What was executed was told before; what was not may have been consumed by a process that died.
      expect(execution).not.toBe(null);
      if (execution!.state === 'committed') expect(done).toContain(hash);
    }
    const unsettled = (await ledger.unsettled()).map(({ exec_hash }) => exec_hash);
    expect(hashes.filter((hash) => !done.includes(hash) && !unsettled.includes(hash))).toEqual([]);
    expect(done.length).toBeGreaterThan(50);
    await verifiedLength(store, CHAIN);
    await store.close();
  });
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

  envelopeSuite((options) => openStore({ url: suite, create: true, ...options }));

  const CONNECTIONS = 16;
  /** Each of them appends to a chain of its own, so that each has a connection and only the indexes stand between. */
  const verifiers = (store: Store) =>
    Array.from({ length: CONNECTIONS }, (_, i) =>
      verifierOn(store, { record: recordOn(store, `chain-${i}`) }),
    );
  const opened = async (name: string, policy?: string) => {
    const store = await openStore({ url: server.database(name), create: true, sealer });
    await publishSample(store, policy);
    return store;
  };

  test(`${ATTEMPTS} attempts at one nonce over 16 connections: one of them is executed`, {
    timeout: 300_000,
  }, async () => {
    const store = await opened('nonce');
    const pair = await payment(1);
    let executed = 0;
    const each = verifiers(store);
    const attempts = Array.from({ length: ATTEMPTS }, (_, i) =>
      each[i % CONNECTIONS]!.verifyAndConsume(...pair, () => executed++),
    );
    const codes = Map.groupBy(await Promise.all(attempts), ({ verdict }) => verdict.code);
    expect(executed).toBe(1);
    expect([codes.get(null)!.length, codes.get('EE_NONCE_REPLAY')!.length]).toEqual([1, ATTEMPTS - 1]);
    await store.close();
  });

  test('spending over 16 connections never exceeds a ceiling, and what is given back can be spent', {
    timeout: 300_000,
  }, async () => {
    const store = await opened('ceiling', spending);
    const each = verifiers(store);
    const pairs = await payments(320);
    const decisions = await Promise.all(
      pairs.map((pair, i) =>
        each[i % CONNECTIONS]!.verifyAndConsume(...pair, () => {
          if (i % 5 === 0) throw new ExecutionNotStarted('It did not start.');
        }),
      ),
    );
    const held = pairs.filter((_, i) => decisions[i]!.status === 'success');
    expect(held.reduce((total, pair) => total + amountOf(pair), 0n) <= CEILING).toBe(true);
    const released = decisions.filter((decision) => decision.status === 'failure' && decision.released);
    expect(released.length).toBeGreaterThan(0);
    // When all is settled, what is left is exactly the rest.
    const more = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        payment(1000 + i, { target: { amount: '150000' }, policy_binding: { policy_hash } }),
      ),
    );
    const then = await Promise.all(
      more.map((pair, i) => each[i % CONNECTIONS]!.verifyAndConsume(...pair, () => {})),
    );
    const spent = [...held, ...more.filter((_, i) => then[i]!.status === 'success')];
    expectSpent(
      spent,
      more.filter((_, i) => then[i]!.status === 'blocked'),
    );
    await store.close();
  });
});
