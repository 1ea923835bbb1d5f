import { toUtf8 } from '@bulla/core/crypto';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { expect, onTestFinished, test } from 'vitest';
import { initialize, records, startRogue } from '../../test/guard.ts';
import { parseFrame, type RequestFrame } from '../mcp/index.ts';
import type { Gate } from './gates/gate.ts';
import { metaEdits, openTelemetry, type Telemetry } from './telemetry.ts';
import { splice } from './wire/splice.ts';

/** A real SDK that keeps what it is told. */
async function sdk(recordNames: boolean) {
  const exporter = new InMemorySpanExporter();
  const tracerProvider = new TracerProvider({
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
  });
  const kept = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: kept, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  onTestFinished(async () => {
    await tracerProvider.shutdown();
    await meterProvider.shutdown();
  });
  const telemetry = (await openTelemetry({ recordNames, tracerProvider, meterProvider })) as Telemetry;
  return {
    telemetry,
    async spans(): Promise<ReadableSpan[]> {
      await tracerProvider.forceFlush();
      return exporter.getFinishedSpans();
    },
    /** Each series by its instrument: its attributes, and its value or the number of its values. */
    async metrics(): Promise<Record<string, [object, number][]>> {
      await meterProvider.forceFlush();
      const { scopeMetrics } = kept.getMetrics().at(-1)!;
      return Object.fromEntries(
        scopeMetrics
          .flatMap(({ metrics }) => metrics)
          .map(({ descriptor, dataPoints }) => [
            descriptor.name,
            dataPoints.map(({ attributes, value }): [object, number] => [
              attributes,
              typeof value === 'number' ? value : value.count,
            ]),
          ]),
      );
    },
    async boundaries(): Promise<Record<string, number[]>> {
      await meterProvider.forceFlush();
      const { scopeMetrics } = kept.getMetrics().at(-1)!;
      const found: Record<string, number[]> = {};
      for (const { descriptor, dataPoints } of scopeMetrics.flatMap(({ metrics }) => metrics)) {
        for (const { value } of dataPoints) {
          if (typeof value !== 'number' && 'buckets' in value && 'boundaries' in value.buckets)
            found[descriptor.name] = value.buckets.boundaries;
        }
      }
      return found;
    },
  };
}

const nanoseconds = ([seconds, rest]: readonly [number, number]): bigint =>
  BigInt(seconds) * 1_000_000_000n + BigInt(rest);

/** The spans of one trace: the whole, and its phases in their order. */
function phasesOf(spans: readonly ReadableSpan[]): { whole: ReadableSpan; phases: ReadableSpan[] } {
  const whole = spans.find(({ kind }) => kind === SpanKind.SERVER)!;
  return { whole, phases: spans.filter((span) => span !== whole) };
}

/** The phases fill the whole exactly, one behind the other. */
function expectSeamless(spans: readonly ReadableSpan[]): void {
  const { whole, phases } = phasesOf(spans);
  let at = nanoseconds(whole.startTime);
  for (const { startTime, endTime, parentSpanContext } of phases) {
    expect(parentSpanContext?.spanId).toBe(whole.spanContext().spanId);
    expect(nanoseconds(startTime)).toBe(at);
    at = nanoseconds(endTime);
  }
  expect(at).toBe(nanoseconds(whole.endTime));
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const META = {
  progressToken: 'p',
  traceparent: `00-${TRACE}-00f067aa0ba902b7-01`,
  tracestate: 'rojo=00f067aa0ba902b7',
  'example.com/kept': [1, { a: 2 }],
};

test('a call is one span below that of the host, with its phases, and the server continues it', async () => {
  const { telemetry, spans, metrics, boundaries } = await sdk(false);
  const guarded = await startRogue('ordinary', { telemetry, sessionId: 'session-1' });
  await initialize(guarded);
  await guarded.ask('tools/call', { name: 'echo', arguments: { text: 'secret' }, _meta: META }, 7);
  await guarded.end();
  const found = await spans();
  const { whole, phases } = phasesOf(found);
  expect(whole.spanContext().traceId).toBe(TRACE);
  expect(whole.parentSpanContext).toMatchObject({ spanId: '00f067aa0ba902b7', isRemote: true });
  const [intent] = (await records(guarded.store)).filter(({ type }) => type === 'tool');
  expect([whole.name, whole.attributes, whole.status]).toEqual([
    'tools/call',
    {
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'mcp.session.id': 'session-1',
      'mcp.protocol.version': '2025-11-25',
      'jsonrpc.request.id': '7',
      'bulla.decision': 'allowed',
      'bulla.capsule.id': intent!.id,
    },
    { code: SpanStatusCode.UNSET },
  ]);
  expect(phases.map(({ name, kind, attributes }) => [name, kind, attributes])).toEqual([
    ['bulla.gates', SpanKind.INTERNAL, {}],
    ['bulla.intent', SpanKind.INTERNAL, {}],
    [
      'tools/call',
      SpanKind.CLIENT,
      {
        'mcp.method.name': 'tools/call',
        'gen_ai.operation.name': 'execute_tool',
        'network.transport': 'pipe',
      },
    ],
    ['bulla.outcome', SpanKind.INTERNAL, {}],
  ]);
  expectSeamless(found);
  const received = guarded.received().find(({ method }) => method === 'tools/call')!;
  expect(received.params!._meta).toEqual({
    ...META,
    progressToken: received.id,
    traceparent: `00-${TRACE}-${phases[2]!.spanContext().spanId}-01`,
  });
  const method = { 'mcp.method.name': 'tools/call', 'gen_ai.operation.name': 'execute_tool' };
  expect(await metrics()).toEqual({
    'bulla.calls': [[{ 'mcp.method.name': 'tools/call', 'bulla.decision': 'allowed' }, 1]],
    'mcp.server.operation.duration': [[method, 1]],
    'mcp.client.operation.duration': [[method, 1]],
    'bulla.seal.duration': [
      [{ 'bulla.record': 'intent' }, 1],
      [{ 'bulla.record': 'outcome' }, 1],
    ],
  });
  expect(await boundaries()).toEqual({
    'mcp.server.operation.duration': [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300],
    'mcp.client.operation.duration': [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300],
    'bulla.seal.duration': [0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5],
  });
  expect(JSON.stringify(found.map(({ name, attributes, events }) => [name, attributes, events]))).not.toMatch(
    /echo|secret/,
  );
});

test('names are told where the operator wants it, and a denial with its gate, code and capsule', async () => {
  const { telemetry, spans, metrics } = await sdk(true);
  const guarded = await startRogue('ordinary', { telemetry, sessionId: 's', name: 'files' });
  await initialize(guarded);
  await guarded.call('evil');
  await guarded.ask('prompts/get', { name: 'ask' });
  await guarded.ask('no/such');
  await guarded.end();
  const found = await spans();
  const byTrace = Map.groupBy(found, (span) => span.spanContext().traceId);
  expect(byTrace.size).toBe(2);
  const [denied, passed] = [...byTrace.values()].map(phasesOf);
  const [capsule] = (await records(guarded.store)).filter(({ outcome }) => outcome.status === 'blocked');
  expect([denied!.whole.name, denied!.whole.attributes, denied!.whole.status.code]).toEqual([
    'tools/call evil',
    {
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'evil',
      'gen_ai.agent.id': 'bot',
      'bulla.server.name': 'files',
      'mcp.session.id': 's',
      'mcp.protocol.version': '2025-11-25',
      'jsonrpc.request.id': '101',
      'bulla.decision': 'denied',
      'bulla.gate': 'pinned',
      'bulla.code': 'GATEWAY_NOT_LOCKED',
      'bulla.capsule.id': capsule!.id,
      'error.type': '403',
      'rpc.response.status_code': '403',
    },
    SpanStatusCode.ERROR,
  ]);
  expect(denied!.phases.map(({ name }) => name)).toEqual(['bulla.gates', 'bulla.outcome']);
  expect(passed!.whole.attributes).toMatchObject({
    'gen_ai.prompt.name': 'ask',
    'bulla.decision': 'allowed',
  });
  expect(passed!.phases[2]!.name).toBe('prompts/get ask');
  const told = await metrics();
  expect(told['bulla.denials']).toEqual([
    [{ 'bulla.gate': 'pinned', 'bulla.code': 'GATEWAY_NOT_LOCKED' }, 1],
    [{ 'bulla.gate': 'method', 'bulla.code': 'GATEWAY_METHOD' }, 1],
  ]);
  // A name that no lock holds is in no series.
  expect(told['mcp.server.operation.duration']).toEqual([
    [{ 'mcp.method.name': 'tools/call', 'error.type': '403' }, 1],
    [{ 'mcp.method.name': 'prompts/get', 'gen_ai.prompt.name': 'ask' }, 1],
  ]);
});

test('waiting for a person is apart from the time of the server', async () => {
  const { telemetry, spans, metrics } = await sdk(false);
  const answer = Promise.withResolvers<{ pass: object }>();
  const asked = Promise.withResolvers<void>();
  const person: Gate = {
    name: 'consent',
    rule() {
      asked.resolve();
      return { ask: answer.promise };
    },
  };
  const guarded = await startRogue('ordinary', { telemetry, gates: [person] });
  await initialize(guarded);
  const call = guarded.call('echo');
  await asked.promise;
  answer.resolve({ pass: {} });
  await call;
  await guarded.end();
  const found = await spans();
  expectSeamless(found);
  expect(phasesOf(found).phases.map(({ name }) => name)).toEqual([
    'bulla.gates',
    'bulla.person',
    'bulla.gates',
    'bulla.intent',
    'tools/call',
    'bulla.outcome',
  ]);
  expect((await metrics())['bulla.person.duration']).toEqual([[{}, 1]]);
});

test('errors of tools and servers, and calls that only a watching gateway lets pass, are told as such', async () => {
  const { telemetry, spans } = await sdk(false);
  const guarded = await startRogue('ordinary', { telemetry, mode: 'audit' });
  await initialize(guarded);
  await guarded.call('evil');
  await guarded.end();
  const { whole } = phasesOf(await spans());
  expect(whole.attributes).toMatchObject({ 'bulla.decision': 'would-block' });
  const ended = await sdk(false);
  const slow = await startRogue('never-answers', { telemetry: ended.telemetry, timeoutMs: 200 });
  await initialize(slow);
  expect((await slow.call('echo')).error!.data).toMatchObject({ code: 'GATEWAY_TIMEOUT' });
  await slow.end();
  const late = phasesOf(await ended.spans());
  expect(late.whole.attributes).toMatchObject({
    'bulla.decision': 'allowed',
    'bulla.gate': 'server',
    'bulla.code': 'GATEWAY_TIMEOUT',
    'error.type': '504',
  });
  expect(late.phases[2]!.attributes).toMatchObject({ 'error.type': 'GATEWAY_TIMEOUT' });
});

test('a trace that the host makes up is not continued', async () => {
  const { telemetry, spans } = await sdk(false);
  const guarded = await startRogue('ordinary', { telemetry });
  await initialize(guarded);
  const bad = [`ff-${TRACE}-00f067aa0ba902b7-01`, `00-${'0'.repeat(32)}-00f067aa0ba902b7-01`, 'x', 7];
  for (const traceparent of bad) {
    await guarded.ask('tools/call', { name: 'echo', _meta: { traceparent, tracestate: 'a=b' } });
  }
  await guarded.end();
  const wholes = (await spans()).filter(({ kind }) => kind === SpanKind.SERVER);
  expect(wholes.map(({ parentSpanContext }) => parentSpanContext)).toEqual(bad.map(() => undefined));
  for (const { params, method } of guarded.received()) {
    if (method === 'tools/call') expect(params!._meta).toMatchObject({ tracestate: '' });
  }
});

test('without an SDK there is nothing to do', async () => {
  expect(await openTelemetry({ recordNames: true })).toBe(null);
});

test('with an SDK for metrics alone, the server gets what the host sent', async () => {
  const meterProvider = new MeterProvider();
  onTestFinished(() => meterProvider.shutdown());
  const telemetry = (await openTelemetry({ meterProvider }))!;
  const guarded = await startRogue('ordinary', { telemetry });
  await initialize(guarded);
  await guarded.ask('tools/call', { name: 'echo', arguments: {}, _meta: META });
  await guarded.end();
  const { id, params } = guarded.received().find(({ method }) => method === 'tools/call')!;
  expect(params).toEqual({ name: 'echo', arguments: {}, _meta: { ...META, progressToken: id } });
});

const frameOf = (params: string): RequestFrame =>
  parseFrame(toUtf8(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`)) as RequestFrame;

test.each([
  ['{"name":"a"}', '{"_meta":{"traceparent":"P","tracestate":"S"},"name":"a"}'],
  ['{}', '{"_meta":{"traceparent":"P","tracestate":"S"}}'],
  ['{"name":"a","_meta":{}}', '{"name":"a","_meta":{"traceparent":"P","tracestate":"S"}}'],
  ['{"_meta": { "x":1 }}', '{"_meta": {"traceparent":"P","tracestate":"S", "x":1 }}'],
  ['{"_meta":{"x":1,"traceparent" : "old"}}', '{"_meta":{"tracestate":"S","x":1,"traceparent" : "P"}}'],
  [
    '{"_meta":{"tracestate":{"no":1},"traceparent":5,"baggage":"b=1"}}',
    '{"_meta":{"tracestate":"S","traceparent":"P","baggage":"b=1"}}',
  ],
])('the trace is written into `_meta` and nothing else of it: %s', (params, expected) => {
  const frame = frameOf(params);
  const edits = metaEdits(frame, { traceparent: 'P', tracestate: 'S' });
  expect(Buffer.from(splice(frame.bytes, edits)).toString()).toBe(
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${expected}}`,
  );
});
