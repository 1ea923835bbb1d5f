// Scans what its arguments name and prints how that went and the most memory it took, in megabytes.
import { BullaError } from '@bulla/core/error';
import { parseTarget, scan } from '../src/mcp/index.ts';

console.log('started');
const outcome = await scan(parseTarget(process.argv.slice(2)), { graceMs: 50, termMs: 50 }).then(
  ({ tools }) => tools.length,
  (error: unknown) => (error instanceof BullaError ? error.code : String(error)),
);
console.log(JSON.stringify({ outcome, megabytes: Math.round(process.resourceUsage().maxRSS / 1024) }));
