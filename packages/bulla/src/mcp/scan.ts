import { BullaError } from '@bulla/core/error';
import { type JsonObject, stringify } from '@bulla/core/json';
import { LIST_KINDS, type ListKind } from '@bulla/core/lock';
import type { Network } from '../os/index.ts';
import { tellsChanges } from './agree.ts';
import { type ContentOptions, readContents } from './contents.ts';
import type { NotificationFrame } from './frame.ts';
import { LISTS, readList } from './lists.ts';
import { authorized, type OpenOptions, open, type Session } from './open.ts';
import type { PageLimits } from './pages.ts';
import type { Finding, Surface } from './surface.ts';
import type { Target } from './target.ts';
import { quote } from './transport.ts';

export interface ScanOptions extends OpenOptions, PageLimits, ContentOptions {
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
  const changes = new Changes();
  const noise = { lines: 0, first: '' };
  try {
    const session = await open(target, {
      ...options,
      graceMs: options.graceMs ?? DEFAULT_GRACE_MS,
      maxReceivedBytes: options.maxReceivedBytes ?? DEFAULT_MAX_RECEIVED_BYTES,
      signal: options.signal ? AbortSignal.any([stop.signal, options.signal]) : stop.signal,
      onNotification(notification) {
        changes.note(notification);
        options.onNotification?.(notification);
      },
      onNoise(line) {
        if (noise.lines++ === 0) noise.first = Buffer.from(line.subarray(0, 400)).toString();
        options.onNoise?.(line);
      },
    });
    try {
      const network = options.network ?? ownOrigin(target);
      const surface = await scanSession(session, changes, { ...options, network });
      return noise.lines === 0
        ? surface
        : { ...surface, findings: [...surface.findings, noiseFinding(noise)] };
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

function noiseFinding({ lines, first }: { lines: number; first: string }): Finding {
  return {
    code: 'stdout_noise',
    path: '',
    message: `The server printed ${lines} line(s) that are no messages, first ${quote(first)}.`,
  };
}

/** Counts how often the server told that a list changed. */
class Changes {
  readonly #counts = new Map(LIST_KINDS.map((kind) => [LISTS[kind].changed, 0]));

  note({ method }: NotificationFrame): void {
    const count = this.#counts.get(method);
    if (count !== undefined) this.#counts.set(method, count + 1);
  }

  of(kind: ListKind): number {
    return this.#counts.get(LISTS[kind].changed)!;
  }
}

/** A list, and how often it had changed when it was asked for. */
interface Reading {
  readonly items: readonly JsonObject[];
  readonly changes: number;
}

type Readings = Record<ListKind, Reading>;

/**
 * Reads the whole surface over a connection that stays open. `changes` must be told of every notification. Rejects
 * with `MCP_LIST_CHANGED` when a list that was read again after a change has changed again, and with the codes of
 * {@link readList}.
 */
async function scanSession(
  session: Session,
  changes: Changes,
  options: PageLimits & ContentOptions & { readonly totalMs?: number | undefined } = {},
): Promise<Surface> {
  const { connection, capabilities } = session;
  const listening = new AbortController();
  try {
    if (session.era === 'stateless' && tellsChanges(capabilities)) listen(session, options, listening.signal);
    const kinds = LIST_KINDS.filter((kind) => capabilities.has(LISTS[kind].capability));
    const empty = { items: [], changes: 0 };
    const none = { tools: empty, prompts: empty, resources: empty, resourceTemplates: empty };
    let readings: Readings = { ...none, ...(await readLists(session, kinds, changes, options)) };
    readings = await settle(session, readings, changes, options, 1);
    const lists = mapLists(readings, ({ items }) => items);
    const { contents, findings } = await readContents(session, lists, options);
    await settle(session, readings, changes, options, 0);
    // What the server sent after its last answer counts too, if it is here.
    if (connection.failure !== null) throw connection.failure;
    const { protocolVersion, era, serverInfo, instructions, clientCapabilities } = session;
    return {
      protocolVersion,
      era,
      serverInfo,
      instructions,
      capabilities,
      clientCapabilities,
      ...lists,
      contents,
      findings,
    };
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
  { connection }: Session,
  kinds: readonly ListKind[],
  changes: Changes,
  limits: PageLimits,
): Promise<Partial<Readings>> {
  const entries = kinds.map(async (kind) => {
    const before = changes.of(kind);
    return [kind, { items: await readList(connection, kind, limits), changes: before }] as const;
  });
  return Object.fromEntries(await Promise.all(entries)) as Partial<Readings>;
}

/**
 * Reads every list again that was told to have changed since it was asked for, until it is the same twice or nothing
 * was told meanwhile. Of the same list `again` other readings are accepted, and then `MCP_LIST_CHANGED` is thrown.
 */
async function settle(
  session: Session,
  readings: Readings,
  changes: Changes,
  limits: PageLimits,
  again: number,
): Promise<Readings> {
  const moved = LIST_KINDS.filter(
    (kind) => changes.of(kind) !== readings[kind].changes && isOffered(session, kind),
  );
  if (moved.length === 0) return readings;
  const now = await readLists(session, moved, changes, limits);
  const differs = moved.filter((kind) => textOf(now[kind]!) !== textOf(readings[kind]));
  if (differs.length > 0 && again === 0) {
    throw new BullaError(
      'MCP_LIST_CHANGED',
      `The server's ${differs.map((kind) => LISTS[kind].method).join(', ')} changed while it was read.`,
    );
  }
  const next = { ...readings };
  for (const kind of moved) {
    next[kind] = differs.includes(kind) ? now[kind]! : { ...readings[kind], changes: changes.of(kind) };
  }
  return differs.length === 0 ? next : settle(session, next, changes, limits, again - 1);
}

function isOffered({ capabilities }: Session, kind: ListKind): boolean {
  return capabilities.has(LISTS[kind].capability);
}

function textOf({ items }: Reading): string {
  return stringify(items);
}

function mapLists<Value>(readings: Readings, map: (reading: Reading) => Value): Record<ListKind, Value> {
  return Object.fromEntries(LIST_KINDS.map((kind) => [kind, map(readings[kind])])) as Record<ListKind, Value>;
}
