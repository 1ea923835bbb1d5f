// One session of three turns, and what is left of it. Argument: the data directory.
import { open } from 'bulla';
import { createRegistry, createSessionHost } from 'bulla/capability';
import { agent } from './agent.mjs';

const [home] = process.argv.slice(2);
await using bulla = await open(home, { agentId: 'support' });
const { store, chain } = bulla;
const registry = createRegistry(store);
const host = createSessionHost({ registry, agent });
const session = await host.open({ context: { role: 'clerk' } });

/** What a model would do with the tools that it is offered. */
async function help(turn) {
  console.log(`turn ${turn.number}: ${turn.tools.map(({ name }) => name).join(', ')}`);
  await turn.call('look_up', { order: 'A1' });
  await turn.call('refund', { order: 'A1' }).catch(({ code }) => console.log(`  refused: ${code}`));
}
await session.turn(help);
await session.turn(help, { context: { role: 'manager' } });
await session.turn(help, { context: { role: 'manager' }, invocationContext: { ticket: 7 } });

for (const { turn, relation } of await registry.transitions(session.id)) {
  console.log(`before turn ${turn}: ${relation}`);
}
const blocked = await store.find({ sessionId: session.id, status: 'blocked' });
console.log(`${(await chain.head()).length} capsules, ${blocked.length} of them blocked`);
