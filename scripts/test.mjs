// Runs lint, types and tests. `--fast` leaves out what needs a browser, a database server or a crash; `--soak` lets
// property and crash tests run for much longer.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const fast = process.argv.includes('--fast');
if (fast) process.env.BULLA_FAST = '1';
if (process.argv.includes('--soak')) process.env.BULLA_SOAK = '1';
const chromium = process.env.BULLA_CHROMIUM ?? '/usr/bin/chromium';

/** Runs a program and gives its exit code and, unless it prints for itself, what it printed. */
function start(script, args, stdio) {
  const child = spawn(process.execPath, [join(root, script), ...args], { cwd: root, stdio });
  const chunks = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => chunks.push(chunk));
  return new Promise((resolve) => {
    child.on('close', (status) => resolve({ status, output: Buffer.concat(chunks) }));
  });
}

function fail(title, status) {
  console.error(`\n${title}: failed`);
  process.exit(status ?? 1);
}

if (!process.env.BULLA_VECTORS)
  console.log('skipped: third-party conformance suites (BULLA_VECTORS names no folder; see README.md)');
if (!fast && !existsSync(chromium)) {
  console.log('skipped: the core suite in a browser (no chromium found; BULLA_CHROMIUM can name one)');
  if (process.env.BULLA_REQUIRE_BROWSER === '1') process.exit(1);
}

const checks = [
  ['lint', 'node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.'],
  ['import directions', 'scripts/check-imports.mjs'],
  ['doors', 'scripts/check-doors.mjs'],
  ['types', 'node_modules/typescript/bin/tsc', '--noEmit', '-p', 'tsconfig.json'],
].map(([title, script, ...args]) => [title, start(script, args, ['ignore', 'pipe', 'pipe'])]);
for (const [title, result] of checks) {
  const { status, output } = await result;
  process.stdout.write(output);
  if (status !== 0) fail(title, status);
}
const projects = fast ? ['--project', 'apart', '--project', 'together'] : [];
const { status } = await start('node_modules/vitest/vitest.mjs', ['run', ...projects], 'inherit');
if (status !== 0) fail('tests', status);
