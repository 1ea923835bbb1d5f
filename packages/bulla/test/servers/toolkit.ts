// An agent served over stdio: `node --conditions=bulla-source toolkit.ts [TIER]`.
import { createRegisteredAgent, policy, tool, toolkit } from '@bulla/core/capability';
import * as z from 'zod';
import { serveToolkit } from '../../src/adapters/mcp.ts';

interface Env {
  tier: string;
}
const env: Env = { tier: process.argv[2] ?? 'pro' };
const isPro = policy<Env>('tier-pro', ({ tier }) => tier === 'pro');
const members = [
  tool({
    name: 'add',
    description: 'Adds two numbers.',
    inputSchema: z.object({ a: z.string().transform(Number).pipe(z.number()), b: z.number() }),
    handler: (_ctx, { a, b }) => ({ sum: a + b }),
  }),
  tool({
    name: 'downgrade',
    inputSchema: z.object({}),
    handler: () => {
      env.tier = 'free';
    },
  }),
  tool({ name: 'export', inputSchema: z.object({}), policies: [isPro], handler: () => 'exported' }),
  tool({
    name: 'count',
    inputSchema: z.object({}),
    async *handler() {
      yield 'one';
      yield 'two';
    },
  }),
  tool({
    name: 'fail',
    inputSchema: z.object({}),
    handler: () => {
      throw new Error('The disk is full.');
    },
  }),
  tool({ name: 'date', inputSchema: z.object({}), handler: () => ({ at: new Date(0) }) }),
];
const agent = createRegisteredAgent<Env>({
  agentId: 'served',
  name: 'Served',
  instructions: ['Be exact.'],
  rootComposable: toolkit<Env>(members, { name: 'kit', instructions: 'Numbers only.' }),
});
await serveToolkit(agent, { env }, { name: 'served', version: '1.2.3' });
