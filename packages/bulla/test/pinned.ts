import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { onTestFinished } from 'vitest';
import { bullaIn, SHOP, type TestSurface } from './lockfiles.ts';
import { type TestPackage, type TestRegistry, testRegistry } from './registry.ts';
import { type Result, repo, temporaryFolder } from './run.ts';
import { TEST_CERTIFICATE } from './tls.ts';

const SERVER = readFileSync(join(repo, 'packages/bulla/test/servers/surface.mjs'), 'utf8');

/** A tool server as a package: what it shows is in it, and it needs `left` to start. */
export function shopPackage(
  version: string,
  surface: TestSurface = SHOP,
  needs: object = { left: '^1.0.0' },
): TestPackage {
  return {
    name: '@team/shop',
    version,
    manifest: {
      type: 'module',
      bin: { shop: './index.mjs', end: 'end.mjs', shell: 'shell.sh', preload: 'preload.mjs' },
      imports: { '#outside': 'outside' },
      dependencies: needs,
      scripts: { install: 'touch ran-a-script' },
    },
    files: {
      'index.mjs': `#!/usr/bin/env node
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { left } from 'left';
if (process.env.MARK) writeFileSync(process.env.MARK, left + ' ' + process.argv.slice(2).join(' '));
process.argv.splice(2, 0, fileURLToPath(new URL('surface.json', import.meta.url)));
await import('./surface.mjs');
`,
      'surface.mjs': SERVER,
      'surface.json': JSON.stringify(surface),
      'end.mjs': `#!/usr/bin/env -S node --no-warnings
const [how, what] = process.argv.slice(2);
if (how === 'exit') process.exit(Number(what));
if (how === 'load') import(what).then(() => process.exit(0), (error) => (console.log(error.code), process.exit(7)));
if (how === 'ways') await import('./ways.mjs');
if (how === 'wait') { console.log('waiting'); setInterval(() => undefined, 1000); }
`,
      'ways.mjs': WAYS,
      'tries.cjs': TRIES,
      'preload.mjs': '#!/usr/bin/env -S node --import outside\n',
      'shell.sh': '#!/bin/sh\nexit 0\n',
    },
  };
}

/** Asks for a package in every way that Node has, in every kind of process and thread, and prints what was found. */
const WAYS = `import { execFileSync, fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';
import { SHARE_ENV, Worker } from 'node:worker_threads';
const tries = fileURLToPath(new URL('tries.cjs', import.meta.url));
const text = readFileSync(tries, 'utf8');
const found = {};
const run = (args, options) => JSON.parse(spawnSync(process.execPath, args, { encoding: 'utf8', ...options }).stdout);
const inWorker = async (options) => (await once(new Worker(tries, options), 'message'))[0];
found.here = await (await import('./tries.cjs')).default.tried;
found.spawned = run([tries]);
found.spawnedAlone = run([tries], { env: {} });
found.executedAlone = JSON.parse(execFileSync(process.execPath, [tries], { env: {} }));
found.evaluated = run(['-e', 'require(' + JSON.stringify(tries) + ')']);
found.text = run(['-e', text]);
found.textAlone = run(['-e', text], { env: { HOME: process.env.HOME } });
found.textWithArgument = run(['-e', text, 'node_modules/outside/index.js']);
found.input = run(['-'], { input: text });
found.workerText = (await once(new Worker(text, { eval: true }), 'message'))[0];
found.vm = [await vm.runInThisContext('import("outside").then(() => 1, () => 0)', { importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER })];
const theirs = 'node_modules/outside/index.js';
const status = (args, options) => spawnSync(process.execPath, args, options).status;
found.first = ['--import=outside', '--import=./' + theirs, '-r=outside', '--require=outside', '--require=./' + theirs, '--loader=outside'].map((flag) => status(flag.startsWith('-r') ? flag.split('=').concat(tries) : [flag, tries]) && 'refused');
found.theirs = [status(['--import=outside', theirs]), status(['-e', 'import("left").catch(() => process.exit(1))'], { cwd: dirname(tries) })];
found.forked = (await once(fork(tries), 'message'))[0];
found.forkedAlone = (await once(fork(tries, { env: {}, execArgv: [] }), 'message'))[0];
found.worker = await inWorker();
found.workerOfItsOwn = await inWorker({ execArgv: [] });
found.workerWithoutEnvironment = await inWorker({ env: {} });
found.workerAlone = await inWorker({ env: {}, execArgv: [] });
found.below = run(['-e', 'require("child_process").fork(' + JSON.stringify(tries) + ', { env: {} }).on("message", (m) => console.log(JSON.stringify(m)))'], { env: {} });
found.replaced = run(['-e', 'process.execve(process.execPath, [process.execPath, ' + JSON.stringify(tries) + '], {})']);
delete process.env.NODE_OPTIONS;
found.spawnedWithout = run([tries]);
delete process.env.NODE_OPTIONS;
found.executedWithout = JSON.parse(execFileSync(process.execPath, [tries]));
delete process.env.NODE_OPTIONS;
found.workerWithout = await inWorker({ env: SHARE_ENV, execArgv: [] });
console.log(JSON.stringify(found));
`;

const TRIES = `const { createRequire } = require('node:module');
const Module = require('node:module');
const { isMainThread, parentPort } = require('node:worker_threads');
const ways = [
  () => require('outside'),
  () => require.resolve('outside'),
  () => createRequire(__filename)('outside'),
  () => Module._resolveFilename('outside', module),
  () => require('far'),
  () => require('away'),
  () => require('.away'),
  () => require('a:away'),
  () => Module._resolveFilename('away', module),
  () => Module._resolveFilename('#outside', module),
  () => Module._findPath('away', (Module._initPaths(), Module.globalPaths)) || require(''),
  () => Module._load('outside', null),
  () => new Module('x').require('outside'),
  () => import('outside'),
];
const tried = Promise.all(ways.map(async (way) => way().then?.(() => 1) ?? 1).map((one) => one.catch(() => 0)));
module.exports = { tried };
tried.then((found) => {
  if (!isMainThread) parentPort.postMessage(found);
  else if (process.send) process.send(found);
  else if (!process.argv[1]?.endsWith('end.mjs')) console.log(JSON.stringify(found));
});
`;

export const LEFT: TestPackage = {
  ...{ name: 'left', version: '1.4.0', manifest: { type: 'module', exports: './index.js' } },
  files: { 'index.js': "export const left = 'left 1.4.0';\n" },
};

export interface Shop {
  readonly registry: TestRegistry;
  readonly folder: string;
  /** The environment in which npm knows the registry, and may use it although it is on this machine. */
  readonly env: Record<string, string>;
  readonly lock: string;
  bulla(args: readonly string[], env?: Record<string, string>): Promise<Result>;
}

/** A registry with these packages, a folder, and npm configured for it. */
export async function shopWith(packages: readonly TestPackage[]): Promise<Shop> {
  const registry = await testRegistry(packages);
  const folder = temporaryFolder();
  const cafile = join(folder, 'ca.pem');
  writeFileSync(cafile, TEST_CERTIFICATE);
  writeFileSync(join(folder, 'npmrc'), '');
  const env = {
    npm_config_registry: registry.url.href,
    npm_config_cafile: cafile,
    npm_config_userconfig: join(folder, 'npmrc'),
    npm_config_cache: join(folder, 'npm-cache'),
    BULLA_ALLOW_PRIVATE_REGISTRY: '1',
    BULLA_HOME: join(folder, 'home'),
  };
  return {
    ...{ registry, folder, env, lock: join(folder, 'mcp-lock.json') },
    bulla: (args, more = {}) => bullaIn(folder, args, { ...env, ...more }),
  };
}

/** Speaks with a server that a command of ours starts, as a host would. */
export async function hostOf(
  args: readonly string[],
  env: Record<string, string>,
  cwd: string,
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [join(repo, 'packages/bulla/dist/bulla.js'), ...args],
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
    cwd,
    stderr: 'ignore',
  });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}
