// Scans the server that its arguments name and writes its lock to the file of the first, as `bulla lock` does, and
// prints how long each took, in milliseconds.

import { toUtf8 } from '@bulla/core/crypto';
import { writeLock } from '@bulla/core/lock';
import { identityOf } from '../packages/bulla/src/locks/index.ts';
import { parseTarget, scan } from '../packages/bulla/src/mcp/index.ts';
import { replaceFile } from '../packages/bulla/src/os/index.ts';

const [file, ...words] = process.argv.slice(2);
const target = parseTarget(words);
const start = performance.now();
const surface = await scan(target);
const scanned = performance.now();
const options = { generator: 'bench', updatedAt: new Date(), identity: identityOf(target) };
replaceFile(file!, toUtf8(writeLock(surface, options).text));
const written = performance.now();
console.log(JSON.stringify({ tools: surface.tools.length, scan: scanned - start, lock: written - scanned }));
