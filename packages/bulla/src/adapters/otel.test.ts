import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type CapabilityLink,
  computeFullCapabilityLink,
  createRegisteredAgent,
  tool,
  toolkit,
} from '@bulla/core/capability';
import {
  type Attributes,
  type Context,
  type ContextManager,
  context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type Tracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { capabilityAttributes, setCapabilityAttributes, setToolAttributes, toolAttributes } from './otel.ts';

/** A span that keeps what it is told until it ends. */
class RecordingSpan implements Span {
  readonly attributes: Attributes = {};
  #ended = false;
  spanContext = (): SpanContext => ({ traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 });
  isRecording = () => !this.#ended;
  setAttribute(key: string, value: Attributes[string]): this {
    if (!this.#ended) this.attributes[key] = value;
    return this;
  }
  setAttributes(attributes: Attributes): this {
    for (const [key, value] of Object.entries(attributes)) this.setAttribute(key, value);
    return this;
  }
  end(): void {
    this.#ended = true;
  }
  addEvent = () => this;
  addLink = () => this;
  addLinks = () => this;
  setStatus = () => this;
  updateName = () => this;
  recordException = () => undefined;
}

const spans: RecordingSpan[] = [];
const tracer = {
  startSpan() {
    const span = new RecordingSpan();
    spans.push(span);
    return span;
  },
  startActiveSpan(_name: string, run: (span: Span) => unknown) {
    const span = tracer.startSpan();
    return context.with(trace.setSpan(context.active(), span), () => run(span));
  },
};
const provider: TracerProvider = { getTracer: () => tracer as unknown as Tracer };

const store = new AsyncLocalStorage<Context>();
const manager: ContextManager = {
  active: () => store.getStore() ?? ROOT_CONTEXT,
  with: (active, run, self, ...args) => store.run(active, () => run.apply(self as never, args)),
  bind: (_active, target) => target,
  enable: () => manager,
  disable: () => manager,
};

beforeAll(() => {
  expect([trace.setGlobalTracerProvider(provider), context.setGlobalContextManager(manager)]).toEqual([
    true,
    true,
  ]);
});
afterAll(() => {
  trace.disable();
  context.disable();
});

async function link(invocationContext?: object): Promise<CapabilityLink> {
  const echo = tool({ name: 'echo', inputSchema: z.object({}), handler: () => 0 });
  const rootComposable = toolkit([echo], { name: 'root', instructions: 'Echo.' });
  const agent = createRegisteredAgent({ agentId: 'support', name: 'Support', rootComposable });
  return (await computeFullCapabilityLink({ agent, ctx: { env: {} }, invocationContext })).link;
}

test('the active span is told of the three hashes, the profile and the agent', async () => {
  const bound = await link({ subjectId: 'u1' });
  spans.length = 0;
  const told = await trace.getTracer('test').startActiveSpan('invoke_agent support', async () => {
    await Promise.resolve();
    return setCapabilityAttributes(bound);
  });
  expect(told).toBe(true);
  expect(spans.map(({ attributes }) => attributes)).toEqual([
    {
      'gen_ai.agent.id': 'support',
      'gen_ai.agent.name': 'Support',
      'bulla.capability.profile': 'khora',
      'bulla.capability.schema_source': 'toJSONSchema',
      'bulla.capability.static_hash': bound.staticHash,
      'bulla.capability.runtime_hash': bound.runtimeHash,
      'bulla.capability.invocation_hash': bound.invocationHash,
      'bulla.capability.instructions_hash': bound.instructionsHash,
      'bulla.capability.tool_count': 1,
    },
  ]);
});

test('a hash that a link does not have is not there, not empty', async () => {
  const { instructionsHash: _, ...free } = await link();
  expect(Object.keys(capabilityAttributes(free)).sort()).toEqual([
    'bulla.capability.profile',
    'bulla.capability.runtime_hash',
    'bulla.capability.schema_source',
    'bulla.capability.static_hash',
    'bulla.capability.tool_count',
    'gen_ai.agent.id',
    'gen_ai.agent.name',
  ]);
});

test('a span of a call is told which tool it was, by name and hash', async () => {
  const [ref] = (await link()).toolRefs;
  expect(toolAttributes(ref!)).toEqual({ 'gen_ai.tool.name': 'echo', 'bulla.tool.hash': ref!.toolHash });
  const span = new RecordingSpan();
  expect(setToolAttributes(ref!, span)).toBe(true);
  expect(span.attributes['gen_ai.tool.name']).toBe('echo');
});

test('without a span that records, it is told that nothing was set', async () => {
  const bound = await link();
  expect(setCapabilityAttributes(bound)).toBe(false);
  const span = new RecordingSpan();
  span.end();
  expect([setCapabilityAttributes(bound, span), span.attributes]).toEqual([false, {}]);
});
