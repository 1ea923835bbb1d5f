import { randomUUID } from 'node:crypto';
import type { SealedCapsule } from '@bulla/core/capsule';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasPostgres } from '../../test/postgres.ts';
import {
  type Address,
  type Node,
  startPrimary,
  startProxy,
  startStandby,
  until,
} from '../../test/standby.ts';
import { committing, input, sealer, verifiedLength } from '../../test/store-suite.ts';
import { createAudit, createRecorder } from '../record/index.ts';
import { liftKill, openStore, type Store } from './index.ts';

/** What callers were told of their records. */
interface Told {
  readonly acknowledged: SealedCapsule[];
  /** The ids of the records that were refused, by code. */
  readonly refused: { readonly id: string; readonly code: string }[];
}

async function appendAll(store: Store, chains: readonly string[], each: number, told: Told): Promise<void> {
  const one = async (chain: string) => {
    const id = randomUUID();
    await store
      .chain(chain)
      .append(input('x'), { id })
      .then(
        (sealed) => told.acknowledged.push(sealed),
        (error) => told.refused.push({ id, code: error.code }),
      );
  };
  await Promise.all(chains.flatMap((chain) => Array.from({ length: each }, () => one(chain))));
}

/** The ids of a chain's records by their place and hash. */
async function storedIn(store: Store, chains: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const chain of chains) {
    await verifiedLength(store, chain);
    for await (const { sequence, hash, data } of store.chain(chain).records()) {
      const { id } = JSON.parse(data);
      expect(found.has(id)).toBe(false);
      found.set(id, `${sequence} ${hash}`);
    }
  }
  return found;
}

const placeOf = ({ sequence, hash }: SealedCapsule) => `${sequence} ${hash}`;

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  let primary: Node;
  let standby: Node | undefined;
  let proxy: Address;
  const opened = () => openStore({ url: proxy.url, create: true, sealer });
  const waiting = () =>
    primary.sql<{ pid: number }>("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  const senders = () => primary.sql<{ pid: number }>('SELECT pid FROM pg_stat_replication');

  beforeAll(async () => {
    primary = await startPrimary();
    proxy = await startProxy(primary);
  });
  afterAll(async () => {
    proxy.close();
    await primary.stop();
    await standby?.stop();
  });

  test('says in a sentence why it lets nobody in, without the password', async () => {
    const [settings] = await primary.sql<{ file: string; text: string }>(
      "SELECT current_setting('hba_file') AS file, pg_read_file(current_setting('hba_file')) AS text",
    );
    const { file, text } = settings!;
    const rules = 'host all pw 127.0.0.1/32 scram-sha-256\nhostnossl all tls 127.0.0.1/32 reject\n';
    const lines = `${rules}${text.replace(/#.*\n/g, '')}`.split('\n').map((line) => line.replaceAll("'", ''));
    await primary.sql(`COPY (SELECT unnest(ARRAY['${lines.join("','")}'])) TO '${file}'`);
    for (const role of ["pw PASSWORD 'right'", 'tls', 'few CONNECTION LIMIT 0'])
      await primary.sql(`CREATE ROLE ${role.replace(' ', ' LOGIN ')} ${role.includes(' ') ? '' : 'LOGIN'}`);
    await primary.sql('SELECT pg_reload_conf()');
    const at = (user: string, rest: string) => `postgres://${user}@127.0.0.1:${primary.port}/${rest}`;
    const expected: [url: string, code: string, sentence: string][] = [
      [
        at('bulla:hunter2', 'none'),
        'STORE_MISSING',
        'The server has no database of this name; create it first (3D000).',
      ],
      [at('nobody:hunter2', 'postgres'), 'STORE_UNREADABLE', 'The server has no such user (28000).'],
      [
        at('pw:hunter2', 'postgres'),
        'STORE_UNREADABLE',
        'The server refuses the user or the password (28P01).',
      ],
      [
        at('pw', 'postgres'),
        'STORE_UNREADABLE',
        'The server asks for a password, and the address of the store has none.',
      ],
      [
        at('tls:hunter2', 'postgres'),
        'STORE_UNREADABLE',
        'The server refuses this user without TLS; try "?sslmode=verify-full" (28000).',
      ],
      [
        at('bulla:hunter2', 'postgres?sslmode=verify-full'),
        'STORE_UNREADABLE',
        'The server does not offer TLS, and the address of the store asks for it.',
      ],
      [
        at('few:hunter2', 'postgres'),
        'STORE_UNAVAILABLE',
        'The server has no connection left: too many clients (53300).',
      ],
    ];
    for (const [url, code, message] of expected)
      await expect(openStore({ url })).rejects.toMatchObject({ code, message });
  });

  test('dies and comes back under load: calls are refused with a reason, and then go on by themselves', async () => {
    const store = await opened();
    const lost: unknown[] = [];
    const onLoss = (loss: unknown) => void lost.push(loss);
    const audit = createAudit(createRecorder(store.chain('default')), store, { agentId: 'a', onLoss });
    const recorder = createRecorder(store.chain('guard'));
    const args = recorder.payload('args', { a: 1 });
    const about = { agentId: 'a', sessionId: 's', source: 'h', request: 'tools/call files/t' } as const;
    const call = { door: 'gateway', ...about, tool: { server: 'files', name: 't' }, args } as const;
    const counts: number[] = [];
    const codes = new Set<string>();
    let running = true;
    const caller = async (place: number, act: () => Promise<unknown>) => {
      while (running)
        await act().then(
          () => {
            counts[place] = (counts[place] ?? 0) + 1;
          },
          (error) => codes.add(/^STORE_/.test(error.code) ? error.code : error.cause.code),
        );
    };
    const callers = Array.from({ length: 6 }, (_, place) =>
      caller(place, () =>
        place % 2 === 0
          ? audit.record({ request: 'r', tool: 't', arguments: { n: 1 } }, () => 'done')
          : recorder.intent(call),
      ),
    );
    const allBeyond = (before: readonly number[]) =>
      until(() => callers.every((_, place) => (counts[place] ?? 0) > (before[place] ?? 0)));
    await allBeyond([]);
    await primary.kill();
    proxy.to({ ...primary, port: 1 });
    await expect(store.chain('other').append(input('x'))).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
    await primary.start();
    proxy.to(primary);
    await allBeyond([...counts]);
    running = false;
    await Promise.all(callers);
    expect([...codes].filter((code) => !/^STORE_(UNAVAILABLE|UNCERTAIN)$/.test(code))).toEqual([]);
    expect(await verifiedLength(store, 'default')).toBeGreaterThan(6);
    expect(await verifiedLength(store, 'guard')).toBeGreaterThan(3);
    // An action that ran while the store was away is known to have no outcome.
    expect(audit.lost).toBe(lost.length);
    await store.close();
  });

  test('a statement that reaches the server after its caller was refused changes nothing', async () => {
    const store = await opened();
    await store.chain('late').append(input('first'));
    const held = proxy.holdBack();
    const late = store.chain('late').append(input('late'));
    await held.breakClients();
    await expect(late).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await held.letThrough();
    await store.chain('late').append(input('second'));
    const summaries: string[] = [];
    for await (const { data } of store.chain('late').records())
      summaries.push(JSON.parse(data).outcome.summary);
    expect(summaries).toEqual(['first', 'second']);
    await store.close();
  });

  test('a pooler loses the answer of a server that committed: the record counts, once', async () => {
    const store = await opened();
    await store.chain('lost').append(input('first'));
    // By itself, with openings in the same statement, and with an effect, whose transaction has many statements.
    proxy.loseAnswer();
    expect((await store.chain('lost').append(input('second'))).sequence).toBe(1);
    proxy.loseAnswer();
    const openings = [{ kind: 'args', salt: new Uint8Array(32), payload: null }] as const;
    const third = await store.chain('lost').append(committing('third', { args: 'a' }), { openings });
    expect(third.sequence).toBe(2);
    proxy.loseAnswer();
    const fourth = await store.chain('lost').append(input('fourth'), { effect: liftKill(null) });
    expect(fourth.sequence).toBe(3);
    expect(await store.opening('a')).toMatchObject({ chain: 'lost', sequence: 2 });
    expect(await verifiedLength(store, 'lost')).toBe(4);
    await store.close();
  });

  test('a standby is not written to, and is no store that was set back; it can be read', async () => {
    const store = await opened();
    await store.chain('read').append(input('x'));
    standby = await startStandby(primary);
    await expect(openStore({ url: standby.url, sealer })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
    const reader = await openStore({ url: standby.url, readOnly: true });
    expect(await verifiedLength(reader, 'read')).toBe(1);
    await reader.close();
    // The address leads there while the store is open: what it shows is not believed.
    proxy.to(standby);
    await primary.sql(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`,
    );
    await expect(store.chain('read').append(input('y'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    proxy.to(primary);
    expect((await store.chain('read').append(input('z'))).sequence).toBe(1);
    await store.close();
  });

  test('the wait for the standby is cancelled: nothing is acknowledged before the standby has it', async () => {
    const store = await opened();
    await store.chain('wait').append(input('first'));
    const [sender] = await senders();
    process.kill(sender!.pid, 'SIGSTOP');
    let answered = false;
    const appended = store.chain('wait').append(input('second'));
    void appended.finally(() => {
      answered = true;
    });
    await until(async () => (await waiting()).length === 1);
    const [first] = await waiting();
    await primary.sql('SELECT pg_cancel_backend($1)', first!.pid);
    // The server says now that it committed. The store asks again, and that waits too.
    await until(async () => (await waiting()).some(({ pid }) => pid !== first!.pid) || (await settles()));
    expect(answered).toBe(false);
    process.kill(sender!.pid, 'SIGCONT');
    expect((await appended).sequence).toBe(1);
    await store.close();
  });
  const settles = async () =>
    (await primary.sql("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND query = 'COMMIT'"))
      .length > 0;

  test('the primary dies with commits that no standby has: what was acknowledged is stored, what was refused is not', async () => {
    const store = await opened();
    const chains = ['a', 'b', 'c', 'd'];
    const told: Told = { acknowledged: [], refused: [] };
    await appendAll(store, chains, 4, told);
    expect(told.acknowledged.length).toBe(16);
    const [sender] = await senders();
    process.kill(sender!.pid, 'SIGSTOP');
    const broken = appendAll(store, chains, 4, told);
    await until(async () => (await waiting()).length > 0);
    for (const { pid } of await waiting()) await primary.sql('SELECT pg_terminate_backend($1)', pid);
    await until(settles);
    await primary.kill();
    await standby!.sql('SELECT pg_promote()');
    proxy.to(standby!);
    await broken;
    await until(async () => {
      await appendAll(store, ['a'], 1, told);
      return told.acknowledged.length > 16;
    });
    const stored = await storedIn(store, chains);
    expect(told.acknowledged.filter((sealed) => stored.get(sealed.id) !== placeOf(sealed))).toEqual([]);
    expect(told.refused.filter(({ id, code }) => code !== 'STORE_UNCERTAIN' && stored.has(id))).toEqual([]);
    expect(told.refused.length).toBeGreaterThanOrEqual(16);
    await store.close();
  });
});
