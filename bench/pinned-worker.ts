// Installs what a lock pins from what is kept, as every start does, and prints how long that took, in milliseconds.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readLock } from '@bulla/core/lock';
import { install, npmArtifact, openCache } from '../packages/bulla/src/pin/index.ts';

const [lock, home] = process.argv.slice(2);
const artifact = npmArtifact(readLock(readFileSync(lock!)).artifact);
const start = performance.now();
const refused = () => Promise.reject(new Error('something is missing'));
const installed = await install(artifact, {
  cache: openCache(join(home!, 'cache')),
  trees: join(home!, 'trees'),
  registry: refused,
  onNotice: (text) => {
    throw new Error(text);
  },
});
console.log(performance.now() - start);
installed.release();
