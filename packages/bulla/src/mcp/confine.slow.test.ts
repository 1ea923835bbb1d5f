import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from '@bulla/core/json';
import { describe, expect, it, onTestFinished } from 'vitest';
import { noBwrap } from '../../test/bwrap.ts';
import { packaged } from '../../test/mcp.ts';
import { repo, temporaryFolder } from '../../test/run.ts';
import { startChild, stopChild } from './child.ts';
import { type Confinement, confined } from './confine.ts';
import { open } from './open.ts';

const ESCAPE = join(repo, 'packages/bulla/test/escape.mjs');
const WORKER = join(repo, 'packages/bulla/test/confined-worker.ts');
const isRoot = process.getuid?.() === 0;

type Attempt = readonly [string, ...unknown[]];

/** Runs the program confined as a server is, and gives what came of each attempt. */
async function attempts(
  tries: readonly Attempt[],
  confinement: Confinement = {},
  { env = {}, cwd }: { readonly env?: Record<string, string>; readonly cwd?: string } = {},
): Promise<unknown[]> {
  const child = await startChild(process.execPath, [ESCAPE, JSON.stringify(tries)], {
    env: { PATH: process.env.PATH!, HOME: homedir(), ...env },
    ...(cwd === undefined ? {} : { cwd }),
    confine: confinement,
  });
  let text = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
  });
  await child.closed;
  if (text === '') throw new Error(`It said nothing, but on standard error ${child.lastWords()}`);
  return JSON.parse(text);
}

const failed = (code: string | number) => ({ failed: code });

/** A file with a text, in a folder that is gone after the test. */
function fileWith(text: string): string {
  const file = join(temporaryFolder(), 'file');
  writeFileSync(file, text);
  return file;
}

async function listening(where: { port: number; host: string } | string): Promise<number> {
  const server = createServer((socket) => socket.end('hello from outside'));
  server.listen(where as string);
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

describe.skipIf(noBwrap !== null)('a confined program', () => {
  it('cannot read what lies outside: home, secrets of the system, temporary files, our data', async () => {
    const secrets = [homedir(), process.env.BULLA_HOME!].map((folder) => {
      mkdirSync(folder, { recursive: true });
      const file = join(mkdtempSync(join(folder, '.bulla-confine-')), 'secret');
      onTestFinished(() => rmSync(dirname(file), { recursive: true }));
      writeFileSync(file, 'a secret');
      return file;
    });
    const other = fileWith('of somebody else');
    const paths = [...secrets, '/etc/shadow', other, '/etc/hostname', '/var/log/dpkg.log'];
    const results = await attempts([
      ...paths.map((path) => ['read', path] as const),
      ['list', homedir()],
      ['list', '/tmp'],
      ['read', `/proc/${process.pid}/environ`],
    ]);
    expect(results).toEqual([...paths.map(() => failed('ENOENT')), [], [], failed('ENOENT')]);
  });

  it('cannot write outside, and what it writes to its own temporary files and home stays inside', async () => {
    const mark = `bulla-confine-${process.pid}`;
    const results = await attempts([
      ['write', `/${mark}`],
      ['write', `/usr/${mark}`],
      ['write', `/etc/${mark}`],
      ['append', '/etc/passwd'],
      ['append', join(repo, 'node_modules/node/package.json')],
      ['append', ESCAPE],
      // The kernel does not take this text, so that a hole here does no harm.
      ['append', '/proc/sys/vm/drop_caches'],
      ['write', `/tmp/${mark}`],
      ['write', join(homedir(), mark)],
      ['read', `/tmp/${mark}`],
    ]);
    const readOnly = failed('EROFS');
    expect(results.slice(0, 6)).toEqual(Array(6).fill(readOnly));
    // Whoever is not root gets no further than to the permissions.
    expect(results[6]).toEqual(isRoot ? readOnly : failed('EACCES'));
    expect(results.slice(7)).toEqual(['done', 'done', 'written inside']);
    expect([`/tmp/${mark}`, join(homedir(), mark)].filter((path) => existsSync(path))).toEqual([]);
  });

  it('reads and writes the named folders, each only as it is named', async () => {
    const [read, write] = [temporaryFolder(), temporaryFolder()];
    for (const folder of [read, write]) writeFileSync(join(folder, 'a'), 'there');
    const results = await attempts(
      [
        ['read', join(read, 'a')],
        ['write', join(read, 'a')],
        ['read', join(write, 'a')],
        ['write', join(write, 'b')],
        ['list', '/tmp'],
      ],
      { read: [read], write: [write] },
    );
    expect(results).toEqual([
      ...['there', failed('EROFS'), 'there', 'done'],
      [read, write].map((folder) => folder.slice('/tmp/'.length)).sort(),
    ]);
    expect(readFileSync(join(write, 'b'), 'utf8')).toBe('written inside');
  });

  it('finds a named folder by the links that lead to it, and follows none out of it', async () => {
    const folder = temporaryFolder();
    const data = temporaryFolder();
    writeFileSync(join(data, 'a'), 'there');
    const outside = fileWith('outside');
    symlinkSync(outside, join(data, 'out'));
    symlinkSync(data, join(folder, 'link'));
    const named = join(folder, 'link');
    const results = await attempts(
      [
        ['read', join(named, 'a')],
        ['write', join(named, 'b')],
        ['read', join(named, 'out')],
        ['list', folder],
      ],
      { write: [named] },
    );
    expect(results).toEqual(['there', 'done', failed('ENOENT'), ['link']]);
  });

  it('has no network, and reaches no socket: of TCP, of a path, of an abstract name', async () => {
    const port = await listening({ port: 0, host: '127.0.0.1' });
    const path = join(temporaryFolder(), 's');
    await listening(path);
    const name = `\0bulla-confine-${process.pid}`;
    await listening(name);
    const tries: Attempt[] = [
      ['connect', { port, host: '127.0.0.1' }],
      ['connect', { path }],
      ['connect', { path: name }],
      ['list', '/run'],
      ['interfaces'],
    ];
    expect(await attempts(tries)).toEqual([
      ...[failed('ECONNREFUSED'), failed('ENOENT'), failed('ECONNREFUSED'), failed('ENOENT')],
      ['lo'],
    ]);
    const hello = 'hello from outside';
    const permitted = await attempts(tries, { network: true });
    expect(permitted.slice(0, 3)).toEqual([hello, failed('ENOENT'), hello]);
  });

  it('does reach a socket in a folder that is named, as the documentation says', async () => {
    const folder = temporaryFolder();
    await listening(join(folder, 's'));
    const tries: Attempt[] = [['connect', { path: join(folder, 's') }]];
    expect(await attempts(tries, { read: [folder] })).toEqual(['hello from outside']);
  });

  it('sees, signals and traces no process outside', async () => {
    const victim = spawn('sleep', ['600']);
    onTestFinished(() => void victim.kill('SIGKILL'));
    const results = await attempts([
      ['kill', victim.pid],
      ['kill', process.pid],
      ['ptrace', victim.pid],
      ['processes'],
    ]);
    expect(results).toEqual([failed('ESRCH'), failed('ESRCH'), 'No such process', 2]);
    expect(victim.exitCode).toBe(null);
    expect(victim.signalCode).toBe(null);
  });

  it('has no capability, gains none, and can make no namespace or mount', async () => {
    const results = await attempts([
      ['status', 'CapEff'],
      ['status', 'CapBnd'],
      ['status', 'NoNewPrivs'],
      ['run', '/usr/bin/mount', '-t', 'tmpfs', 'none', '/tmp'],
      ['run', '/usr/bin/mount', '-o', 'remount,rw', '/usr'],
      ['run', '/usr/bin/umount', '/tmp'],
      ['run', '/usr/bin/unshare', '--user', '--map-root-user', '/usr/bin/true'],
      ['run', '/usr/bin/unshare', '--mount', '/usr/bin/true'],
      ['run', '/usr/sbin/chroot', '/usr', '/bin/true'],
    ]);
    const none = '0000000000000000';
    expect(results.slice(0, 3)).toEqual([none, none, '1']);
    expect(results.slice(3)).toEqual([32, 32, 32, 1, 1, 125].map(failed));
  });

  it.runIf(isRoot)('is not made root by a setuid program', () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o755);
    const id = join(folder, 'id');
    copyFileSync('/usr/bin/id', id);
    chmodSync(id, 0o4755);
    const nobody = { uid: 65534, gid: 65534, cwd: '/' };
    const outside = spawnSync(id, ['-u'], nobody);
    expect(outside.stdout.toString()).toBe('0\n');
    const start = confined(id, ['-u'], { read: [folder] }, { env: {}, cwd: '/' });
    const inside = spawnSync(start.command, start.args, { ...nobody, env: start.env });
    expect([inside.stdout.toString(), inside.stderr.toString()]).toEqual(['65534\n', '']);
  });

  it('gets exactly the given environment and its folder', async () => {
    const folder = temporaryFolder();
    const env = { PATH: '/usr/bin', HOME: '/home/nobody-here', TOKEN: 'x y\nz', LD_BIND_NOW: '1' };
    // bwrap sets PWD to the folder.
    expect(await attempts([['env'], ['cwd'], ['list', '.']], {}, { env, cwd: folder })).toEqual([
      { ...env, PWD: folder },
      folder,
      [],
    ]);
    expect(await attempts([['cwd'], ['list', '/home/nobody-here']], {}, { env, cwd: '/' })).toEqual([
      '/',
      [],
    ]);
  });

  it('keeps no secret on a command line that others can see', () => {
    const { args } = confined('true', [], {}, { env: { PATH: '/usr/bin', TOKEN: 'secret' } });
    expect(args.filter((word) => word.includes('secret'))).toEqual([]);
  });

  it('does not get descriptors that this process inherited', () => {
    const secret = openSync(fileWith('a secret'), 'r');
    onTestFinished(() => closeSync(secret));
    const run = (mode: string) => {
      const { stdout, stderr } = spawnSync(
        process.execPath,
        ['--conditions=bulla-source', WORKER, mode, '/bin/sh', '-c', 'cat /proc/self/fd/60; echo end'],
        { stdio: ['ignore', 'pipe', 'pipe', ...Array(57).fill('ignore'), secret] },
      );
      return [stdout.toString(), stderr.toString()];
    };
    expect(run('free')[0]).toBe('a secretend\n');
    expect(run('confined')[0]).toBe('end\n');
  });

  it('is what a child process of ours is: killed as a group, with all that it started', async () => {
    const folder = temporaryFolder();
    const beat = join(folder, 'beat');
    // It ignores what asks it to end, and so does what it leaves behind in a session of its own.
    const code = `trap '' TERM HUP INT; setsid sh -c "trap '' TERM HUP; while :; do date +%s%N > ${beat}; sleep 0.02; done" & while :; do sleep 1; done`;
    const child = await startChild('/bin/sh', ['-c', code], { env: {}, confine: { write: [folder] } });
    while (!existsSync(beat)) await sleep(10);
    await stopChild(child, 10, 10);
    await expectNobody(beat);
  });

  it('ends when our process is killed', async () => {
    const folder = temporaryFolder();
    const beat = join(folder, 'beat');
    const code = `setsid sh -c "while :; do date +%s%N > ${beat}; sleep 0.02; done"`;
    const ours = spawn(
      process.execPath,
      ['--conditions=bulla-source', WORKER, folder, '/bin/sh', '-c', code],
      { stdio: 'ignore' },
    );
    while (!existsSync(beat)) await sleep(10);
    ours.kill('SIGKILL');
    await once(ours, 'exit');
    await expectNobody(beat);
  });
});

/** Waits until no process of this machine has the words on its command line, and fails if that never happens. */
async function expectNobody(words: string): Promise<void> {
  const found = () =>
    readdirSync('/proc').filter((name) => {
      try {
        return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'utf8').includes(words);
      } catch {
        return false;
      }
    });
  for (let i = 0; i < 500 && found().length > 0; i++) await sleep(20);
  expect(found()).toEqual([]);
}

it.skipIf(noBwrap !== null)('where user namespaces are not permitted, nothing is started', async () => {
  // What is confined may make none itself.
  const child = await startChild(
    process.execPath,
    ['--conditions=bulla-source', WORKER, 'confined', '/usr/bin/echo', 'it runs'],
    { env: { HOME: '/nobody' }, confine: { read: [join(repo, 'packages')] } },
  );
  let said = '';
  child.stdout.on('data', (chunk) => {
    said += chunk;
  });
  await child.closed;
  expect(said).toMatch(
    /^CONFINE_UNAVAILABLE: A server cannot be confined here: bwrap says "bwrap: [^"]+"\. It must be permitted to make user namespaces: [^\n]+\n$/,
  );
});

describe.skipIf(noBwrap !== null)('a confined server', () => {
  it('serves one named folder, and no other', async () => {
    const [folder, other] = [temporaryFolder(), fileWith('outside')];
    writeFileSync(join(folder, 'a.txt'), 'inside');
    const target = packaged('server-filesystem', folder);
    const session = await open(target, { confine: { write: [folder] } });
    try {
      const call = async (name: string, args: Record<string, string>) => {
        return stringify(await session.connection.request('tools/call', { name, arguments: args }));
      };
      expect(await call('read_text_file', { path: join(folder, 'a.txt') })).toContain('"inside"');
      expect(await call('write_file', { path: join(folder, 'b.txt'), content: 'new' })).toContain('Success');
      expect(await call('read_text_file', { path: other })).toContain('"isError":true');
    } finally {
      await session.connection.close();
    }
    expect(readFileSync(join(folder, 'b.txt'), 'utf8')).toBe('new');
  });

  it('runs on what its first line names, from a folder of links', async () => {
    const bin = join(repo, 'node_modules/.bin');
    const session = await open(
      { kind: 'stdio', command: 'mcp-server-everything', args: [], env: [] },
      {
        confine: {},
        graceMs: 50,
        environment: { PATH: `${bin}:${dirname(realpathSync(process.execPath))}` },
      },
    );
    expect(stringify(session.serverInfo!)).toContain('"mcp-servers/everything"');
    await session.connection.close();
  });
});
