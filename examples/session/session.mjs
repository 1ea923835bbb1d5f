// One session of three turns, and what is left of it. Argument: the data directory, with a keyring in it.
import { join } from 'node:path';
import { createRegistry, createSessionHost } from 'bulla/capability';
import { openKeyring } from 'bulla/keys';
import { openStore } from 'bulla/store';
import { agent } from './agent.mjs';

const [home] = process.argv.slice(2);
const keyring = openKeyring(join(home, 'keys'), { now: () => new Date() });
const store = await openStore({ url: join(home, 'store.db'), create: true, sealer: () => keyring.sealer() });
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
console.log(`${(await store.chain('default').head()).length} capsules, ${blocked.length} of them blocked`);
await store.close();
