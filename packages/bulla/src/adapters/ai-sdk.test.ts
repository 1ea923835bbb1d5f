import {
  createRegisteredAgent,
  evaluateRegisteredAgentAffordances,
  policy,
  tool,
  toolkit,
} from '@bulla/core/capability';
import { generateText, isStepCount, type ModelMessage, streamText } from 'ai';
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { aiSdkTools } from './ai-sdk.ts';

interface Env {
  readonly tier: string;
}

const isPro = policy<Env>('tier-pro', ({ tier }) => tier === 'pro');
const seen: unknown[] = [];
const double = tool({
  name: 'double',
  description: 'Doubles a number.',
  inputSchema: z.object({ n: z.string().transform(Number).pipe(z.number()) }),
  handler: (_ctx, { n }: { n: number }, options) => {
    seen.push(n, (options as { toolCallId: string }).toolCallId);
    return n * 2;
  },
});
const gated = tool({
  name: 'export',
  inputSchema: type({ to: 'string' }),
  policies: [isPro],
  handler: () => 'done',
});
const counting = tool({
  name: 'count',
  inputSchema: z.object({}),
  async *handler() {
    yield 1;
    yield 2;
    return 3;
  },
});
const agent = createRegisteredAgent<Env>({
  agentId: 'a',
  name: 'A',
  instructions: ['Be brief.'],
  rootComposable: toolkit<Env>([double, gated, counting], { name: 'root' }),
});

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const finish = (unified: 'stop' | 'tool-calls') => ({ unified, raw: undefined });

/** The SDK's own test model: first it calls a tool, then it says that it is done. */
function calling(toolName: string, input: unknown): MockLanguageModelV4 {
  const call = { type: 'tool-call' as const, toolCallId: 'call-1', toolName, input: JSON.stringify(input) };
  return new MockLanguageModelV4({
    doGenerate: [
      { content: [call], finishReason: finish('tool-calls'), usage, warnings: [] },
      { content: [{ type: 'text', text: 'Done.' }], finishReason: finish('stop'), usage, warnings: [] },
    ],
  });
}

async function run(toolName: string, input: unknown, env: Env = { tier: 'pro' }, now: Env = env) {
  const affordances = await evaluateRegisteredAgentAffordances(agent, { env });
  const model = calling(toolName, input);
  const result = await generateText({
    model,
    instructions: affordances.instructions,
    prompt: 'Go.',
    tools: aiSdkTools(affordances, { env: now }),
    stopWhen: isStepCount(2),
  });
  return { result, model };
}

/** What the model was told of its call. */
function told(messages: readonly ModelMessage[]): unknown {
  for (const { role, content } of messages)
    if (role === 'tool') for (const part of content) if (part.type === 'tool-result') return part.output;
  return undefined;
}

describe('a tool set for the AI SDK', () => {
  test('shows the model what each tool takes, and calls it once, with its input as its schema makes it', async () => {
    seen.length = 0;
    const { result, model } = await run('double', { n: '21' });
    expect(result.text).toBe('Done.');
    expect(told(result.responseMessages)).toEqual({ type: 'json', value: 42 });
    // A second pass through the schema would have refused a number.
    expect(seen).toEqual([21, 'call-1']);
    const [first] = model.doGenerateCalls;
    expect(first!.prompt[0]).toMatchObject({ role: 'system', content: 'Be brief.' });
    expect(first!.tools).toMatchObject([
      {
        type: 'function',
        name: 'double',
        description: 'Doubles a number.',
        inputSchema: { type: 'object', properties: { n: { type: 'string' } }, required: ['n'] },
      },
      { name: 'export', inputSchema: { properties: { to: { type: 'string' } }, required: ['to'] } },
      { name: 'count' },
    ]);
  });

  test('has only what is enabled', async () => {
    const { tools } = await evaluateRegisteredAgentAffordances(agent, { env: { tier: 'free' } });
    expect(Object.keys(aiSdkTools({ tools }, { env: { tier: 'free' } }))).toEqual(['double', 'count']);
  });

  test('asks a live policy again at the call, and tells the model of the denial', async () => {
    const good = await run('export', { to: 'x' });
    expect(told(good.result.responseMessages)).toEqual({ type: 'text', value: 'done' });
    const { result } = await run('export', { to: 'x' }, { tier: 'pro' }, { tier: 'free' });
    expect(told(result.responseMessages)).toEqual({
      type: 'error-text',
      value: 'BullaError: Policy denied: tier-pro',
    });
  });

  test('carries what snapshot policies said', async () => {
    const frozen = policy<Env>('tier', ({ tier }) => tier === 'pro', { executeBinding: 'snapshot' });
    const one = tool({ name: 't', inputSchema: z.object({}), policies: [frozen], handler: () => 'ran' });
    const other = createRegisteredAgent<Env>({ agentId: 'b', name: 'B', rootComposable: one });
    const affordances = await evaluateRegisteredAgentAffordances(other, { env: { tier: 'pro' } });
    const execute = (enabled: Parameters<typeof aiSdkTools<Env>>[0]) =>
      aiSdkTools(enabled, { env: { tier: 'free' } }).t!.execute!({}, {} as never);
    expect(await execute(affordances)).toBe('ran');
    await expect(execute({ tools: affordances.tools })).rejects.toMatchObject({
      code: 'CAPABILITY_POLICY_DENIED',
    });
  });

  test('an input that does not fit reaches no handler', async () => {
    seen.length = 0;
    const { result } = await run('double', { n: 21 });
    expect(seen).toEqual([]);
    expect(told(result.responseMessages)).toMatchObject({ type: 'error-text' });
    const { tools } = await evaluateRegisteredAgentAffordances(agent, { env: { tier: 'pro' } });
    const direct = aiSdkTools({ tools }, { env: { tier: 'pro' } }).double!.execute!({ n: 21 }, {} as never);
    await expect(direct).rejects.toMatchObject({ code: 'CAPABILITY_INPUT_INVALID', path: '/n' });
  });

  test('a name that only objects have is no tool', async () => {
    const { result } = await run('constructor', {});
    expect(told(result.responseMessages)).toMatchObject({
      type: 'error-text',
      value: expect.stringContaining("unavailable tool 'constructor'"),
    });
  });

  test('a stream gives each value, and its last one as the result', async () => {
    const affordances = await evaluateRegisteredAgentAffordances(agent, { env: { tier: 'pro' } });
    const chunks = [
      { type: 'tool-call' as const, toolCallId: 'c', toolName: 'count', input: '{}' },
      { type: 'finish' as const, finishReason: finish('tool-calls'), usage },
    ];
    const model = new MockLanguageModelV4({ doStream: { stream: simulateReadableStream({ chunks }) } });
    const { stream } = streamText({
      model,
      prompt: 'Go.',
      tools: aiSdkTools(affordances, { env: { tier: 'pro' } }),
    });
    const results: unknown[] = [];
    for await (const part of stream)
      if (part.type === 'tool-result') results.push([part.preliminary ?? false, part.output]);
    expect(results).toEqual([
      [true, 1],
      [true, 2],
      [false, 2],
    ]);
  });

  test("the SDK's signal ends a call", async () => {
    const started = Promise.withResolvers<AbortSignal>();
    const waiting = tool({
      name: 'wait',
      inputSchema: z.object({}),
      handler: ({ abortSignal }) => {
        started.resolve(abortSignal!);
        return new Promise(() => undefined);
      },
    });
    const other = createRegisteredAgent({ agentId: 'b', name: 'B', rootComposable: waiting });
    const affordances = await evaluateRegisteredAgentAffordances(other, { env: {} });
    const stop = new AbortController();
    const tools = aiSdkTools(affordances, { env: {}, abortSignal: new AbortController().signal });
    const work = tools.wait!.execute!({}, { abortSignal: stop.signal } as never) as Promise<unknown>;
    const given = await started.promise;
    stop.abort(new Error('enough'));
    await expect(work).rejects.toMatchObject({ code: 'CAPABILITY_ABORTED' });
    expect(given.aborted).toBe(true);
  });

  test('a schema that nobody can be told of is refused before a model is asked', async () => {
    const one = tool({ name: 'v', inputSchema: v.object({ a: v.string() }), handler: () => 0 });
    const other = createRegisteredAgent({ agentId: 'b', name: 'B', rootComposable: one });
    const affordances = await evaluateRegisteredAgentAffordances(other, { env: {} });
    expect(() => aiSdkTools(affordances, { env: {} })).toThrow(
      expect.objectContaining({ code: 'ADAPTER_SCHEMA', path: '/tools/v/inputSchema' }),
    );
  });
});
