// A support agent: everybody may look up orders, only a manager may refund one.
import { createRegisteredAgent, policy, tool, toolkit } from '@bulla/core/capability';
import { z } from 'zod';

const order = z.object({ order: z.string() });
const isManager = policy('is-manager', (env) => env.role === 'manager');

const lookUp = tool({
  name: 'look_up',
  description: 'Looks up an order.',
  inputSchema: order,
  handler: ({ env }, input) => ({ order: input.order, total: env.orders[input.order] ?? null }),
});
const refund = tool({
  name: 'refund',
  description: 'Gives the money of an order back.',
  inputSchema: order,
  policies: [isManager],
  handler: (_, input) => ({ refunded: input.order }),
});

export const agent = createRegisteredAgent({
  agentId: 'support',
  name: 'Support',
  instructions: ['Help the customer. Be brief.'],
  rootComposable: toolkit([lookUp, refund], { name: 'orders' }),
  context: { orders: { A1: 30 } },
});
