import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BullaError } from '@bulla/core/error';

// Node looks for a package in the folders above as well. A package of a tree that asks for one that is not in the
// tree, as is usual for optional ones, would get whatever lies in the node_modules of a folder above: code that nobody
// pinned. So packages of a tree find packages of the same tree, and nothing else. What a program loads by path, such
// as its user's configuration, and what that loads, is not touched.
//
// The fence is a file beside the trees, because every version of Node can load one first, and it hands itself on to
// workers and child processes through their environment. It must run on any Node.

const TEXT = `'use strict';
const Module = require('node:module');
const childProcess = require('node:child_process');
const threads = require('node:worker_threads');
const { pathToFileURL } = require('node:url');
const { sep } = require('node:path');

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

const above = Module._nodeModulePaths;
Module._nodeModulePaths = (from) => {
  const tree = treeOfPath(from);
  const folders = above(from);
  return tree === null ? folders : folders.filter((folder) => folder.startsWith(tree));
};
Module.registerHooks?.({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const tree = treeOfUrl(context.parentURL ?? '');
    const isPackage = !/^(?:[./]|[a-z][a-z0-9+.-]*:)/i.test(specifier);
    if (tree === null || !isPackage || !found.url.startsWith('file:') || found.url.startsWith(tree)) return found;
    const error = new Error('Cannot find package ' + JSON.stringify(specifier) + ' in the pinned tree');
    error.code = context.conditions?.includes('require') ? 'MODULE_NOT_FOUND' : 'ERR_MODULE_NOT_FOUND';
    throw error;
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
  if (textOf(file) === TEXT) return file;
  try {
    const draft = join(trees, `draft-${randomBytes(12).toString('hex')}`);
    writeFileSync(draft, TEXT, { flag: 'wx', mode: 0o400 });
    renameSync(draft, file);
  } catch (cause) {
    throw new BullaError('PIN_INSTALL_FAILED', `${file} cannot be written.`, { cause });
  }
  return file;
}

function textOf(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}
