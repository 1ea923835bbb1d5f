import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { toUtf8 } from '@bulla/core/crypto';
import { readFailure } from '@bulla/core/evidence';
import { type Lock, readLock, type WriteLockOptions, writeLock } from '@bulla/core/lock';
import { expect, onTestFinished } from 'vitest';
import { type GuardExit, type GuardOptions, guard } from '../src/gateway/index.ts';
import type { HostStreams } from '../src/gateway/peer/host.ts';
import { type StdioTarget, type Surface, scan } from '../src/mcp/index.ts';
import { openStore, type Store } from '../src/store/index.ts';
import { script } from './mcp.ts';
import { temporaryFolder } from './run.ts';
import { sealer, verifiedLength } from './store-suite.ts';

/** The text of a lock of a server, as `bulla lock` writes it; `edit` may make it one of another server. */
export async function lockText(
  target: StdioTarget,
  options: Partial<WriteLockOptions> = {},
  edit: (surface: Surface) => Surface = (surface) => surface,
): Promise<string> {
  const { command, args, env } = target;
  return writeLock(edit(await scan(target)), {
    generator: 'bulla',
    updatedAt: new Date(0),
    identity: { transport: 'stdio', command, args, env },
    ...options,
  }).text;
}

/** A lock of a server. */
export async function lockOf(target: StdioTarget, options: Partial<WriteLockOptions> = {}): Promise<Lock> {
  return readLock(toUtf8(await lockText(target, options)));
}

type Parsed = ReturnType<typeof JSON.parse>;

/** A message as a test sees it. */
export interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: { readonly [key: string]: unknown };
  readonly result?: Parsed;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: Record<string, unknown>;
  };
}

/** A session that a test drives as a host. */
export interface Guarded {
  readonly store: Store;
  /** What came from the gateway, a line each, as it was written. */
  readonly lines: string[];
  /** Sends a message, or a line as it is. */
  send(message: object | string): void;
  /** Asks, and waits for the answer to that id. */
  ask(method: string, params?: object, id?: string | number): Promise<Message>;
  call(name: string, args?: object): Promise<Message>;
  /** Waits for a message. */
  until(is: (message: Message) => boolean): Promise<Message>;
  /** Closes the host's side, and waits for the end. */
  end(): Promise<GuardExit>;
  readonly over: Promise<GuardExit>;
  readonly stop: AbortController;
  readonly log: string[];
}

export async function openTestStore(folder: string): Promise<Store> {
  return openStore({ url: join(folder, 'store.db'), create: true, sealer });
}

/** What a test gives to the gateway that it drives: the host's pipes, and where it ends and logs. */
export interface Drive {
  readonly host: HostStreams;
  readonly store: Store;
  readonly stop: AbortController;
  log(line: string): void;
}

/** Starts a guard in this process, with the host's ends of its pipes. */
export async function startGuard(
  options: Partial<GuardOptions> & Pick<GuardOptions, 'server' | 'lock'>,
): Promise<Guarded> {
  return startDriven(options.store, ({ host, store, stop, log }) =>
    guard({
      host,
      store,
      agentId: 'bot',
      allowOtherServer: true,
      graceMs: 200,
      signal: stop.signal,
      log,
      ...options,
    }),
  );
}

/** Starts a gateway in this process, and drives it as its host. */
export async function startDriven(
  given: Store | undefined,
  begin: (drive: Drive) => Promise<GuardExit>,
): Promise<Guarded> {
  const store = given ?? (await openTestStore(temporaryFolder()));
  const input = new PassThrough();
  const output = new PassThrough();
  const stop = new AbortController();
  const lines: string[] = [];
  const messages: Message[] = [];
  const log: string[] = [];
  const waiting = new Set<() => void>();
  let rest = '';
  output.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop()!;
    lines.push(...parts);
    messages.push(...parts.map((part) => JSON.parse(part) as Message));
    for (const look of waiting) look();
  });
  const over = begin({ host: { input, output }, store, stop, log: (line) => log.push(line) });
  over.catch(() => {});
  let next = 100;
  const guarded: Guarded = {
    store,
    lines,
    log,
    over,
    stop,
    send: (message) =>
      void input.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`),
    until: (is) =>
      new Promise((resolve, reject) => {
        let seen = 0;
        const look = (): void => {
          const found = messages.slice(seen).find(is);
          seen = messages.length;
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        over.then(() => reject(new Error('The session is over.')), reject);
        look();
      }),
    async ask(method, params = {}, id = next++) {
      guarded.send({ jsonrpc: '2.0', id, method, params });
      return guarded.until((message) => message.id === id && message.method === undefined);
    },
    call: (name, args = {}) => guarded.ask('tools/call', { name, arguments: args }),
    async end() {
      input.end();
      return over;
    },
  };
  onTestFinished(async () => {
    stop.abort();
    await over.catch(() => {});
    if (given === undefined) await store.close().catch(() => {});
  });
  return guarded;
}

/** The handshake of the initialize era. */
export async function initialize(guarded: Guarded, capabilities: object = {}): Promise<Message> {
  const answer = await guarded.ask('initialize', {
    protocolVersion: '2025-11-25',
    capabilities,
    clientInfo: { name: 'test-host', version: '1' },
  });
  guarded.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
  return answer;
}

/** A rogue server, guarded with the lock of the ordinary one, and what reached it. */
export async function startRogue(
  behaviour: string,
  options: Partial<GuardOptions> & { readonly count?: number } = {},
): Promise<Guarded & { received(): Message[] }> {
  const { count = 0, ...rest } = options;
  const log = join(temporaryFolder(), 'received');
  const server = script('rogue.mjs', log, behaviour, String(count));
  const era = behaviour.startsWith('stateless') ? 'stateless' : 'ordinary';
  const guarded = await startGuard({ server, lock: await rogueLock(era), ...rest });
  const received = (): Message[] =>
    existsSync(log)
      ? readFileSync(log, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as Message)
      : [];
  return Object.assign(guarded, { received });
}

const locks = new Map<string, Promise<Lock>>();

/** The lock of a rogue server that behaves. */
export function rogueLock(behaviour: 'ordinary' | 'stateless'): Promise<Lock> {
  let lock = locks.get(behaviour);
  if (lock === undefined) {
    lock = lockOf(script('rogue.mjs', '/dev/null', behaviour));
    locks.set(behaviour, lock);
  }
  return lock;
}

/** A capsule as a test sees it. */
export interface Sealed {
  readonly id: string;
  readonly type: string;
  readonly parent_id: string | null;
  readonly [section: string]: Parsed;
}

/** Every record of the chain, which must verify. */
export async function records(store: Store, chain = 'default'): Promise<Sealed[]> {
  const rows = await Array.fromAsync(store.chain(chain).records());
  expect(await verifiedLength(store, chain)).toBe(rows.length);
  return rows.map(({ data }) => JSON.parse(data) as Sealed);
}

/** What the chain tells of messages: method and name, status, and the code of the error. */
export async function told(store: Store): Promise<string[]> {
  return (await records(store))
    .filter(({ type, trigger }) => type !== 'kill' && !trigger.request.startsWith('guard '))
    .map(({ trigger, outcome }) => {
      const code = readFailure(outcome.error ?? '')?.code;
      return [trigger.request, outcome.status, ...(code === undefined ? [] : [code])].join(' ');
    });
}
