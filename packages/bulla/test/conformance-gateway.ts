import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Locks the server at an address and guards it: `node conformance-gateway.ts URL`. The suite starts a server at a new
// address for every client scenario.

const [url = ''] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'bulla-conformance-'));
const cli = join(import.meta.dirname, '../dist/bulla.js');
const env = { ...process.env, BULLA_HOME: join(folder, 'home') };
const lock = join(folder, 'mcp-lock.json');
const locked = spawnSync(process.execPath, [cli, 'lock', '--quiet', '-o', lock, '--', url], {
  env,
  stdio: ['ignore', 'ignore', 'inherit'],
});
if (locked.status !== 0) process.exit(3);
const words = ['guard', '--quiet', '--lock', lock, '--pass', 'elicitation', 'sampling', 'roots'];
const guard = spawn(process.execPath, [cli, ...words], { env, stdio: 'inherit' });
guard.on('close', (code) => {
  rmSync(folder, { recursive: true, force: true });
  process.exitCode = code ?? 1;
});
