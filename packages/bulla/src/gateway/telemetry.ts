import { toUtf8 } from '@bulla/core/crypto';
import { JsonNumber, JsonObject, stringify, textAt } from '@bulla/core/json';
import type {
  Attributes,
  Counter,
  Histogram,
  MeterProvider,
  Context as OtelContext,
  Span,
  Tracer,
  TracerProvider,
} from '@opentelemetry/api';
import { META_VERSION, type RequestFrame } from '../mcp/index.ts';
import type { Denial } from './denial.ts';
import { boundedName } from './notices.ts';
import { type Edit, locate, replace } from './wire/splice.ts';

// Spans and metrics of calls, after the semantic conventions for MCP of OpenTelemetry (semantic-conventions-genai,
// docs/gen-ai/mcp.md, in development; the names are those of semantic conventions 1.41). What those have no name for
// begins with `bulla.`. No argument and no result is told, and names only where the operator wants that.

/** What a call waits for; its spans follow each other without a gap. */
export type Phase = 'gates' | 'person' | 'intent' | 'server' | 'outcome';

/** Why the host did not get the server's answer; `rpc` is the code that it got instead, if any. */
type Reason = Pick<Denial, 'stage' | 'code'> & { readonly rpc?: number };

/** How a call ended. */
export interface CallEnd {
  /** Why it was denied, failed or was cancelled; null when the server's answer reached the host. */
  readonly denial?: Reason | null;
  /** The capsule that records the call. */
  readonly capsule?: string | null;
  /** The code of an error that the server answered with, or that the tool itself says that it failed. */
  readonly error?: number | 'tool_error' | null;
}

/** The trace of one call. */
export interface CallTrace {
  /** The call begins to wait for something else; `error` is what the phase before it ended with. */
  phase(phase: Phase, error?: number | string | null): void;
  /** It passed a gate that only watches, and would have been denied. */
  wouldBlock(): void;
  /** The edits that hand the trace on to the server, which is asked next. */
  handOn(frame: RequestFrame): readonly Edit[];
  /** The call is over; only the first time counts. */
  end(end: CallEnd): void;
}

export interface CallOrigin {
  readonly sessionId: string;
  readonly agentId: string;
  readonly server: string;
  /** How the server is reached. */
  readonly transport: 'pipe' | 'tcp';
  /** The protocol version of the session; null in the stateless era, where each request says it. */
  readonly version: string | null;
}

export interface Telemetry {
  call(frame: RequestFrame, origin: CallOrigin): CallTrace;
  /** A request of the host that is no call was denied. */
  denied(denial: Pick<Denial, 'stage' | 'code'>): void;
}

export const NO_TRACE: CallTrace = { phase() {}, wouldBlock() {}, handOn: () => [], end() {} };
export const UNTRACED: Telemetry = { call: () => NO_TRACE, denied() {} };

export interface TelemetryOptions {
  /** Whether the names of tools, prompts, servers and agents are told. Default false. */
  readonly recordNames?: boolean | undefined;
  /** Where spans and metrics go. Default: to the providers of the process. */
  readonly tracerProvider?: TracerProvider | undefined;
  readonly meterProvider?: MeterProvider | undefined;
}

type Api = typeof import('@opentelemetry/api');

/** The buckets that the conventions advise for operations, in seconds. */
const OPERATION = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
/** People take seconds to days. */
const PERSON = [1, 2, 5, 10, 30, 60, 120, 300, 900, 3600, 14_400, 86_400];
/** From a write to memory to a disk that is busy. */
const SEAL = [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5];

/**
 * Telemetry through `@opentelemetry/api`, for an SDK that the process has loaded before. Null without that package, or
 * without an SDK: then nothing is to be done for a call.
 */
export async function openTelemetry(options: TelemetryOptions = {}): Promise<Telemetry | null> {
  let api: Api;
  try {
    api = await import('@opentelemetry/api');
  } catch {
    return null;
  }
  const { tracerProvider = api.trace, meterProvider = api.metrics } = options;
  const probe = tracerProvider.getTracer('bulla').startSpan('bulla.probe').spanContext();
  const isIdle = !api.isSpanContextValid(probe) && meterProvider.getMeter('bulla') === api.createNoopMeter();
  return isIdle ? null : telemetryOf(api, options);
}

/** What all calls of a process share. */
function telemetryOf(api: Api, options: TelemetryOptions): Telemetry {
  const { recordNames = false, tracerProvider = api.trace, meterProvider = api.metrics } = options;
  const tracer = tracerProvider.getTracer('bulla');
  const meter = meterProvider.getMeter('bulla');
  const seconds = (name: string, description: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { unit: 's', description, advice: { explicitBucketBoundaries } });
  const instruments: Instruments = {
    calls: meter.createCounter('bulla.calls', { unit: '{call}', description: 'Calls of hosts.' }),
    denials: meter.createCounter('bulla.denials', { unit: '{denial}', description: 'Denied requests.' }),
    whole: seconds('mcp.server.operation.duration', 'From the call to its answer.', OPERATION),
    server: seconds('mcp.client.operation.duration', 'How long the server took.', OPERATION),
    person: seconds('bulla.person.duration', 'How long calls waited for people.', PERSON),
    seal: seconds('bulla.seal.duration', 'How long records took to be durable.', SEAL),
  };
  return {
    call: (frame, origin) => new OtelTrace({ api, tracer, instruments, recordNames }, frame, origin),
    denied: (denial) => countDenial(instruments, denial),
  };
}

interface Instruments {
  readonly calls: Counter;
  readonly denials: Counter;
  readonly whole: Histogram;
  readonly server: Histogram;
  readonly person: Histogram;
  readonly seal: Histogram;
}

interface Shared {
  readonly api: Api;
  readonly tracer: Tracer;
  readonly instruments: Instruments;
  readonly recordNames: boolean;
}

/** One clock for all times of a call, so that its spans meet exactly. */
const now = (): number => performance.timeOrigin + performance.now();

class OtelTrace implements CallTrace {
  readonly #shared: Shared;
  readonly #attributes: Attributes;
  readonly #name: string;
  readonly #transport: CallOrigin['transport'];
  readonly #startedAt = now();
  readonly #span: Span;
  readonly #context: OtelContext;
  #phase: { readonly name: Phase; readonly span: Span; readonly at: number } | null = null;
  #decision: 'allowed' | 'would-block' = 'allowed';
  #wasForwarded = false;
  #isOver = false;

  constructor(shared: Shared, frame: RequestFrame, origin: CallOrigin) {
    const { api, tracer, recordNames } = shared;
    const { method, params, id } = frame;
    const named = recordNames ? NAMES[method] : undefined;
    const target = named === undefined ? null : textAt(params, ['name']);
    this.#shared = shared;
    this.#transport = origin.transport;
    this.#attributes = {
      'mcp.method.name': method,
      ...(method === 'tools/call' && { 'gen_ai.operation.name': 'execute_tool' }),
      ...(named && target !== null && { [named]: boundedName(target) }),
    };
    this.#name = target === null ? method : `${method} ${boundedName(target)}`;
    const version = textAt(params, ['_meta', META_VERSION]) ?? origin.version;
    this.#span = tracer.startSpan(
      this.#name,
      {
        kind: api.SpanKind.SERVER,
        startTime: this.#startedAt,
        attributes: {
          ...this.#attributes,
          'mcp.session.id': origin.sessionId,
          'jsonrpc.request.id': boundedName(id instanceof JsonNumber ? id.lexeme : id),
          ...(version !== null && { 'mcp.protocol.version': version }),
          ...(recordNames && { 'gen_ai.agent.id': origin.agentId, 'bulla.server.name': origin.server }),
        },
      },
      parentOf(api, frame),
    );
    this.#context = api.trace.setSpan(api.ROOT_CONTEXT, this.#span);
    this.phase('gates');
  }

  phase(name: Phase, error: number | string | null = null): void {
    if (this.#isOver || this.#phase?.name === name) return;
    const at = this.#phase === null ? this.#startedAt : now();
    this.#leave(at, error);
    const { api, tracer } = this.#shared;
    const isServer = name === 'server';
    if (isServer) this.#wasForwarded = true;
    const span = tracer.startSpan(
      isServer ? this.#name : `bulla.${name}`,
      {
        kind: isServer ? api.SpanKind.CLIENT : api.SpanKind.INTERNAL,
        startTime: at,
        ...(isServer && { attributes: { ...this.#attributes, 'network.transport': this.#transport } }),
      },
      this.#context,
    );
    this.#phase = { name, span, at };
  }

  #leave(at: number, error: number | string | null): void {
    if (this.#phase === null) return;
    const { name, span, at: from } = this.#phase;
    const { server, person, seal } = this.#shared.instruments;
    const took = (at - from) / 1000;
    const failure = error === null ? {} : { 'error.type': String(error) };
    if (error !== null) {
      span.setAttributes(failure);
      span.setStatus({ code: this.#shared.api.SpanStatusCode.ERROR });
    }
    if (name === 'server') server.record(took, { ...this.#attributes, ...failure });
    else if (name === 'person') person.record(took);
    else if (name !== 'gates') seal.record(took, { 'bulla.record': name });
    span.end(at);
    this.#phase = null;
  }

  wouldBlock(): void {
    this.#decision = 'would-block';
  }

  handOn(frame: RequestFrame): readonly Edit[] {
    const { api } = this.#shared;
    const context = this.#phase?.span.spanContext();
    if (context === undefined || !api.isSpanContextValid(context)) return [];
    const { traceId, spanId, traceFlags, traceState } = context;
    return metaEdits(frame, {
      traceparent: `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`,
      tracestate: traceState?.serialize() ?? '',
    });
  }

  end({ denial = null, capsule = null, error = null }: CallEnd): void {
    if (this.#isOver) return;
    const { api, instruments } = this.#shared;
    const at = now();
    this.#leave(at, null);
    this.#isOver = true;
    const decision = this.#decided(denial);
    const status = denial === null ? (typeof error === 'number' ? error : undefined) : denial.rpc;
    const type = status ?? denial?.code ?? error;
    const failure = type === null ? {} : { 'error.type': String(type) };
    this.#span.setAttributes({
      'bulla.decision': decision,
      ...(denial !== null && { 'bulla.gate': denial.stage, 'bulla.code': denial.code }),
      ...(capsule !== null && { 'bulla.capsule.id': capsule }),
      ...failure,
      ...(status !== undefined && { 'rpc.response.status_code': String(status) }),
    });
    if (type !== null) this.#span.setStatus({ code: api.SpanStatusCode.ERROR });
    this.#span.end(at);
    const method = { 'mcp.method.name': this.#attributes['mcp.method.name']! };
    // Names that no lock knows would make endless time series.
    const known = decision === 'allowed' ? this.#attributes : method;
    instruments.whole.record((at - this.#startedAt) / 1000, { ...known, ...failure });
    instruments.calls.add(1, { ...method, 'bulla.decision': decision });
    if (decision === 'denied') countDenial(instruments, denial!);
  }

  /** What happens after a call was forwarded is no decision about it. */
  #decided(denial: Reason | null): string {
    if (denial === null || this.#wasForwarded) return this.#decision;
    return UNDECIDED.includes(denial.code) ? 'cancelled' : 'denied';
  }
}

const UNDECIDED = ['GATEWAY_CANCELLED', 'GATEWAY_NOT_SENT'];

function countDenial({ denials }: Instruments, { code, stage }: Reason): void {
  denials.add(1, { 'bulla.code': code, 'bulla.gate': stage });
}

/** Which attribute names what a method is about. */
const NAMES: Readonly<Record<string, string>> = {
  'tools/call': 'gen_ai.tool.name',
  'prompts/get': 'gen_ai.prompt.name',
};

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const MAX_TRACESTATE = 512;

/** The trace that the host says the call belongs to (W3C Trace Context, in `_meta` by SEP-414). */
function parentOf(api: Api, { params }: RequestFrame): OtelContext {
  const match = TRACEPARENT.exec(textAt(params, ['_meta', 'traceparent']) ?? '');
  if (match === null) return api.ROOT_CONTEXT;
  const state = textAt(params, ['_meta', 'tracestate']) ?? '';
  const parent = {
    traceId: match[1]!,
    spanId: match[2]!,
    traceFlags: Number.parseInt(match[3]!, 16),
    isRemote: true,
    ...(state !== '' && state.length <= MAX_TRACESTATE && { traceState: api.createTraceState(state) }),
  };
  return api.isSpanContextValid(parent)
    ? api.trace.setSpanContext(api.ROOT_CONTEXT, parent)
    : api.ROOT_CONTEXT;
}

/**
 * Writes the trace into `_meta`, and nothing else of it. A `tracestate` of the host that does not belong to the trace is
 * emptied.
 */
export function metaEdits(
  frame: RequestFrame,
  { traceparent, tracestate }: { readonly traceparent: string; readonly tracestate: string },
): readonly Edit[] {
  const edits: Edit[] = [];
  const missing: string[] = [];
  for (const [key, value] of Object.entries({ traceparent, tracestate })) {
    const place = locate(frame, 'params', '_meta', key);
    if (place !== null) edits.push(replace(place, toUtf8(stringify(value))));
    else if (value !== '') missing.push(`"${key}":${stringify(value)}`);
  }
  if (missing.length === 0) return edits;
  const meta = locate(frame, 'params', '_meta');
  const into = meta ?? locate(frame, 'params');
  if (!(into?.value instanceof JsonObject)) return edits;
  const text = meta === null ? `"_meta":{${missing.join(',')}}` : missing.join(',');
  const start = into.span.start + 1;
  return [...edits, { start, end: start, bytes: toUtf8(into.value.size === 0 ? text : `${text},`) }];
}
