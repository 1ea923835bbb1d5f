// Verifies a chain on two threads and tells the most memory that took.
import { fromHex, publicKey } from '@bulla/core/crypto';
import { openSource, verifyChain } from '../packages/bulla/src/chain/index.ts';

const [file, hex] = process.argv.slice(2) as [string, string];
const { ok, count } = await verifyChain(openSource(file), {
  keys: [publicKey('Ed25519', fromHex(hex))],
  threads: 2,
});
console.log(JSON.stringify({ ok, count, peak: process.resourceUsage().maxRSS / 1024 }));
