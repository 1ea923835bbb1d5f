// Sends envelopes to a ledger from a process of its own. Arguments: the store, a file with an envelope and its
// authorization a line, how to go through them, and a file to which each execution writes a line.
//
// at-once    waits for a file `go`, sends all of them at once, and says what came of each
// in-turn    sends them one after the other in an order of its own; what is executed waits a moment before it writes
// die-before is killed when it has the permit, before it executes
// die-after  is killed when it has executed
import { appendFileSync, existsSync, readFileSync, writeSync } from 'node:fs';
import { execHash, parseEnvelope } from '@bulla/core/envelope';
import { openStore } from '../src/store/index.ts';
import { verifierOn } from './envelope.ts';
import { sealer } from './store-signer.ts';

const [url, file, mode, executions] = process.argv.slice(2) as [string, string, string, string];
const pairs = readFileSync(file, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as [string, string]);
const store = await openStore({ url, create: true, sealer });
const verifier = verifierOn(store);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function send([envelope, authorization]: [string, string]): Promise<void> {
  const decision = await verifier.verifyAndConsume(envelope, authorization, async ({ exec_hash }) => {
    if (mode === 'die-before') process.kill(process.pid, 'SIGKILL');
    if (mode === 'in-turn') await pause(Math.random() * 5);
    appendFileSync(executions, `${exec_hash}\n`);
    if (mode === 'die-after') process.kill(process.pid, 'SIGKILL');
  });
  writeSync(1, `${execHash(parseEnvelope(envelope))} ${decision.verdict.code ?? decision.status}\n`);
}

writeSync(1, 'ready\n');
if (mode === 'at-once') {
  while (!existsSync(`${executions}.go`)) await pause(5);
  await Promise.all(pairs.map(send));
} else {
  for (const pair of mode === 'in-turn' ? pairs.toSorted(() => Math.random() - 0.5) : pairs) await send(pair);
}
await store.close();
