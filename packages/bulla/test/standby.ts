import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { accountOf, bin, freePort } from './postgres.ts';

/** One server of a pair. */
export interface Node {
  readonly port: number;
  readonly url: string;
  /** Runs a statement on a connection of its own, past the proxy. */
  sql<R extends object>(text: string, ...values: unknown[]): Promise<R[]>;
  /** Every process of it ends in the same moment, as in a power cut. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

const user: { uid?: number; gid?: number } = process.getuid?.() === 0 ? accountOf('postgres') : {};

function emptyFolder(): string {
  const data = mkdtempSync(join(tmpdir(), 'bulla-pg-'));
  if (user.uid !== undefined) chownSync(data, user.uid, user.gid!);
  return data;
}

export async function startPrimary(): Promise<Node> {
  const data = emptyFolder();
  run('initdb', ['-D', data, '-U', 'bulla', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'], data);
  return startNode(data, await freePort());
}

/** A standby of another server; that waits for it with every commit from now on. */
export async function startStandby(primary: Node): Promise<Node> {
  const data = emptyFolder();
  const from = ['-h', '127.0.0.1', '-p', String(primary.port), '-U', 'bulla'];
  run('pg_basebackup', ['-D', data, ...from, '-R', '-c', 'fast', '--no-sync', '-X', 'stream'], data);
  const standby = await startNode(data, await freePort());
  await primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
  await primary.sql('SELECT pg_reload_conf()');
  await until(async () => {
    const rows = await primary.sql<{ state: string }>('SELECT sync_state AS state FROM pg_stat_replication');
    return rows[0]?.state === 'sync';
  });
  return standby;
}

async function startNode(data: string, port: number): Promise<Node> {
  const url = `postgres://bulla@127.0.0.1:${port}/postgres`;
  let server: ChildProcess;
  const sql = async <R extends object>(text: string, ...values: unknown[]): Promise<R[]> => {
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(text, values)).rows as R[];
    } finally {
      await client.end();
    }
  };
  const node: Node = {
    port,
    url,
    sql,
    async start() {
      const settings = ['wal_retrieve_retry_interval=100ms', 'shared_buffers=8MB', 'wal_sender_timeout=0'];
      const options = settings.flatMap((setting) => ['-c', setting]);
      server = spawn(
        bin('postgres'),
        ['-D', data, '-p', String(port), '-k', data, '-h', '127.0.0.1', ...options],
        { ...user, cwd: data, stdio: 'ignore' },
      );
      await until(async () => (await sql('SELECT 1').catch(() => [])).length === 1);
    },
    async kill() {
      const ended = new Promise((resolve) => server.once('exit', resolve));
      const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, 'utf8').trim();
      const all = [server.pid!, ...(children === '' ? [] : children.split(' ').map(Number))];
      for (const signal of ['SIGSTOP', 'SIGKILL'] as const) for (const pid of all) signalTo(pid, signal);
      await ended;
    },
    async stop() {
      if (server.exitCode === null && server.signalCode === null) {
        const ended = new Promise((resolve) => server.once('exit', resolve));
        server.kill('SIGQUIT');
        await ended;
      }
      rmSync(data, { recursive: true, force: true });
    },
  };
  await node.start();
  return node;
}

function run(program: string, args: readonly string[], cwd: string): void {
  execFileSync(bin(program), args, { ...user, cwd, stdio: 'ignore' });
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Asks again until it is so; a test that waits for ever has failed. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** An address that leads to the server that is the primary now. */
export interface Address {
  readonly url: string;
  /** New connections lead to this server. */
  to(node: Node): void;
  /** From now on what clients send over the connections that there are is kept back. */
  holdBack(): Held;
  /** As a pooler whose server died: the next answer that ends a transaction is lost, and an error takes its place. */
  loseAnswer(): void;
  close(): void;
}

export interface Held {
  /** Breaks the connections as soon as something was kept back; their clients learn of it, the server does not. */
  breakClients(): Promise<void>;
  /** What was kept reaches the server after all; resolves when it has done with it. */
  letThrough(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  /** What is kept back; null where it is sent on. */
  kept: Buffer[] | null;
}

/** The end of an answer outside a transaction: `ReadyForQuery`, idle. */
const READY = Buffer.from('5a0000000549', 'hex');

/** What poolers say of a server that went, and that the connection is ready again. */
function serverGone(): Buffer {
  const fields = Buffer.from('SERROR\0VERROR\0C08006\0Mserver closed the connection\0\0');
  const head = Buffer.from('E\0\0\0\0');
  head.writeUInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields, READY]);
}

export async function startProxy(first: Node): Promise<Address> {
  let target = first;
  let losing = false;
  const pairs = new Set<Pair>();
  const listener = createServer((client) => {
    const server = connect(target.port, '127.0.0.1');
    const pair: Pair = { client, server, kept: null };
    pairs.add(pair);
    client.on('data', (chunk) => {
      if (pair.kept === null) server.write(chunk);
      else pair.kept.push(chunk);
    });
    let answer = Buffer.alloc(0);
    server.on('data', (chunk) => {
      if (!losing) return void client.write(chunk);
      answer = Buffer.concat([answer, chunk]);
      const end = answer.subarray(-READY.length);
      if (!end.subarray(0, -1).equals(READY.subarray(0, -1))) return;
      // Within a transaction nothing is lost yet.
      const isLost = end.equals(READY);
      client.write(isLost ? serverGone() : answer);
      losing = !isLost;
      answer = Buffer.alloc(0);
    });
    client
      .on('error', () => undefined)
      .on('close', () => {
        if (pair.kept === null) server.destroy();
      });
    server
      .on('error', () => undefined)
      .on('close', () => {
        pairs.delete(pair);
        client.destroy();
      });
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as { port: number };
  return {
    url: `postgres://bulla@127.0.0.1:${port}/postgres`,
    to(node) {
      target = node;
    },
    holdBack() {
      const held = [...pairs];
      for (const pair of held) pair.kept = [];
      return {
        async breakClients() {
          await until(() => held.some(({ kept }) => kept!.length > 0));
          for (const { client } of held) client.destroy();
        },
        async letThrough() {
          const done = held.map(({ server }) => new Promise((resolve) => server.once('close', resolve)));
          for (const { server, kept } of held) server.end(Buffer.concat(kept!));
          await Promise.all(done);
        },
      };
    },
    loseAnswer() {
      losing = true;
    },
    close() {
      listener.close();
      for (const { client, server } of pairs) {
        client.destroy();
        server.destroy();
      }
    },
  };
}
