// Runs turns of a session from a process of its own, and says each number once its turn is over.
// Arguments: the store, the session, how many turns, how many at once.
import { writeSync } from 'node:fs';
import { localSigner } from '@bulla/core/crypto';
import { createRegistry, createSessionHost } from '../src/capability/index.ts';
import { openStore } from '../src/store/index.ts';
import { type TestEnv, testAgent } from './capability-agents.ts';

const [url, id, count, width] = process.argv.slice(2) as [string, string, string, string];
// A test key.
const signer = localSigner('Ed25519', new Uint8Array(32).fill(3));
const store = await openStore({ url, sealer: () => ({ signer }) });
const host = createSessionHost<TestEnv>({ registry: createRegistry(store), agent: testAgent() });
const session = await host.resume(id);
let started = 0;

async function caller() {
  while (started < Number(count)) {
    const mayWrite = started++ % 2 === 0;
    const number = await session.turn(
      async (turn) => {
        await turn.call('echo', { text: String(turn.number) });
        return turn.number;
      },
      { context: { mayWrite } },
    );
    writeSync(1, `${number}\n`);
  }
}
await Promise.all(Array.from({ length: Number(width) }, caller));
await store.close();
