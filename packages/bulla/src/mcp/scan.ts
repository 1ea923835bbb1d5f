import { BullaError } from '@bulla/core/error';
import { type JsonObject, stringify } from '@bulla/core/json';
import { LIST_KINDS, type ListKind, type Surface as LockSurface } from '@bulla/core/lock';
import type { Network } from '../os/index.ts';
import { tellsChanges } from './agree.ts';
import type { Connection } from './connection.ts';
import { type ContentOptions, type Finding, readContents } from './contents.ts';
import { LISTS, readList } from './lists.ts';
import { authorized, type OpenOptions, open, type Session } from './open.ts';
import type { PageLimits } from './pages.ts';
import type { Target } from './target.ts';
import { quote } from './transport.ts';

/** Everything that a server shows to a client: what a lock holds, and what else the scan saw. */
export interface Surface extends LockSurface {
  readonly findings: readonly Finding[];
}

type Listeners = 'onNotification' | 'onNoise';

export interface ScanOptions extends Omit<OpenOptions, Listeners>, PageLimits, ContentOptions {
  /** How long the whole scan may take, without the time that a person needs to sign in. Default 120,000 ms. */
  readonly totalMs?: number | undefined;
}

const DEFAULT_TOTAL_MS = 120_000;
/** A scan changes nothing, so a server has nothing to finish, and somebody waits. */
const DEFAULT_GRACE_MS = 100;
const DEFAULT_MAX_RECEIVED_BYTES = 64 * 1024 * 1024;

/**
 * Reads the whole surface of a server, and ends it. What is returned is complete: when a list cannot be read to its
 * end, or changes while it is read, the scan rejects with an `MCP_…` code (those of {@link open}, {@link readList}
 * and {@link scanSession}, and `MCP_TOO_MUCH`), and nothing was decided about the server.
 */
export function scan(target: Target, options: ScanOptions = {}): Promise<Surface> {
  return authorized(options.authorizer, () => scanOnce(target, options));
}

async function scanOnce(target: Target, options: ScanOptions): Promise<Surface> {
  const { totalMs = DEFAULT_TOTAL_MS } = options;
  const stop = new AbortController();
  const timer = setTimeout(() => {
    stop.abort(new BullaError('MCP_TIMEOUT', `The scan did not end in ${totalMs} ms.`));
  }, totalMs);
  const changes: Changes = { tools: 0, prompts: 0, resources: 0, resourceTemplates: 0 };
  const noise = { lines: 0, first: '' };
  try {
    const session = await open(target, {
      ...options,
      graceMs: options.graceMs ?? DEFAULT_GRACE_MS,
      maxReceivedBytes: options.maxReceivedBytes ?? DEFAULT_MAX_RECEIVED_BYTES,
      signal: options.signal ? AbortSignal.any([stop.signal, options.signal]) : stop.signal,
      onNotification({ method }) {
        for (const kind of LIST_KINDS) if (LISTS[kind].changed === method) changes[kind]++;
      },
      onNoise(line) {
        if (noise.lines++ === 0) noise.first = Buffer.from(line.subarray(0, 400)).toString();
      },
    });
    try {
      const network = options.network ?? ownOrigin(target);
      const surface = await scanSession(session, changes, { ...options, network });
      if (noise.lines === 0) return surface;
      const message = `The server printed ${noise.lines} line(s) that are no messages, first ${quote(noise.first)}.`;
      return { ...surface, findings: [...surface.findings, { code: 'stdout_noise', path: '', message }] };
    } finally {
      await session.connection.close();
    }
  } finally {
    clearTimeout(timer);
  }
}

/** A server at a private address may show icons of its own. */
function ownOrigin(target: Target): Network {
  return target.kind === 'http' ? { privateOrigins: new Set([new URL(target.url).origin]) } : {};
}

/** How often the server told that each list changed. */
type Changes = Record<ListKind, number>;

/** A list, and how often it had changed when it was asked for. */
interface Reading {
  readonly items: readonly JsonObject[];
  readonly changes: number;
}

/** Of the lists that the server offers. */
type Readings = ReadonlyMap<ListKind, Reading>;

/**
 * Reads the whole surface over a connection that stays open, while `changes` is counted up. Rejects with `MCP_LIST_CHANGED` when a list that was read again after a change has changed again, and with the codes of
 * {@link readList}.
 */
async function scanSession(session: Session, changes: Changes, options: ScanOptions): Promise<Surface> {
  const { connection, capabilities, protocolVersion, era, serverInfo, instructions } = session;
  const listening = new AbortController();
  try {
    if (era === 'stateless' && tellsChanges(capabilities)) listen(session, options, listening.signal);
    const kinds = LIST_KINDS.filter((kind) => capabilities.has(LISTS[kind].capability));
    const first = await readLists(connection, kinds, changes, options);
    const readings = await settle(connection, first, changes, options, 1);
    const lists = Object.fromEntries(
      LIST_KINDS.map((kind) => [kind, readings.get(kind)?.items ?? []]),
    ) as Record<ListKind, readonly JsonObject[]>;
    const { contents, findings } = await readContents(session, lists, options);
    await settle(connection, readings, changes, options, 0);
    // What the server sent after its last answer counts too, if it is here.
    if (connection.failure !== null) throw connection.failure;
    const self = { protocolVersion, era, serverInfo, instructions, capabilities };
    return { ...self, ...lists, contents, findings };
  } finally {
    listening.abort(new BullaError('MCP_CLOSED', 'The scan ended.'));
  }
}

/**
 * Asks to be told of changes (2026-07-28, Subscriptions). The request stays open; a server that refuses it cannot
 * tell, and its lists are taken as they are.
 */
function listen({ connection }: Session, { totalMs }: ScanOptions, signal: AbortSignal): void {
  const notifications = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
  const options = { timeoutMs: totalMs ?? DEFAULT_TOTAL_MS, signal };
  connection.request('subscriptions/listen', { notifications }, options).catch(() => {});
}

async function readLists(
  connection: Connection,
  kinds: readonly ListKind[],
  changes: Changes,
  limits: PageLimits,
): Promise<Readings> {
  const entries = kinds.map(async (kind) => {
    const before = changes[kind];
    return [kind, { items: await readList(connection, kind, limits), changes: before }] as const;
  });
  return new Map(await Promise.all(entries));
}

/**
 * Reads every list again that was told to have changed since it was asked for, until it is the same twice or nothing
 * was told meanwhile. Of the same list `again` other readings are accepted, and then `MCP_LIST_CHANGED` is thrown.
 */
async function settle(
  connection: Connection,
  readings: Readings,
  changes: Changes,
  limits: PageLimits,
  again: number,
): Promise<Readings> {
  const moved = [...readings].filter(([kind, reading]) => changes[kind] !== reading.changes);
  if (moved.length === 0) return readings;
  const kinds = moved.map(([kind]) => kind);
  const now = await readLists(connection, kinds, changes, limits);
  const differs = moved.flatMap(([kind, { items }]) =>
    stringify(now.get(kind)!.items) === stringify(items) ? [] : [kind],
  );
  if (differs.length > 0 && again === 0) {
    throw new BullaError(
      'MCP_LIST_CHANGED',
      `The server's ${differs.map((kind) => LISTS[kind].method).join(', ')} changed while it was read.`,
    );
  }
  const same = moved.map(([kind, { items }]) => [kind, { items, changes: changes[kind] }] as const);
  const next = new Map([...readings, ...same, ...differs.map((kind) => [kind, now.get(kind)!] as const)]);
  return differs.length === 0 ? next : settle(connection, next, changes, limits, again - 1);
}
