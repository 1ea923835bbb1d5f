#!/usr/bin/env node
// The hook of .pre-commit-hooks.yaml: `pre-commit.mjs [--option=value…] [--] FILE…`, in the repository that is
// committed to. A lock is compared with its server; a configuration with the locks of the servers in it, and nothing is
// started for that. A file that was named and not examined is a failure. Its own checkout is set up when it is used for
// the first time. It runs on Node 20 with Node's modules alone.
import { spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(realpathSync(fileURLToPath(import.meta.url))), '..');
const UNDECIDED = 3;

// The whole path decides, as in the hook's own pattern: `mcp-locks/mcp.json` is a lock.
const LOCK = /(?:^|\/)(?:mcp-lock\.json|mcp-locks\/[^/]+(?<!\.dsse)\.json)$/;
/** Behind the folder of the project. */
const CONFIGURATION = /^(?:|.*\/)(?=(?:\.mcp\.json|\.cursor\/mcp\.json|\.vscode\/mcp\.json)$)/s;

/** The project that a configuration belongs to; null for what is none. */
function projectOf(file) {
  const [project = null] = CONFIGURATION.exec(file) ?? [];
  return project === '' ? '.' : project;
}

/**
 * What the words of the command line are: options, locks, configurations by their projects, and what is none of these.
 * Behind `--` there are files only. Without it, options come first, and what is named as a file of ours is one.
 */
export function plan(words) {
  const end = words.indexOf('--');
  const isOption = (word) => word.startsWith('--') && !LOCK.test(word) && projectOf(word) === null;
  const first = words.findIndex((word) => !isOption(word));
  const count = end >= 0 ? end : first < 0 ? words.length : first;
  const files = words.slice(end >= 0 ? end + 1 : count);
  const projects = new Map();
  const rest = [];
  const locks = files.filter((file) => LOCK.test(file));
  for (const file of files.filter((name) => !locks.includes(name))) {
    const project = projectOf(file);
    if (project === null) rest.push(file);
    else projects.set(project, [...(projects.get(project) ?? []), file]);
  }
  return { options: words.slice(0, count), locks, projects, rest };
}

/** A text of others in one line that no terminal acts on. */
const shown = (text) =>
  JSON.stringify(text).replace(/[^ -~]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

function tell(file, what) {
  process.stdout.write(`${shown(file)} ${what}.\n`);
}

/** Why a file cannot be examined; null if it can. What is committed must be what is read: no link. */
function obstacle(file) {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (stats === undefined) return 'is not there';
  return stats.isFile() ? null : 'is no regular file';
}

function bulla(args, stdout = 'inherit') {
  const {
    status,
    error,
    stdout: text,
  } = spawnSync(join(root, 'bin', 'bulla'), args, {
    encoding: 'utf8',
    stdio: ['ignore', stdout, 'inherit'],
    maxBuffer: 1 << 28,
  });
  if (error) throw error;
  return { status: status ?? UNDECIDED, text };
}

/** Only what the project has counts: not what whoever commits has configured at home. */
function checkConfigurations(project, files) {
  const home = mkdtempSync(join(tmpdir(), 'bulla-home-'));
  // A project below may have its locks where the repository has them.
  const shared =
    !existsSync(join(project, 'mcp-locks')) && existsSync('mcp-locks') ? ['--locks=mcp-locks'] : [];
  try {
    const args = ['discover', '--json', `--home=${home}`, `--project=${project}`, ...shared];
    const { status, text } = bulla(args, 'pipe');
    const { servers = [], files: read = [], problems = [] } = text === '' ? {} : JSON.parse(text);
    for (const { file, name, state, code, message } of servers) {
      const why = code === undefined ? '' : `  ${shown(message)} [${code}]`;
      process.stdout.write(`${shown(file)}: ${shown(name)}  ${state}${why}\n`);
    }
    for (const { file, code, message } of problems) tell(file ?? project, `${shown(message)} [${code}]`);
    const unread = files.filter((file) => !read.some(({ path }) => resolve(path) === resolve(file)));
    for (const file of unread) tell(file, 'was not examined');
    return unread.length > 0 ? Math.max(status, UNDECIDED) : status;
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function setUp() {
  if (existsSync(join(root, 'packages', 'bulla', 'dist', 'bulla.js'))) return 0;
  const { status, error } = spawnSync(process.execPath, [join(root, 'scripts', 'setup.mjs')], {
    stdio: 'inherit',
  });
  if (error) throw error;
  return status ?? UNDECIDED;
}

/** Each is looked at, and the worst is told: what is bad comes before what could not be told. */
function main(words) {
  const { options, locks, projects, rest } = plan(words);
  const status = setUp();
  if (status !== 0) return status;
  if (locks.length + projects.size + rest.length === 0) {
    process.stdout.write('No file was named: nothing was examined.\n');
    return UNDECIDED;
  }
  const exits = [];
  const examine = (files, action) => {
    const bad = files.filter((file) => obstacle(file) !== null);
    for (const file of bad) tell(file, obstacle(file) ?? 'was not examined');
    if (bad.length > 0) exits.push(UNDECIDED);
    const good = files.filter((file) => !bad.includes(file));
    if (good.length > 0) exits.push(action(good));
  };
  // The last one counts, should the options name another lock.
  for (const file of locks) examine([file], () => bulla(['check', ...options, `--lock=${file}`]).status);
  for (const [project, files] of projects) examine(files, (good) => checkConfigurations(project, good));
  for (const file of rest) {
    tell(file, 'is neither a lock nor a configuration: it was not examined');
    exits.push(UNDECIDED);
  }
  return exits.includes(1) ? 1 : Math.max(0, ...exits);
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  process.exitCode = main(process.argv.slice(2));
