import {
  createRegisteredAgent,
  dynamicToolkit,
  policy,
  type RegisteredAgent,
  type ToolRuntimeContext,
  tool,
  toolkit,
} from '@bulla/core/capability';
import type { SealedCapsule } from '@bulla/core/capsule';
import { z } from 'zod';
import type { Store, StoreOptions } from '../src/store/index.ts';

/** How a suite reaches its database: handles on one store, again and again, and a way to change rows behind its back. */
export interface Database {
  open(options?: Partial<StoreOptions>): Promise<Store>;
  tamper(sql: string): Promise<void>;
}

/** What the test agents are run in. */
export interface TestEnv {
  readonly mayWrite?: boolean;
  /** May be shut while a turn runs. */
  readonly gate?: { open: boolean };
  readonly extra?: boolean;
  readonly ran?: string[];
  readonly note?: string;
  /** Called when the tool that never ends has begun. */
  readonly begun?: () => void;
}

const text = z.object({ text: z.string() });
type Ctx = ToolRuntimeContext<TestEnv>;
const mayWrite = policy<TestEnv>('may-write', (env) => env.mayWrite === true);
const mayRead = policy<TestEnv>('may-read', (env) => env.gate?.open !== false);

const echo = tool({
  name: 'echo',
  description: 'Says it again.',
  inputSchema: text,
  policies: [mayRead],
  handler: ({ env }: Ctx, { text: said }) => {
    env.ran?.push(`echo ${said}`);
    return { said };
  },
});
const write = tool({
  name: 'write',
  inputSchema: text,
  policies: [mayWrite],
  handler: ({ env }: Ctx, { text: said }) => {
    env.ran?.push(`write ${said}`);
    return { wrote: said.length };
  },
});
const fail = tool({
  name: 'fail',
  inputSchema: text,
  handler: () => {
    throw new RangeError('the secret is 42');
  },
});
const wait = tool({
  name: 'wait',
  inputSchema: text,
  handler: ({ env }: Ctx) => {
    env.begun?.();
    return new Promise(() => undefined);
  },
});
const odd = tool({
  name: 'odd',
  inputSchema: text,
  handler: () => new Map(),
});
const count = tool({
  name: 'count',
  inputSchema: text,
  stream: true,
  async *handler() {
    yield 1;
    yield 2;
    yield 3;
    return 'done';
  },
});
const extras = dynamicToolkit<TestEnv>({
  name: 'extras',
  create: ({ env }) =>
    env.extra ? [tool({ name: 'extra', inputSchema: text, handler: () => 'extra' })] : [],
});

/** An agent of everything that matters here. */
export function testAgent(
  more: { readonly agentId?: string; readonly lines?: readonly string[]; readonly context?: object } = {},
): RegisteredAgent<TestEnv> {
  return createRegisteredAgent<TestEnv>({
    agentId: more.agentId ?? 'bot',
    name: 'Bot',
    instructions: more.lines ?? ['Be brief.'],
    context: { ...more.context },
    rootComposable: toolkit<TestEnv>([echo, write, fail, wait, odd, count, extras], { name: 'root' }),
  });
}

/** The capsules of a chain, as they lie there. */
export async function capsulesOf(store: Store, chain = 'default'): Promise<SealedCapsule[]> {
  const found: SealedCapsule[] = [];
  for await (const { data } of store.chain(chain).records()) found.push(JSON.parse(data) as SealedCapsule);
  return found;
}
