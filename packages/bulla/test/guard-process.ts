import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { initKeyring } from '../src/keys/index.ts';
import type { StdioTarget, Surface } from '../src/mcp/index.ts';
import { lockText } from './guard.ts';
import { program } from './processes.ts';
import { repo, temporaryFolder } from './run.ts';

/** Gives the path of `bulla guard` alone, made from the sources. */
export function bundledGuard(): () => string {
  return () => program('guard-cli.ts');
}

/** Where a guard finds its lock and its keys, and writes its records. */
export interface Place {
  readonly home: string;
  readonly lock: string;
  readonly store: string;
  readonly keys: string;
}

export async function preparePlace(
  target: StdioTarget,
  edit?: (surface: Surface) => Surface,
): Promise<Place> {
  const home = temporaryFolder();
  const place = {
    home,
    lock: join(home, 'mcp-lock.json'),
    store: join(home, 'store.db'),
    keys: join(home, 'keys'),
  };
  await initKeyring(place.keys, { now: () => new Date(), randomBytes });
  writeFileSync(place.lock, await lockText(target, {}, edit));
  return place;
}

/** How the guard of a server is started. */
export function guardTarget(
  cli: string,
  { store, keys, lock }: Place,
  { command, args }: StdioTarget,
  ...options: string[]
): StdioTarget {
  const words = ['--store', store, '--keys', keys, '--lock', lock, ...options];
  return { kind: 'stdio', command: process.execPath, args: [cli, ...words, '--', command, ...args], env: [] };
}

/** A guard in a process of its own, which a test drives as a host. */
export interface Running {
  readonly child: ChildProcess;
  send(message: object): void;
  /** Waits until so many lines have come. Rejects when it ends before. */
  lines(count: number): Promise<string[]>;
  /** Waits for the end: the exit code and the signal, and what was said on standard error. */
  ended(): Promise<{ code: number | null; signal: string | null; stderr: string }>;
}

export function runGuard(
  { command, args }: StdioTarget,
  variables: Readonly<Record<string, string>> = {},
): Running {
  // As a host starts it: without the variables of whoever runs the tests.
  const child = spawn(command, args, { stdio: 'pipe', env: { PATH: process.env.PATH ?? '', ...variables } });
  onTestFinished(() => void child.kill('SIGKILL'));
  let [text, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk;
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk;
  });
  child.stdin.on('error', () => {});
  const closed = once(child, 'close');
  return {
    child,
    send: (message) => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
    async lines(count) {
      const isThere = () => text.split('\n').length > count;
      const over = closed.then(() => 'over');
      while (!isThere()) {
        const next = await Promise.race([once(child.stdout, 'data'), over]);
        if (next === 'over' && !isThere()) throw new Error(`The guard ended: ${stderr}`);
      }
      return text.split('\n').slice(0, -1);
    },
    async ended() {
      const [code, signal] = await closed;
      return { code, signal, stderr };
    },
  };
}

/** The handshake of the initialize era. */
export async function shakeHands(guard: Running): Promise<void> {
  const clientInfo = { name: 'test-host', version: '1' };
  guard.send({
    id: 'i',
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
  });
  await guard.lines(1);
  guard.send({ method: 'notifications/initialized' });
}

/** Starts the built `bulla guard` at a free port of the loopback address, and gives its address. */
export async function listeningGuard(
  words: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<string> {
  const program = join(repo, 'packages/bulla/dist/bulla.js');
  const child = spawn(process.execPath, [program, 'guard', '--listen', '127.0.0.1:0', ...words], {
    cwd,
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const closed = once(child, 'close');
  onTestFinished(async () => {
    child.kill();
    await closed;
  });
  let said = '';
  return new Promise((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk;
      const url = /^bulla: listening on (\S+)$/m.exec(said)?.[1];
      if (url !== undefined) resolve(url);
    });
    void closed.then(() => reject(new Error(`The guard ended: ${said}`)));
  });
}
