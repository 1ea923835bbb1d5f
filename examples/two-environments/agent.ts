// An agent for support. Who pays may also export reports; nobody else is even told that this can be done.
import { createRegisteredAgent, policy, tool, toolkit } from '@bulla/core/capability';
import * as z from 'zod';

interface Env {
  readonly tier: 'free' | 'pro';
}

const isPro = policy<Env>('tier-pro', ({ tier }) => tier === 'pro');

const search = tool({
  name: 'search',
  description: 'Finds articles of the help centre.',
  inputSchema: z.object({ query: z.string().max(200) }),
  handler: async (_ctx, { query }) => `Nothing is known of ${query}.`,
});

const exportReport = tool({
  name: 'export_report',
  description: 'Exports the report of a month.',
  inputSchema: z.object({ month: z.string().regex(/^\d{4}-\d{2}$/) }),
  instructions: ['Ask which month is meant before you export.'],
  policies: [isPro],
  handler: async (_ctx, { month }) => ({ month, rows: 0 }),
});

export const agent = createRegisteredAgent<Env>({
  agentId: 'support',
  name: 'Support',
  instructions: ['Answer in the language of the question.'],
  rootComposable: toolkit<Env>([search, exportReport], { name: 'support-tools' }),
});
