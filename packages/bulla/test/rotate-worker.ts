// Rotates the keys of a keyring again and again. Arguments: the folder, how often, and the pause after each in
// milliseconds.
import { randomBytes } from 'node:crypto';
import { rotateKeys } from '../src/keys/index.ts';

const [folder, times, pause] = process.argv.slice(2) as [string, string, string];
for (let i = 0; i < Number(times); i++) {
  const { active } = await rotateKeys(folder, {
    ...{ now: () => new Date(), randomBytes, lock: { waitMs: 60_000 } },
  });
  console.log(active.epoch);
  await new Promise((resolve) => setTimeout(resolve, Number(pause)));
}
