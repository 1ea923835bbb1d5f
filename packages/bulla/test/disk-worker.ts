// Appends to a chain for as long as its standard input is open, and says of each record what it was told.
// Arguments: the store. Every other record has openings and an effect, so that both ways to append are taken.
import { writeSync } from 'node:fs';
import type { BullaError } from '@bulla/core/error';
import { liftKill, openStore } from '../src/store/index.ts';
import { sealer } from './store-signer.ts';

const store = await openStore({ url: process.argv[2]!, create: true, sealer, onCheckpointError: () => {} });
let going = true;
process.stdin.on('end', () => {
  going = false;
});
process.stdin.resume();
for (let i = 0; going; i++) {
  const id = crypto.randomUUID();
  const opening = { kind: 'args', salt: new Uint8Array(4096), payload: null } as const;
  const told = await store
    .chain('c')
    .append(
      { type: 'tool', outcome: { status: 'success', summary: 'x'.repeat(5000) } },
      i % 2 === 0
        ? { id }
        : { id, openings: [opening, { ...opening, kind: 'result' }], effect: liftKill(null) },
    )
    .then(
      () => 'stored',
      (error: BullaError) => error.code,
    );
  writeSync(1, `${id} ${told}\n`);
  // Standard input is read in between.
  await new Promise((resolve) => setTimeout(resolve, 1));
}
await store.close();
