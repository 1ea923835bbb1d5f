import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BullaError } from '@bulla/core/error';
import type { Lock } from '@bulla/core/lock';
import { checkIdentity, serverDigest, serverName } from '../locks/index.ts';
import { connectStdio, environmentOf, type StdioTarget, type Transport } from '../mcp/index.ts';
import { createRecorder } from '../record/index.ts';
import type { Store } from '../store/index.ts';
import type { Context, Enforcement } from './context.ts';
import { asDenial, Denial } from './denial.ts';
import { type Gate, gatesOf } from './gates/index.ts';
import type { ClientFeature } from './gates/methods.ts';
import { Session } from './gates/session.ts';
import { Offers } from './lists/offers.ts';
import { pinsOf } from './lists/pins.ts';
import { type HostStreams, HostWriter, readHost } from './peer/host.ts';
import { Pipeline } from './pipeline.ts';
import { SessionRecord } from './record.ts';
import { serverEnded, Wire } from './wire/wire.ts';

/** `enforce` removes and blocks; `filter` only removes from lists; `audit` does neither. All of them record. */
export type Mode = 'enforce' | 'filter' | 'audit';

const ENFORCED: Readonly<Record<Mode, Enforcement>> = {
  enforce: { lists: true, calls: true },
  filter: { lists: true, calls: false },
  audit: { lists: false, calls: false },
};

export interface GuardOptions {
  /** What the server may offer and the host may call. */
  readonly lock: Lock;
  readonly server: StdioTarget;
  /** What is started for that command: the program that the lock pins for it. Default: the command itself. */
  readonly start?: Pick<StdioTarget, 'command' | 'args'> | undefined;
  readonly host: HostStreams;
  /** Where everything is recorded. It stays open. */
  readonly store: Store;
  /** Default `default`. */
  readonly chain?: string | undefined;
  readonly agentId: string;
  /** The session in records; with the consent gate, that of its identity. Default: a fresh UUID. */
  readonly sessionId?: string | undefined;
  /** What records call the server. Default: as it called itself when it was locked. */
  readonly name?: string | undefined;
  /** Default `enforce`. */
  readonly mode?: Mode | undefined;
  /** What the server may ask of the host. Default: nothing. */
  readonly features?: readonly ClientFeature[] | undefined;
  /** Decisions about calls beside those of the lock and the kill switch, in their order. Default: none. */
  readonly gates?: readonly Gate[] | undefined;
  /** Start a server that is not the one that the lock names. Default false. */
  readonly allowOtherServer?: boolean | undefined;
  /** How long to wait for an answer, since the last progress. Default 600,000 ms. */
  readonly timeoutMs?: number | undefined;
  /** The lists of the server are read again before a call when they are older than this. Default 60,000 ms. */
  readonly recheckMs?: number | undefined;
  /** How long answers are waited for once the host has closed its side. Default 1,000 ms. */
  readonly drainMs?: number | undefined;
  /**
   * How long the server may take to end once its input is closed, and again once it was asked to, and the host to take
   * the last answers. Default 400 ms.
   */
  readonly graceMs?: number | undefined;
  /** The longest message. Default 10 MiB. */
  readonly maxBytes?: number | undefined;
  /** Ends the session as if the host had closed its side; if that was so before, without waiting for answers. */
  readonly signal?: AbortSignal | undefined;
  readonly onStderr?: ((chunk: Uint8Array) => void) | undefined;
  /** Takes lines for the operator. Default: they are dropped. */
  readonly log?: ((line: string) => void) | undefined;
}

/** How a session ended. */
export interface GuardExit {
  readonly ended: 'host' | 'server' | 'signal' | 'gateway';
  /** Why the server ended, if it ended first, or a failure of the gateway. */
  readonly error: BullaError | null;
  readonly calls: number;
  readonly blocked: number;
}

/**
 * Stands between a host and a server: to the host it is the server, on its own standard streams; the server is its
 * child. Nothing passes that the table of methods does not name, nothing is called that is not locked and offered
 * exactly so, and nothing is called that is not recorded before. Resolves when the session is over, the server and all
 * that it started are gone, and everything is recorded. Rejects before the server is started with
 * `GATEWAY_OTHER_SERVER`, `MCP_TARGET_ENV` and whatever keeps the start from being recorded, and with
 * `MCP_SPAWN_FAILED`.
 */
export async function guard(options: GuardOptions): Promise<GuardExit> {
  const { lock, server, start = server, store, maxBytes, graceMs = DEFAULT_GRACE_MS } = options;
  if (!options.allowOtherServer) checkIdentity(lock, server);
  const env = environmentOf(server, process.env);
  const pins = pinsOf(lock);
  const record = new SessionRecord({
    store,
    recorder: createRecorder(store.chain(options.chain ?? 'default'), { instance: randomUUID() }),
    agentId: options.agentId,
    sessionId: options.sessionId ?? randomUUID(),
    server: { name: options.name ?? serverName(lock, server), digest: serverDigest(server) },
    lock: pins.lock,
  });
  await record.opened();

  const over = Promise.withResolvers<Pick<GuardExit, 'ended' | 'error'>>();
  // It stands before anything of the server can be read.
  let pipeline!: Pipeline;
  const frames = { spans: true, ...(maxBytes === undefined ? {} : { maxBytes }) };
  let transport: Transport;
  try {
    transport = await connectStdio(
      start.command,
      start.args,
      {
        env,
        frames,
        onStderr: options.onStderr,
        onNoise: () => pipeline.noise(),
        graceMs,
        termMs: graceMs,
      },
      {
        frame: (frame) => pipeline.fromServer(frame),
        refused: (error, bytes) => void pipeline.refusedFromServer(error, bytes),
        ended(error) {
          const isOurs = error.code === 'MCP_RECEIVER_FAILED';
          pipeline.end(isOurs ? asDenial(error) : serverEnded(error));
          over.resolve({ ended: isOurs ? 'gateway' : 'server', error });
        },
      },
    );
  } catch (error) {
    await record.closed((error as BullaError).code);
    throw error;
  }
  const host = new HostWriter(options.host.output);
  const base: Omit<Context, 'gates'> = {
    pins,
    enforce: ENFORCED[options.mode ?? 'enforce'],
    features: new Set(options.features),
    session: new Session(),
    offers: new Offers(pins, options.recheckMs ?? DEFAULT_RECHECK_MS, () => performance.now()),
    record,
    host,
    wire: new Wire(transport, options.timeoutMs ?? DEFAULT_TIMEOUT_MS),
    log: options.log ?? (() => {}),
  };
  const context: Context = { ...base, gates: gatesOf(base, options.gates ?? []) };
  pipeline = new Pipeline(context, transport);

  void readHost(
    options.host.input,
    {
      frame: (frame) => pipeline.fromHost(frame),
      refused: (error, bytes) => pipeline.refusedFromHost(error, bytes),
    },
    maxBytes,
  ).then(
    () => over.resolve({ ended: 'host', error: null }),
    (error) => over.resolve({ ended: 'gateway', error: asDenial(error) }),
  );
  const onAbort = (): void => over.resolve({ ended: 'signal', error: null });
  options.signal?.addEventListener('abort', onAbort);
  if (options.signal?.aborted) onAbort();

  const exit = await over.promise;
  options.host.input.destroy();
  if (exit.ended !== 'server') {
    const hurry = exit.ended === 'host' ? options.signal : undefined;
    await drained(context.wire, options.drainMs ?? DEFAULT_DRAIN_MS, hurry);
  }
  pipeline.end(new Denial('server', 'GATEWAY_CLOSED', 'The session ended before the server answered.'));
  host.hurry(graceMs);
  await transport.close();
  await pipeline.idle();
  options.signal?.removeEventListener('abort', onAbort);
  await host.flushed();
  await record.closed(exit.error?.code ?? null);
  const { calls, blocked, unrecorded } = record.counts;
  for (const [code, count] of Object.entries(unrecorded)) {
    context.log(`${count} more of ${code} were counted in the last record of the session only`);
  }
  return { ...exit, calls, blocked };
}

const DEFAULT_TIMEOUT_MS = 600_000;
const DEFAULT_RECHECK_MS = 60_000;
/** A host that ends its servers as the SDK does gives them two seconds after each step, and then kills. */
const DEFAULT_DRAIN_MS = 1000;
const DEFAULT_GRACE_MS = 400;

/** Resolves when no answer is waited for, or the time is over, or nobody wants to wait any longer. */
async function drained(wire: Wire, ms: number, signal: AbortSignal | undefined): Promise<void> {
  const until = performance.now() + ms;
  while (wire.isWaiting && performance.now() < until && !signal?.aborted) await sleep(5);
}
