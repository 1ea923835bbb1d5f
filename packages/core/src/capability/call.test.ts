import { describe, expect, test } from 'vitest';
import { drain, rejection, stub } from '../../test/capability.ts';
import { BullaError } from '../error.ts';
import {
  evaluateComposable,
  type StandardSchema,
  type Tool,
  type ToolExecuted,
  type ToolkitContext,
  type ToolSpec,
  tool,
  toolkit,
} from './index.ts';
import type { StandardResult } from './standard-schema.ts';

const ctx: ToolkitContext = { env: {} };

async function specOf(one: Tool<unknown>): Promise<ToolSpec<unknown>> {
  return (await evaluateComposable(one, ctx)).tools.get(one.name)!;
}

/** A schema that takes texts and gives their length, later if asked. */
function lengthSchema(later = false): StandardSchema<string, number> {
  const judge = (value: unknown): StandardResult<number> =>
    typeof value === 'string'
      ? { value: value.length }
      : { issues: [{ message: `got ${String(value)}`, path: ['text', { key: 0 }] }, { message: 'again' }] };
  const validate = (value: unknown) => (later ? Promise.resolve(judge(value)) : judge(value));
  return { '~standard': { version: 1, vendor: 'test', validate } };
}

describe('inputs', () => {
  test.each([false, true])(
    'are judged before the handler sees what the schema made of them (later: %s)',
    async (later) => {
      const seen: number[] = [];
      const one = tool({
        name: 't',
        inputSchema: lengthSchema(later),
        handler: (_ctx, input) => {
          seen.push(input);
          return input * 2;
        },
      });
      const spec = await specOf(one);
      expect(await spec.handler(ctx, 'four')).toBe(8);
      const error = await (spec.handler(ctx, 'secret'.length) as Promise<unknown>).catch((thrown) => thrown);
      expect(error).toBeInstanceOf(BullaError);
      expect(error).toMatchObject({
        code: 'CAPABILITY_INPUT_INVALID',
        path: '/text/0',
        message: 'The input does not fit its schema at /text/0, and at 1 more place.',
      });
      expect((error as BullaError).cause).toHaveLength(2);
      expect(seen).toEqual([4]);
    },
  );

  test('a schema that throws, or gives no verdict, lets nothing through', async () => {
    const calls: unknown[] = [];
    const run = async (validate: () => unknown) => {
      const inputSchema = { '~standard': { version: 1, vendor: 'x', validate } } as StandardSchema;
      const spec = await specOf(tool({ name: 't', inputSchema, handler: (_, input) => calls.push(input) }));
      return rejection(spec.handler(ctx, 'x') as Promise<unknown>);
    };
    const throwing = () => {
      throw new Error('broken');
    };
    expect(await run(throwing)).toBe('CAPABILITY_SCHEMA');
    expect(await run(async () => throwing())).toBe('CAPABILITY_SCHEMA');
    for (const verdict of [undefined, null, true, {}, 'ok'])
      expect(await run(() => verdict)).toBe('CAPABILITY_SCHEMA');
    expect(await run(() => ({ issues: [] }))).toBe('CAPABILITY_INPUT_INVALID at ');
    expect(calls).toEqual([]);
  });
});

describe('handlers', () => {
  test('plain, async and failing ones; their errors arrive as they were thrown', async () => {
    const run = async (handler: () => unknown) =>
      (await specOf(tool({ name: 't', inputSchema: stub(), handler }))).handler(ctx, 0) as Promise<unknown>;
    expect(await run(() => 1)).toBe(1);
    expect(await run(async () => 2)).toBe(2);
    const failure = new RangeError('too far');
    const thrown = () => {
      throw failure;
    };
    await expect(run(thrown)).rejects.toBe(failure);
    await expect(run(async () => thrown())).rejects.toBe(failure);
  });

  test('an async generator gives its values at once, not a promise of them, and starts when they are read', async () => {
    let started = false;
    const one = tool({
      name: 't',
      inputSchema: lengthSchema(true),
      async *handler(_ctx, input) {
        started = true;
        for (let i = 0; i < input; i++) yield i;
        return 'end';
      },
    });
    expect(one.stream).toBe(true);
    const spec = await specOf(one);
    const stream = spec.handler(ctx, 'abc');
    expect(Symbol.asyncIterator in stream).toBe(true);
    expect(started).toBe(false);
    expect(await drain(stream)).toEqual([0, 1, 2]);
    const whole = spec.handler(ctx, '') as AsyncGenerator<unknown, unknown>;
    expect(await whole.next()).toEqual({ done: true, value: 'end' });
    expect(await rejection(drain(spec.handler(ctx, 7)))).toBe('CAPABILITY_INPUT_INVALID at /text/0');
  });

  test('one that says it streams must give a stream; one that does not say so may', async () => {
    async function* values() {
      yield 1;
    }
    const make = (stream: boolean, handler: () => unknown) =>
      specOf(tool({ name: 't', inputSchema: stub(), stream, handler }));
    expect(await drain((await make(true, async () => values())).handler(ctx, 0))).toEqual([1]);
    expect(await rejection(drain((await make(true, () => 1)).handler(ctx, 0)))).toBe(
      'CAPABILITY_STREAM at /handler',
    );
    expect(await drain(await (await make(false, () => values())).handler(ctx, 0))).toEqual([1]);
  });
});

describe('hooks of a call', () => {
  const listening = () => {
    const events: ToolExecuted[] = [];
    return { events, hooks: { onToolExecuted: (event: ToolExecuted) => events.push(event) } };
  };

  test('are told of success and of failure, once, with a duration where there is a clock', async () => {
    const { events, hooks } = listening();
    let time = 10;
    const now = () => {
      time += 5;
      return time;
    };
    const one = tool({ name: 't', inputSchema: lengthSchema(), hooks, handler: (_, n) => `n=${n}` });
    const spec = await specOf(one);
    const env = { a: 1 };
    await spec.handler({ env, now }, 'ab');
    await rejection(spec.handler({ env }, 1) as Promise<unknown>);
    expect(events).toEqual([
      { ok: true, output: 'n=2', toolName: 't', input: 'ab', env, durationMs: 5 },
      {
        ...{ ok: false, toolName: 't', input: 1, env },
        error: 'The input does not fit its schema at /text/0, and at 1 more place.',
      },
    ]);
  });

  test('that throw after a success leave it a success', async () => {
    const failures: unknown[] = [];
    const calls: boolean[] = [];
    const hooks = {
      onToolExecuted(event: ToolExecuted) {
        calls.push(event.ok);
        throw new Error('no disk');
      },
    };
    const one = tool({ name: 't', inputSchema: stub(), hooks, handler: () => 'done' });
    const spec = (await evaluateComposable(toolkit([one], { name: 'k', hooks }), ctx)).tools.get('t')!;
    const onHookError = (failure: unknown) => failures.push(failure);
    expect(await spec.handler({ env: {}, pipelineHooks: hooks, onHookError }, 0)).toBe('done');
    expect(calls).toEqual([true, true, true]);
    expect(failures).toEqual(Array(3).fill({ hook: 'onToolExecuted', error: new Error('no disk') }));
  });

  test('are told of a stream when it is over: at its end, at an error, or when nobody reads on', async () => {
    const { events, hooks } = listening();
    let closed = 0;
    const one = tool({
      name: 't',
      inputSchema: lengthSchema(),
      hooks,
      async *handler(_ctx, count) {
        try {
          for (let i = 0; i < count; i++) yield i;
          if (count === 5) throw new Error('five');
        } finally {
          closed++;
        }
      },
    });
    const spec = await specOf(one);
    await drain(spec.handler(ctx, 'abc'));
    await expect(drain(spec.handler(ctx, 'abcde'))).rejects.toThrow('five');
    for await (const value of spec.handler(ctx, 'abcd') as AsyncIterable<unknown>) if (value === 1) break;
    expect(events.map(({ ok, yielded, stopped, error }) => ({ ok, yielded, stopped, error }))).toEqual([
      { ok: true, yielded: 3, stopped: undefined, error: undefined },
      { ok: false, yielded: 5, stopped: undefined, error: 'five' },
      { ok: true, yielded: 2, stopped: true, error: undefined },
    ]);
    expect(closed).toBe(3);
  });
});

describe('abort of a call', () => {
  test('before the handler is called, and while it works', async () => {
    let calls = 0;
    const controller = new AbortController();
    const one = tool({
      name: 't',
      inputSchema: stub(),
      handler: ({ abortSignal }) => {
        calls++;
        expect(abortSignal).toBe(controller.signal);
        return new Promise(() => undefined);
      },
    });
    const spec = await specOf(one);
    const work = spec.handler({ env: {}, abortSignal: controller.signal }, 0) as Promise<unknown>;
    await new Promise((resolve) => setTimeout(resolve));
    controller.abort('stop');
    await expect(work).rejects.toMatchObject({ code: 'CAPABILITY_ABORTED', cause: 'stop' });
    const late = spec.handler({ env: {}, abortSignal: controller.signal }, 0) as Promise<unknown>;
    expect(await rejection(late)).toBe('CAPABILITY_ABORTED');
    expect(calls).toBe(1);
  });

  test('while the input is judged: the handler is not called any more', async () => {
    const controller = new AbortController();
    let calls = 0;
    const validate = (value: unknown) => {
      controller.abort();
      return { value };
    };
    const inputSchema: StandardSchema = { '~standard': { version: 1, vendor: 'x', validate } };
    const spec = await specOf(tool({ name: 't', inputSchema, handler: () => calls++ }));
    const work = spec.handler({ env: {}, abortSignal: controller.signal }, 0) as Promise<unknown>;
    expect(await rejection(work)).toBe('CAPABILITY_ABORTED');
    expect(calls).toBe(0);
  });

  test('between the values of a stream, and while it waits for one', async () => {
    const controller = new AbortController();
    const abortSignal = controller.signal;
    const one = tool({
      name: 't',
      inputSchema: stub(),
      async *handler() {
        yield 1;
        await new Promise(() => undefined);
      },
    });
    const spec = await specOf(one);
    const stream = spec.handler({ env: {}, abortSignal }, 0) as AsyncGenerator<unknown>;
    expect(await stream.next()).toEqual({ done: false, value: 1 });
    const waiting = stream.next();
    controller.abort();
    expect(await rejection(waiting)).toBe('CAPABILITY_ABORTED');
    expect(await stream.next()).toEqual({ done: true, value: undefined });
  });
});
