// Rotates the keys of a keyring again and again. Arguments: the folder, how often.
import { randomBytes } from 'node:crypto';
import { rotateKeys } from '../src/keys/index.ts';

const [folder, times] = process.argv.slice(2) as [string, string];
for (let i = 0; i < Number(times); i++) {
  const { active } = await rotateKeys(folder, { now: () => new Date(), randomBytes });
  console.log(active.epoch);
  await new Promise((resolve) => setTimeout(resolve, 20));
}
