import { createHash, randomBytes } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { findInput } from '../os/index.ts';

// Node looks for a package in the folders above as well. A package of a tree that asks for one that is not in the
// tree, as is usual for optional ones, would get whatever lies in the node_modules of a folder above: code that nobody
// pinned. So packages of a tree find packages of the same tree, and nothing else; so does what they evaluate, for which
// Node would search the current folder. What a program loads by path, such as its user's configuration, and what that
// loads, is not touched.
//
// The fence is a file beside the trees, because every version of Node can load one first, and it hands itself on to
// workers and child processes through their environment. It must run on any Node.

const TEXT = String.raw`'use strict';
const Module = require('node:module');
const childProcess = require('node:child_process');
const threads = require('node:worker_threads');
const { fileURLToPath, pathToFileURL } = require('node:url');
const { realpathSync } = require('node:fs');
const { isAbsolute, sep } = require('node:path');

const option = '--require ' + JSON.stringify(__filename);
const fenced = (given) => (!given ? option : given.includes(option) ? given : option + ' ' + given);
// A program may have taken it away since.
const keep = () => {
  process.env.NODE_OPTIONS = fenced(process.env.NODE_OPTIONS);
};
keep();
// Compiled code would be read from the folder for temporary files, where others can put some.
process.env.NODE_DISABLE_COMPILE_CACHE = '1';

// What gets an environment of its own gets the fence with it.
const withFence = (options) => {
  if (typeof options?.env !== 'object' || options.env === null) return options;
  const env = {};
  for (const name in options.env) env[name] = options.env[name];
  return { ...options, env: { ...env, NODE_OPTIONS: fenced(env.NODE_OPTIONS) } };
};
const start = childProcess.ChildProcess.prototype.spawn;
childProcess.ChildProcess.prototype.spawn = function spawn(options) {
  const name = 'NODE_OPTIONS=';
  if (Array.isArray(options?.envPairs)) {
    const given = options.envPairs.find((pair) => pair.startsWith(name));
    const others = options.envPairs.filter((pair) => !pair.startsWith(name));
    options = { ...options, envPairs: [...others, name + fenced(given?.slice(name.length))] };
  }
  return start.call(this, options);
};
for (const name of ['spawnSync', 'execFileSync', 'execSync']) {
  const act = childProcess[name];
  childProcess[name] = (...words) => {
    keep();
    return act(...words.map((word) => (Array.isArray(word) ? word : withFence(word))));
  };
}
threads.Worker = class Worker extends threads.Worker {
  constructor(file, options) {
    keep();
    super(file, withFence(options));
  }
};
const replace = process.execve;
if (replace)
  process.execve = (file, args, env = process.env) => replace.call(process, file, args, withFence({ env }).env);
Module.syncBuiltinESMExports();

const treeIn = (home, place, separator) => {
  const end = place.startsWith(home) ? place.indexOf(separator, home.length) : -1;
  return end < 0 ? null : place.slice(0, end + 1);
};
const treeOfPath = (path) => treeIn(__dirname + sep, path + sep, sep);
const treeOfUrl = (url) => treeIn(pathToFileURL(__dirname).href + '/', url, '/');

// A process or a thread whose script somebody named by a path outside is theirs, and so is what it loads first.
const isTheirs = (() => {
  const script = process.argv[1];
  if (process._eval !== undefined || !script || !isAbsolute(script)) return false;
  try {
    return treeOfPath(realpathSync(script)) === null;
  } catch {
    return false;
  }
})();
// Loaders run in a thread that the fence does not reach.
if (!isTheirs && process.execArgv.some((word) => /^--(?:experimental[-_])?loader(?:=|$)/.test(word)))
  throw new Error('A pinned program takes no loader');
// What is evaluated, or is loaded before the script, is in no file; Node takes it to lie in the current folder.
const NO_FILE = /(?:^|[\\/])(?:\[[^\\/]*\]|[^\\/]*<[^\\/]*>|repl|REPL\d+)?$/;
const isNoFile = (name) => !isTheirs && (!name || NO_FILE.test(name) || !isAbsolute(name));
// The folder in which packages must lie for code that is in no file: none, or the tree that is the current folder.
const currentTree = () => treeOfPath(process.cwd()) ?? __dirname + sep + '-' + sep;
const isRelative = (request) => /^\.{1,2}(?:[\\/]|$)/.test(request);
const refuse = (specifier, code) => {
  const error = new Error('Cannot find package ' + JSON.stringify(specifier) + ' in the pinned tree');
  error.code = code;
  throw error;
};

// CommonJS: every name is one of a package unless it is a path.
const PRELOAD = 'internal/preload';
const treeFor = (parent) => {
  const file = parent?.filename;
  return treeOfPath(file ?? '') ?? (isNoFile(file) ? currentTree() : null);
};
const above = Module._nodeModulePaths;
Module._nodeModulePaths = (from) => {
  const tree = treeOfPath(from);
  const folders = above(from);
  return tree === null ? folders : folders.filter((folder) => folder.startsWith(tree));
};
const places = Module._resolveLookupPaths;
Module._resolveLookupPaths = (request, parent) => {
  const folders = places(request, parent);
  if (!folders || isRelative(request)) return folders;
  // Who asks for folders by name has no file, and does not mean those of the user and the machine.
  if (parent?.id === '' && !parent.filename && parent.paths)
    return folders.filter((folder) => parent.paths.includes(folder));
  const tree = treeFor(parent);
  return tree === null ? folders : folders.filter((folder) => folder.startsWith(tree));
};
const locate = Module._resolveFilename;
Module._resolveFilename = function _resolveFilename(request, parent, ...rest) {
  const found = locate.call(this, request, parent, ...rest);
  const tree = treeFor(parent);
  if (tree === null || !isAbsolute(found) || found.startsWith(tree) || isAbsolute(request)) return found;
  if (isRelative(request) && parent?.id !== PRELOAD) return found;
  return refuse(request, 'MODULE_NOT_FOUND');
};
const noPlaces = () => {
  Module.globalPaths = [];
};
const initPlaces = Module._initPaths;
Module._initPaths = () => {
  initPlaces();
  noPlaces();
};
noPlaces();

// Modules: what is loaded before the script has the current folder for a parent.
Module.registerHooks?.({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const isRequired = context.conditions?.includes('require');
    const parent = context.parentURL ?? '';
    const isNone = isNoFile(parent.startsWith('file:') ? fileURLToPath(parent) : '');
    const tree = treeOfUrl(parent) ?? (isNone ? pathToFileURL(currentTree()).href : null);
    if (tree === null || !found.url.startsWith('file:') || found.url.startsWith(tree)) return found;
    const isPath = isAbsolute(specifier) || (!isRequired && /^(?:[/]|[a-z][a-z0-9+.-]*:)/i.test(specifier));
    if (isPath || (isRelative(specifier) && (isRequired || !parent.endsWith('/')))) return found;
    return refuse(specifier, isRequired ? 'MODULE_NOT_FOUND' : 'ERR_MODULE_NOT_FOUND');
  },
});
`;

/**
 * The file that Node loads first, beside the trees; it is written where it is missing or is not what it should be.
 * Throws `PIN_INSTALL_FAILED`.
 */
export function fenceIn(trees: string): string {
  const digest = createHash('sha256').update(TEXT).digest('hex');
  const file = join(trees, `fence-${digest.slice(0, 32)}.cjs`);
  if (holdsText(file)) return file;
  try {
    const draft = join(trees, `draft-${randomBytes(12).toString('hex')}`);
    writeFileSync(draft, TEXT, { flag: 'wx', mode: 0o400 });
    renameSync(draft, file);
  } catch (cause) {
    throw new BullaError('PIN_INSTALL_FAILED', `${file} cannot be written.`, { cause });
  }
  return file;
}

function holdsText(file: string): boolean {
  try {
    return TEXT === Buffer.from(findInput(file, 'key') ?? []).toString();
  } catch {
    return false;
  }
}
