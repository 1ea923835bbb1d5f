// Makes a clone ready to run: installs and builds, and costs next to nothing when both are done.
// It runs before anything is installed, so it must work on Node 20 with nothing but Node's own modules.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const state = join(root, 'node_modules', '.bulla');

function run(title, command, ...args) {
  process.stderr.write(`bulla: ${title}\n`);
  const shell = process.platform === 'win32';
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2], shell });
  if (status !== 0) {
    process.stderr.write(
      `bulla: set-up stopped: "${command} ${args.join(' ')}" failed${error ? `: ${error.message}` : ''}\n`,
    );
    process.exit(1);
  }
}

/** Runs a step unless it was done before from the same files; a step that fails is not marked as done. */
function step(name, fingerprint, missing, work) {
  const mark = join(state, name);
  if (!missing && existsSync(mark) && readFileSync(mark, 'utf8') === fingerprint) return;
  rmSync(mark, { force: true });
  work();
  mkdirSync(state, { recursive: true });
  writeFileSync(mark, fingerprint);
}

function fingerprintOf(files) {
  const hash = createHash('sha256');
  for (const file of files)
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  return hash.digest('hex');
}

function filesBelow(folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length + 1))
    .filter((file) => !file.endsWith('.test.ts'))
    .sort();
}

const manifests = [
  'package.json',
  'package-lock.json',
  '.npmrc',
  ...['core', 'bulla', 'console'].map((name) => `packages/${name}/package.json`),
];
const workspaceNode = join(root, 'node_modules', '.bin', process.platform === 'win32' ? 'node.cmd' : 'node');

step('installed', fingerprintOf(manifests), !existsSync(workspaceNode), () => {
  // Scripts stay off, except for the package that fetches the Node this workspace runs on.
  run('installing packages', 'npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error');
  run('installing Node 24 for this workspace', 'npm', 'rebuild', 'node', '--loglevel=error');
});

const sources = ['packages/core/src', 'packages/bulla/src', 'packages/console/src'].flatMap(filesBelow);
const built = [
  ...manifests,
  'scripts/build.mjs',
  'scripts/lazy-requires.mjs',
  'tsconfig.base.json',
  'packages/core/tsconfig.build.json',
  'packages/bulla/tsconfig.build.json',
  ...sources,
];
step('built', fingerprintOf(built), !existsSync(join(root, 'packages/bulla/dist/bulla.js')), () => {
  run('building', workspaceNode, 'scripts/build.mjs');
});
