import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { resolveSecret } from './secret.ts';

const environment = { PATH: process.env.PATH, KEY: 'from the environment' };
const run = (command: readonly [string, ...string[]], base = '/', timeoutMs?: number) =>
  resolveSecret({ command }, { environment, base, timeoutMs });
const sh = (script: string, timeoutMs?: number) => run(['sh', '-c', script], '/', timeoutMs);
/** What a refusal shows to somebody who prints all of it. */
const refusal = async (promise: Promise<unknown>) => {
  const error = await promise.then(
    () => expect.unreachable(),
    (error) => error,
  );
  expect(error).not.toHaveProperty('cause');
  expect(error.message).not.toContain('hunter2');
  return [error.code, error.message];
};

/** Whether a process runs; one that ended and that nobody took note of does not. */
const runs = (pid: number) => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

test('what a program prints is the secret, without the newline at its end', async () => {
  expect((await sh('echo hunter2')).reveal()).toBe('hunter2');
  expect((await sh('printf hunter2')).reveal()).toBe('hunter2');
  expect((await sh('printf "hunter2\\r\\n"')).reveal()).toBe('hunter2');
  expect((await sh('echo hunter2; echo warning >&2')).reveal()).toBe('hunter2');
  expect((await run(['printenv', 'KEY'])).reveal()).toBe('from the environment');
});

test('no shell reads the words, and nothing else of our environment is passed on', async () => {
  expect((await run(['echo', '$KEY', '*', ';', '`id`'])).reveal()).toBe('$KEY * ; `id`');
  expect((await run(['printenv', 'PATH'])).reveal()).toBe(environment.PATH);
  expect(await refusal(run(['printenv', 'HOME']))).toEqual([
    'SECRET_COMMAND',
    'The program "printenv" ended with exit code 1; it wrote 0 bytes on standard error.',
  ]);
});

test('a program is started in the folder of the configuration', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'get'), '#!/bin/sh\ncat key\n');
  chmodSync(join(folder, 'get'), 0o700);
  writeFileSync(join(folder, 'key'), 'hunter2\n');
  expect((await run(['./get'], folder)).reveal()).toBe('hunter2');
  expect(await refusal(run(['./get'], join(folder, 'none')))).toEqual([
    'SECRET_COMMAND',
    'The program "./get" cannot be started (ENOENT).',
  ]);
});

test('a program that fails has no secret, whatever it printed', async () => {
  expect(await refusal(sh('echo hunter2; exit 1'))).toEqual([
    'SECRET_COMMAND',
    'The program "sh" ended with exit code 1; it wrote 0 bytes on standard error.',
  ]);
  expect(await refusal(sh('echo hunter2 >&2; exit 3'))).toEqual([
    'SECRET_COMMAND',
    'The program "sh" ended with exit code 3; it wrote 8 bytes on standard error.',
  ]);
  expect(await refusal(sh('echo hunter2; kill -KILL $$'))).toEqual([
    'SECRET_COMMAND',
    'The program "sh" was ended by SIGKILL; it wrote 0 bytes on standard error.',
  ]);
});

test('a program that cannot be started is told by its name alone', async () => {
  expect(await refusal(run(['no-such-program', 'hunter2']))).toEqual([
    'SECRET_COMMAND',
    'The program "no-such-program" cannot be started (ENOENT).',
  ]);
  const file = join(temporaryFolder(), 'plain');
  writeFileSync(file, 'x', { mode: 0o600 });
  expect(await refusal(run([file, 'hunter2']))).toEqual([
    'SECRET_COMMAND',
    `The program "${file}" cannot be started (EACCES).`,
  ]);
  expect(await refusal(run(['echo', 'hunter2'.repeat(1 << 19)]))).toEqual([
    'SECRET_COMMAND',
    'The program "echo" cannot be started (E2BIG).',
  ]);
});

test('what is printed must be a secret that a header can carry', async () => {
  const message = (what: string) => ['SECRET_VALUE', `What "sh" prints ${what}`];
  expect(await refusal(sh(':'))).toEqual(message('is empty.'));
  expect(await refusal(sh('echo'))).toEqual(message('is empty.'));
  expect(await refusal(sh('printf "a\\nb\\n"'))).toEqual(
    message('holds a control character or a byte order mark.'),
  );
  expect(await refusal(sh("printf '\\377'"))).toEqual(message('is not UTF-8.'));
});

test('64 KiB are taken, and of an endless output no more', async () => {
  expect((await sh('head -c 65536 /dev/zero | tr "\\0" a')).reveal()).toBe('a'.repeat(65_536));
  const tooMuch = ['SECRET_TOO_LARGE', 'The program "sh" prints more than 65536 bytes.'];
  expect(await refusal(sh('head -c 65537 /dev/zero | tr "\\0" a'))).toEqual(tooMuch);
  const pids = join(temporaryFolder(), 'pids');
  expect(await refusal(sh(`echo $$ > ${pids}; yes hunter2`))).toEqual(tooMuch);
  while (runs(Number(readFileSync(pids, 'utf8')))) await sleep(10);
  expect((await sh('head -c 1000000 /dev/zero >&2; echo hunter2')).reveal()).toBe('hunter2');
});

/** Runs a script that hangs under a limit that lets it write the numbers of its processes, and gives these. */
async function hung(script: (pids: string) => string, count: number): Promise<number[]> {
  for (let ms = 250; ; ms *= 2) {
    const pids = join(temporaryFolder(), 'pids');
    expect(await refusal(sh(script(pids), ms))).toEqual([
      'SECRET_TIMEOUT',
      `The program "sh" did not end in ${ms} ms.`,
    ]);
    const started = existsSync(pids) ? readFileSync(pids, 'utf8').trim().split('\n').map(Number) : [];
    if (started.length === count) return started;
  }
}

test('a program that hangs is killed with everything that it started', async () => {
  const started = await hung(
    (pids) => `sleep 600 & echo $! > ${pids}; echo $$ >> ${pids}; echo hunter2; wait`,
    2,
  );
  while (started.some(runs)) await sleep(10);
});

test('one that leaves its output open to another is waited for until the limit, and both are killed', async () => {
  const started = await hung((pids) => `sleep 600 & echo $! > ${pids}; echo hunter2`, 1);
  while (started.some(runs)) await sleep(10);
});

test('no listener is left behind', async () => {
  const before = ['exit', 'SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => process.listenerCount(name));
  const during = Promise.all(Array.from({ length: 20 }, () => sh('echo hunter2')));
  expect(process.listenerCount('exit')).toBe(before[0]! + 1);
  expect((await during).map((secret) => secret.reveal())).toEqual(Array(20).fill('hunter2'));
  expect(['exit', 'SIGINT', 'SIGTERM', 'SIGHUP'].map((name) => process.listenerCount(name))).toEqual(before);
});
