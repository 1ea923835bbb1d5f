import { join } from 'node:path';
import { environmentOf } from '@bulla/core/evidence';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { input, sealer } from '../../test/store-suite.ts';
import { openStore } from '../store/index.ts';
import { chainStats } from './stats.ts';

test('the tool of a call counts in its intent, its outcome and its denial', async () => {
  await using store = await openStore({ url: join(temporaryFolder(), 'store.db'), create: true, sealer });
  const chain = store.chain('c');
  const context = {
    agent_id: 'bot',
    environment: environmentOf({ tool: { server: 'files', name: 'write' } }),
  };
  await chain.append(input('intent', { context, outcome: { status: 'pending' } }));
  const tool_calls = ['write', 'write', 'read'].map((tool) => ({ tool, success: true }) as never);
  await chain.append(input('outcome', { context, execution: { tool_calls } }));
  await chain.append(input('denial', { context, outcome: { status: 'blocked' } }));
  const { records, counts } = await chainStats(chain);
  expect(records).toBe(3);
  expect(counts).toEqual({
    type: { tool: 3 },
    status: { pending: 1, success: 1, blocked: 1 },
    tool: { write: 3, read: 1 },
    agent: { bot: 3 },
  });
});
