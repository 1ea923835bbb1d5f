// Appends to a chain from a process of its own, and says each time a record is acknowledged.
// Arguments: the store, the chain, how many records (0: until it is killed), how many at once.
import { writeSync } from 'node:fs';
import { localSigner } from '@bulla/core/crypto';
import { openStore } from '../src/store/index.ts';

const [url, name, count, width] = process.argv.slice(2) as [string, string, string, string];
// A test key.
const signer = localSigner('Ed25519', new Uint8Array(32).fill(3));
const store = await openStore({ url, create: true, sealer: () => ({ signer }) });
const chain = store.chain(name);
const total = Number(count) || Number.POSITIVE_INFINITY;
let started = 0;

async function caller() {
  while (started < total) {
    const mine = started++;
    const capsule = await chain.append({
      type: 'tool',
      outcome: { status: 'success', summary: `${process.pid}/${mine}` },
    });
    // Written at once, so that what was said before a kill has been said.
    writeSync(1, `${capsule.sequence} ${capsule.hash}\n`);
  }
}
await Promise.all(Array.from({ length: Number(width) }, caller));
await store.close();
