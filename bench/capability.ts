import { hash } from 'node:crypto';
import {
  type Composable,
  createRegisteredAgent,
  evaluateRegisteredAgentAffordances,
  instructionsCanonicalPayload,
  policy,
  runtimeCapabilityCanonicalPayload,
  type StandardSchema,
  staticPayload,
  type Tool,
  tool,
  toolkit,
} from '@bulla/core/capability';
import canonicalize from 'canonicalize';
import * as z from 'zod';
import { median, type Row, round3 } from './measure.ts';

const TOOLS = 500;
const TOOLKITS = 10;
const ROUNDS = 41;
const WARM_UP = 20;

const policies = Array.from({ length: 20 }, (_, i) => policy(`policy-${i}`, () => true));

/** Schemas as zod writes them, converted beforehand: the library's own work is not measured. */
const schemas = Array.from({ length: TOOLS }, (_, i): StandardSchema => {
  const shape = {
    path: z.string().max(4096).describe('The file, as a path from the root of the workspace.'),
    [`option_${i}`]: z.enum(['create', 'replace', 'append']).describe('What is done where there is one.'),
    limit: z
      .number()
      .int()
      .min(1)
      .max(1000 + i)
      .optional(),
    tags: z.array(z.string().regex(/^[a-z-]+$/)).max(16),
    author: z.object({ id: z.string(), email: z.email().optional() }),
  };
  const converted = z.object(shape).toJSONSchema();
  const validate = (value: unknown) => ({ value });
  return {
    '~standard': { version: 1, vendor: 'zod', validate },
    toJSONSchema: () => converted,
  } as StandardSchema;
});

/** New tools each time, because what was hashed once is known. */
function makeTools(): Tool<unknown>[] {
  return schemas.map((inputSchema, i) =>
    tool({
      name: `workspace_${i}_write`,
      description: `Writes a file of the workspace ${i}, or makes one, and tells how many bytes it has now.`,
      inputSchema,
      instructions: ['Read a file before you write it.', 'Never write outside of the workspace.'],
      policies: i % 5 === 0 ? [policies[i % 20]!] : [],
      handler: () => null,
    }),
  );
}

function makeRoot(tools: readonly Tool<unknown>[]): Composable<unknown> {
  const size = TOOLS / TOOLKITS;
  const kits = Array.from({ length: TOOLKITS }, (_, i) =>
    toolkit(tools.slice(i * size, (i + 1) * size), { name: `kit-${i}`, instructions: `Tools of kind ${i}.` }),
  );
  return toolkit(kits, { name: 'root' });
}

function makeAgent(root: Composable<unknown>) {
  return createRegisteredAgent<unknown>({
    ...{ agentId: 'bench', name: 'Bench', instructions: ['Be exact.'] },
    rootComposable: root,
  });
}

export async function capability(): Promise<Row[]> {
  const payloads = await payloadsOf(makeRoot(makeTools()));
  const [first, again, peer]: [number[], number[], number[]] = [[], [], []];
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    const tools = makeTools();
    const start = performance.now();
    const agent = makeAgent(makeRoot(tools));
    await evaluateRegisteredAgentAffordances(agent, { env: {} });
    const evaluated = performance.now();
    await evaluateRegisteredAgentAffordances(agent, { env: {} });
    const evaluatedAgain = performance.now();
    for (const payload of payloads) hash('sha256', canonicalize(payload)!, 'hex');
    const done = performance.now();
    if (round < 0) continue;
    first.push(evaluated - start);
    again.push(evaluatedAgain - evaluated);
    peer.push(done - evaluatedAgain);
  }
  const rate = (times: readonly number[]) => Math.round(1000 / median([...times]));
  const ratio = (these: readonly number[], those: readonly number[]) =>
    round3(median(these.map((ms, i) => ms / those[i]!)));
  return [
    {
      ...{ bench: 'capability', case: 'evaluate and hash, 500 tools', value: rate(first), unit: 'op/s' },
      ...{ ratio: ratio(peer, first), against: 'canonicalize + SHA-256 of the payloads' },
    },
    {
      ...{ bench: 'capability', case: 'evaluate again, unchanged tools', value: rate(again), unit: 'op/s' },
      ...{ ratio: ratio(first, again), against: 'the first evaluation' },
    },
  ];
}

/** Everything that is hashed of the agent. */
async function payloadsOf(root: Composable<unknown>): Promise<object[]> {
  const found: object[] = [];
  const open: Composable<unknown>[] = [root];
  for (let top = open.pop(); top !== undefined; top = open.pop()) {
    found.push(staticPayload(top));
    if (top.kind === 'toolkit') open.push(...top.members);
  }
  const agent = makeAgent(root);
  const { rootComposableHash, staticInstructions: agentInstructions } = agent;
  const { toolRefs, instructions } = await evaluateRegisteredAgentAffordances(agent, { env: {} });
  found.push({ rootComposableHash, agentInstructions });
  found.push(runtimeCapabilityCanonicalPayload(toolRefs), instructionsCanonicalPayload(instructions));
  return found;
}
