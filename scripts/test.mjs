// Runs lint, types and tests. `--fast` leaves out what needs a browser, a database server or a crash; `--soak` lets
// property and crash tests run for much longer.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const fast = process.argv.includes('--fast');
if (fast) process.env.BULLA_FAST = '1';
if (process.argv.includes('--soak')) process.env.BULLA_SOAK = '1';
const chromium = process.env.BULLA_CHROMIUM ?? '/usr/bin/chromium';

function run(title, script, ...args) {
  const { status } = spawnSync(process.execPath, [join(root, script), ...args], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) {
    console.error(`\n${title}: failed`);
    process.exit(status ?? 1);
  }
}

if (!process.env.BULLA_VECTORS)
  console.log('skipped: third-party conformance suites (BULLA_VECTORS names no folder; see README.md)');
if (!fast && !existsSync(chromium)) {
  console.log('skipped: the core suite in a browser (no chromium found; BULLA_CHROMIUM can name one)');
  if (process.env.BULLA_REQUIRE_BROWSER === '1') process.exit(1);
}

run('lint', 'node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.');
run('import directions', 'scripts/check-imports.mjs');
run('types', 'node_modules/typescript/bin/tsc', '--noEmit', '-p', 'tsconfig.json');
run(
  'tests',
  'node_modules/vitest/vitest.mjs',
  'run',
  ...(fast ? ['--project', 'apart', '--project', 'together'] : []),
);
