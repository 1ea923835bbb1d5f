#!/usr/bin/env node
// The hook of .pre-commit-hooks.yaml: `pre-commit.mjs [--option=value…] FILE…`, in the repository that is committed to.
// A lock is compared with its server; a configuration with the locks of the servers in it, and nothing is started for
// that. Its own checkout is set up when it is used for the first time. It runs on Node 20 with Node's modules alone.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(realpathSync(fileURLToPath(import.meta.url))), '..');
const CONFIGURATIONS = ['.mcp.json', 'mcp.json'];

function run(program, args) {
  const { status, error } = spawnSync(program, args, { stdio: 'inherit' });
  if (error) throw error;
  return status ?? 3;
}

const bulla = (...args) => run(join(root, 'bin', 'bulla'), args);

/** Only what the project has counts: not what whoever commits has configured at home. */
function checkConfigurations() {
  const home = mkdtempSync(join(tmpdir(), 'bulla-home-'));
  try {
    return bulla('discover', '--home', home, '--project', '.');
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

const words = process.argv.slice(2);
const options = words.filter((word) => word.startsWith('-'));
const files = words.filter((word) => !word.startsWith('-'));
const isConfiguration = (file) => CONFIGURATIONS.includes(basename(file));
const locks = files.filter((file) => !isConfiguration(file));

if (!existsSync(join(root, 'packages', 'bulla', 'dist', 'bulla.js'))) {
  const status = run(process.execPath, [join(root, 'scripts', 'setup.mjs')]);
  if (status !== 0) process.exit(status);
}
// Each is looked at, and the worst is told: what is bad comes before what could not be told.
const exits = [
  ...locks.map((file) => bulla('check', `--lock=${file}`, ...options)),
  ...(files.some(isConfiguration) ? [checkConfigurations()] : []),
];
process.exitCode = exits.includes(1) ? 1 : Math.max(0, ...exits);
