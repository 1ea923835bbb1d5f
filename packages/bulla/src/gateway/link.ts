import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { BullaError } from '@bulla/core/error';
import type { Lock } from '@bulla/core/lock';
import type { Policy } from '@bulla/core/policy';
import { checkIdentity, identityOf, serverDigest, serverName } from '../locks/index.ts';
import {
  type Confinement,
  type Connect,
  connectHttp,
  connectStdio,
  environmentOf,
  type Frame,
  type HttpOptions,
  headersFor,
  parseUrl,
  quote,
  type RequestFrame,
  type StdioTarget,
  type Target,
  type Transport,
} from '../mcp/index.ts';
import { createRecorder } from '../record/index.ts';
import type { Store } from '../store/index.ts';
import type { OutputRules } from './answers/output.ts';
import type { Context } from './context.ts';
import { asDenial, Denial } from './denial.ts';
import type { ConsentGateOptions, EnvelopeGateOptions, Gate } from './gates/index.ts';
import type { ClientFeature } from './gates/methods.ts';
import { Session } from './gates/session.ts';
import type { UriRules } from './gates/uris.ts';
import { History } from './history.ts';
import { changedLists, tellChanged } from './lists/changed.ts';
import { calledTool, type Mirrored } from './lists/mirrored.ts';
import { Offers } from './lists/offers.ts';
import { checkSelf } from './lists/self.ts';
import { Shown } from './lists/shown.ts';
import { tellSelf } from './notices.ts';
import type { Channel, Host } from './peer/channel.ts';
import { Pipeline } from './pipeline.ts';
import type { Preflight, PreflightOptions } from './preflight.ts';
import { ChainRecord, type SessionContext, type SessionRecord } from './record.ts';
import { appliedOf, configuredOf, gatesFor, type Rules, rulesOf } from './rules.ts';
import { selfTest } from './self-test.ts';
import { type Telemetry, UNTRACED } from './telemetry.ts';
import type { ToolTable } from './tools.ts';
import { Unrecorded } from './unrecorded.ts';
import { openUpstream, type UpstreamReceiver } from './upstream/upstream.ts';
import { serverEnded, Wire } from './wire/wire.ts';

/** `enforce` removes and blocks; `filter` only removes from lists; `audit` does neither. All of them record. */
export type Mode = 'enforce' | 'filter' | 'audit';

/** The session in which people are asked. */
export interface AskedSession {
  readonly sessionId: string;
  readonly isShared: boolean;
}

/** How a server is reached, what of it passes, and where that is recorded. */
export interface LinkOptions extends OutputRules, PreflightOptions {
  /** What the server may offer and the host may call. */
  readonly lock: Lock;
  readonly server: Target;
  /** What is started for a command: the program that the lock pins for it. Default: the command itself. */
  readonly start?: Pick<StdioTarget, 'command' | 'args'> | undefined;
  /** Start it in a sandbox, or not at all. Default: it may do what this user may. */
  readonly confine?: Confinement | undefined;
  /** Where the values of the variables that it may see are taken from, and the folder in which it is started. */
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
  readonly cwd?: string | undefined;
  /** Headers and credentials for a server at an address. */
  readonly http?: Pick<HttpOptions, 'headers' | 'secretHeaders' | 'authorizer'> | undefined;
  /** Where everything is recorded. It stays open. Only without `record` there may be none. */
  readonly store?: Store | undefined;
  /**
   * Whether calls and denials are recorded. Without it the lock and the rules are enforced and nothing else: nothing is
   * sealed, no kill switch is asked, and gates that need a record are refused. Default true.
   */
  readonly record?: boolean | undefined;
  /** Default `default`. */
  readonly chain?: string | undefined;
  readonly agentId: string;
  /** The session in records; with the consent gate, that of its identity. Default: a fresh UUID. */
  readonly sessionId?: string | undefined;
  /** What was done in the session so far, with a link to the server that was before this one. Default: nothing. */
  readonly history?: History | undefined;
  /** Whether several hosts may share it, which may differ in what they can do. Default false. */
  readonly isShared?: boolean | undefined;
  /** What records call the server. Default: as it called itself when it was locked. */
  readonly name?: string | undefined;
  /** Start a server that ended again when it is needed. Default false: the link ends with it. */
  readonly restart?: boolean | undefined;
  /** Default `enforce`. */
  readonly mode?: Mode | undefined;
  /** What the server may ask of the host. Default: nothing. */
  readonly features?: readonly ClientFeature[] | undefined;
  /** Rules about calls and their results, which are asked before `gates`. Default: none. */
  readonly rules?: readonly Policy[] | undefined;
  /**
   * How people are asked about calls of tools, in a session with this id that several hosts may share. Default: nobody is
   * asked. Nobody is asked either in the modes that only watch.
   */
  readonly consent?: ((session: AskedSession) => ConsentGateOptions) | undefined;
  /** Which calls need an envelope, and who approves them. Default: none. */
  readonly envelopes?: EnvelopeGateOptions | undefined;
  /** Rules for single tools, by the names that the server gives them. Default: none. */
  readonly tools?: ToolTable | undefined;
  /** Decisions about calls beside those above, in their order. Default: none. */
  readonly gates?: readonly Gate[] | undefined;
  /** Where URIs in arguments may lead. Default: to any public host. */
  readonly uris?: UriRules | undefined;
  /** Use a server that is not the one that the lock names. Default false. */
  readonly allowOtherServer?: boolean | undefined;
  /** Answer denials with the codes and words of the released lock program. Default false. */
  readonly released?: boolean | undefined;
  /** How long to wait for an answer, since the last progress. Default 600,000 ms. */
  readonly timeoutMs?: number | undefined;
  /** The lists of the server are read again before a call when they are older than this. Default 60,000 ms. */
  readonly recheckMs?: number | undefined;
  /** How long answers are waited for once the host has closed its side. Default 1,000 ms. */
  readonly drainMs?: number | undefined;
  /** How long the server may take to end once its input is closed, and again once it was asked to. Default 400 ms. */
  readonly graceMs?: number | undefined;
  /** The longest message. Default 10 MiB. */
  readonly maxBytes?: number | undefined;
  readonly onStderr?: ((chunk: Uint8Array) => void) | undefined;
  /** Where spans and metrics of calls go. Default: nowhere. */
  readonly telemetry?: Telemetry | undefined;
  /** Takes lines for the operator. Default: they are dropped. */
  readonly log?: ((line: string) => void) | undefined;
}

/** One server as a host has it, whose rules can be replaced. */
export interface Link extends Served {
  /**
   * Puts the lock, the mode, the rules, the gates, the rules for URIs and the times of other options in the place of the
   * present ones. Calls that are being decided are denied; those that were forwarded go on. The server is compared with
   * its lock again before anything more passes, where that is asked for. The host is told when what it may see has
   * changed. Rejects with `GATEWAY_OTHER_SERVER`, `GATEWAY_SELF_TEST` and `USAGE`; then nothing is replaced.
   */
  update(options: LinkOptions): Promise<void>;
}

/** Why a link ended by itself. */
export interface Ending {
  readonly ended: 'server' | 'gateway';
  readonly error: BullaError;
}

export interface Counts {
  readonly calls: number;
  readonly blocked: number;
}

/** What a host talks to: one server, or several that look like one. */
export interface Served {
  /** Takes a message of the host; `channel` is the way back. While the promise is pending, nothing more should come. */
  fromHost(frame: Frame, channel: Channel): void | Promise<void>;
  /** The host sent what is no message. */
  refusedFromHost(error: BullaError, bytes: Uint8Array, channel: Channel): void | Promise<void>;
  /** The host closed the way back of some of its requests, which cancels them. */
  gone(channel: Channel): void;
  /** Resolves when nothing more can be asked. */
  readonly over: Promise<Ending>;
  /** Whether an answer is pending, other than the end of a subscription. */
  readonly isWaiting: boolean;
  /** Waits for the answers that are on their way, for a while, or until `hurry` is aborted. */
  drain(hurry?: AbortSignal): Promise<void>;
  /** Ends the server and all that it started, and records that, with the code of what ended it. */
  close(code: string | null): Promise<Counts>;
}

const DEFAULT_TIMEOUT_MS = 600_000;
const DEFAULT_RECHECK_MS = 60_000;
/** A host that ends its servers as the SDK does gives them two seconds after each step, and then kills. */
const DEFAULT_DRAIN_MS = 1000;
export const DEFAULT_GRACE_MS = 400;

/**
 * One session of a host with one server. Nothing passes that the table of methods does not name, nothing is called that
 * is not locked and offered exactly so, and nothing is called that is not recorded before. Rejects before the server is
 * started with `GATEWAY_OTHER_SERVER`, `GATEWAY_SELF_TEST`, `MCP_TARGET_ENV`, `USAGE` for options that do not go
 * together and whatever keeps the start from being recorded, and with `MCP_SPAWN_FAILED` or as `confined` throws.
 */
export async function openLink(options: LinkOptions, host: Host): Promise<Link> {
  const { server, log = () => {} } = options;
  if (!options.allowOtherServer) checkIdentity(options.lock, server);
  let rules = await rulesOf(options, log);
  const connect = connector(
    options,
    () => rules.mirrored,
    () => pipeline.noise(),
  );
  const sessionId = options.sessionId ?? randomUUID();
  const record = recordOf(options, {
    agentId: options.agentId,
    sessionId,
    server: { name: options.name ?? serverName(rules.lock, server), digest: serverDigest(server) },
    lock: rules.pins.lock,
  });
  let transport: Transport | null = null;
  const upstream: Upstream = {
    get isPerRequest() {
      return transport?.isPerRequest ?? false;
    },
    async send(frame, signal) {
      if (transport === null) throw new BullaError('MCP_CLOSED', 'The server is not connected yet.');
      return transport.send(frame, signal);
    },
  };
  const over = Promise.withResolvers<Ending>();
  const context: { -readonly [Member in keyof Context]: Context[Member] } = {
    ...appliedOf(rules),
    features: new Set(options.features),
    session: new Session(),
    offers: new Offers(rules.pins, recheckOf(options), () => performance.now()),
    shown: new Shown((tools) => linkShown(record, tools, log)),
    record,
    history: options.history ?? new History(sessionId),
    host,
    wire: new Wire(upstream, timeoutOf(options)),
    telemetry: options.telemetry ?? UNTRACED,
    transport: server.kind === 'stdio' ? 'pipe' : 'tcp',
    released: options.released ?? false,
    preflight: null,
    gates: [],
    askHost: (to, method, params, signal) => pipeline.askHost(to, method, params, signal),
    log,
  };
  context.gates = gatesFor(context, options, rules);
  const pipeline = new Pipeline(context, upstream);
  /** It keeps the rules that it is made with, and refuses nothing once another one has its place. */
  const preflightOf = (given: LinkOptions, made: Rules): Preflight | null =>
    made.Preflight &&
    new made.Preflight(
      { ...context, ...appliedOf(made) },
      {
        ...given,
        lock: made.lock,
        identity: given.allowOtherServer ? null : identityOf(server),
        refuse(denial) {
          pipeline.end(denial);
          over.resolve({ ended: 'gateway', error: denial });
        },
      },
    );
  context.preflight = preflightOf(options, rules);
  const configured = configuredOf(options);
  const tested = await selfTest(context, configured).catch((error) => error as BullaError);
  await record.opened({
    selfTest: typeof tested === 'string' ? tested : 'failed',
    // Whether calls are decided by the agent's manifest and its person.
    consent: configured.includes('consent') ? 'manifest' : 'none',
  });
  if (typeof tested !== 'string') {
    await record.closed(tested.code);
    throw tested;
  }

  const receiver: UpstreamReceiver = {
    frame: (frame, on) => pipeline.fromServer(frame, on),
    refused: (error, bytes) => void pipeline.refusedFromServer(error, bytes),
    reset: (error) => pipeline.reset(serverEnded(error)),
    changed: (method) => pipeline.changed(method),
    ended(error) {
      const isOurs = error.code === 'MCP_RECEIVER_FAILED';
      pipeline.end(isOurs ? asDenial(error) : serverEnded(error));
      over.resolve({ ended: isOurs ? 'gateway' : 'server', error });
    },
  };
  try {
    transport = await openUpstream(connect, receiver, {
      era: rules.lock.native?.era ?? null,
      restart: options.restart ?? false,
      isShared: options.isShared ?? false,
      features: new Set(options.features),
      timeoutMs: timeoutOf(options),
      described: (frame, method) => tellSelf(context, method, checkSelf(frame, context.pins)),
    });
  } catch (error) {
    await record.closed((error as BullaError).code);
    throw error;
  }

  const update = async (next: LinkOptions): Promise<void> => {
    if (!next.allowOtherServer) checkIdentity(next.lock, server);
    checkRecorded(next);
    const made = await rulesOf(next, log);
    // On a copy, so that nothing is replaced before the test.
    const trial: Context = { ...context, ...appliedOf(made) };
    await selfTest({ ...trial, gates: gatesFor(trial, next, made) }, configuredOf(next));
    const changed = changedLists(rules, made);
    rules = made;
    Object.assign(context, appliedOf(made));
    context.gates = gatesFor(context, next, made);
    context.preflight?.retire();
    context.preflight = preflightOf(next, made);
    context.telemetry = next.telemetry ?? UNTRACED;
    context.released = next.released ?? false;
    context.offers.relock(made.pins, recheckOf(next));
    context.wire.timeoutMs = timeoutOf(next);
    record.relock(made.pins.lock);
    tellChanged(context, changed);
  };
  // One after the other: of two sets of rules the later one stays.
  let updating: Promise<void> = Promise.resolve();

  return {
    fromHost: (frame, channel) => pipeline.fromHost(frame, channel),
    refusedFromHost: (error, bytes, channel) => pipeline.refusedFromHost(error, bytes, channel),
    gone: (channel) => pipeline.gone(channel),
    over: over.promise,
    get isWaiting() {
      return context.wire.isWaiting;
    },
    update(next) {
      updating = updating.catch(() => {}).then(() => update(next));
      return updating;
    },
    async drain(hurry) {
      const until = performance.now() + (options.drainMs ?? DEFAULT_DRAIN_MS);
      while (context.wire.isWaiting && performance.now() < until && !hurry?.aborted) await sleep(5);
    },
    async close(code) {
      pipeline.end(new Denial('server', 'GATEWAY_CLOSED', 'The session ended before the server answered.'));
      await transport?.close();
      await pipeline.idle();
      await record.closed(code);
      const { calls, blocked, unrecorded } = record.counts;
      for (const [what, count] of Object.entries(unrecorded)) {
        context.log(`${count} more of ${what} were counted in the last record of the session only`);
      }
      return { calls, blocked };
    },
  };
}

type Upstream = Pick<Transport, 'send' | 'isPerRequest'>;

const timeoutOf = ({ timeoutMs = DEFAULT_TIMEOUT_MS }: LinkOptions): number => timeoutMs;
const recheckOf = ({ recheckMs = DEFAULT_RECHECK_MS }: LinkOptions): number => recheckMs;

/** Throws `USAGE` for a record without a store, and for gates and modes that are nothing without a record. */
export function checkRecorded({
  record = true,
  store,
  gates = [],
  mode,
  consent,
  envelopes,
}: Pick<LinkOptions, 'record' | 'store' | 'gates' | 'mode' | 'consent' | 'envelopes'>): void {
  if (record) {
    if (store === undefined) throw new BullaError('USAGE', 'There is no store to record in.');
    return;
  }
  const gate =
    (consent && 'consent') ?? (envelopes && 'envelope') ?? gates.find(({ needsRecord }) => needsRecord)?.name;
  if (gate !== undefined) throw new BullaError('USAGE', `The ${gate} gate needs a record of each call.`);
  if (mode === 'audit')
    throw new BullaError('USAGE', 'The mode that only watches is nothing without a record of what it sees.');
}

/** Throws as `checkRecorded`. */
function recordOf(options: LinkOptions, context: SessionContext): SessionRecord {
  checkRecorded(options);
  const { record = true, store, chain } = options;
  if (!record) return new Unrecorded(context);
  const recorder = createRecorder(store!.chain(chain ?? 'default'));
  const onLate = (intent: string) =>
    options.log?.(
      `the outcome of ${intent} is recorded late: the lease of this process had ended, and the call was marked`,
    );
  return new ChainRecord({ ...context, store: store!, recorder, onLate });
}

/** Null, with a word to the operator, where the definitions have no hash. Rejects when the link cannot be recorded. */
async function linkShown(
  record: SessionRecord,
  tools: Parameters<SessionRecord['linkShown']>[0],
  log: (line: string) => void,
): ReturnType<SessionRecord['linkShown']> {
  try {
    return await record.linkShown(tools);
  } catch (error) {
    const denial = asDenial(error);
    if (error instanceof Denial) throw denial;
    log(`what the host was shown has no capability hash, and records do not name one [${denial.code}]`);
    return null;
  }
}

function connector(options: LinkOptions, mirrored: () => Mirrored | null, onNoise: () => void): Connect {
  const { server, start, maxBytes, graceMs = DEFAULT_GRACE_MS } = options;
  const frames = maxBytes === undefined ? {} : { maxBytes };
  if (server.kind === 'http') {
    const url = parseUrl(server.url);
    const headersOf = (request: RequestFrame) => {
      const called = calledTool(request);
      const values = called && mirrored()?.valuesOf(called.name, called.args);
      return values ? headersFor(values) : {};
    };
    const told = new Set<string>();
    const onUnauthorized = ({ code, message, cause }: BullaError) => {
      if (told.has(message)) return;
      told.add(message);
      const why = cause instanceof BullaError ? ` (${quote(cause.message)})` : '';
      options.log?.(`${message}${why} [${code}]`);
    };
    const http = { ...options.http, renews: true, onUnauthorized, headersOf, frames };
    return (receiver) => connectHttp(url, http, receiver);
  }
  const env = environmentOf(server, options.environment ?? process.env);
  const { command, args } = start ?? server;
  const { onStderr, confine, cwd } = options;
  const stdio = { env, cwd, confine, frames, onStderr, onNoise, graceMs, termMs: graceMs };
  return (receiver) => connectStdio(command, args, stdio, receiver);
}
