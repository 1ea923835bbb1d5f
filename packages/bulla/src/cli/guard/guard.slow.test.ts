import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { localSigner, publicKey, toHex } from '@bulla/core/crypto';
import { signLock } from '@bulla/core/lock';
import { expect, test } from 'vitest';
import {
  bundledGuard,
  guardTarget,
  type Place,
  preparePlace,
  runGuard,
  shakeHands,
} from '../../../test/guard-process.ts';
import { script } from '../../../test/mcp.ts';
import { type Result, temporaryFolder } from '../../../test/run.ts';
import type { StdioTarget } from '../../mcp/index.ts';

const cli = bundledGuard();

const SESSION = [
  '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}',
  '{"jsonrpc":"2.0","id":2,"method":"ping"}',
].join('\n');

function run(
  place: Place,
  server: StdioTarget,
  options: string[] = [],
  variables: Record<string, string> = {},
): Result {
  const { command, args } = guardTarget(cli(), place, server, ...options);
  const { status, stdout, stderr } = spawnSync(command, args, {
    input: SESSION,
    env: { PATH: process.env.PATH ?? '', ...variables },
  });
  return { status, stdout: stdout.toString(), stderr: stderr.toString() };
}

function prepare(behaviour = 'ordinary'): { received: string; server: StdioTarget } {
  const received = join(temporaryFolder(), 'received');
  return { received, server: script('rogue.mjs', received, behaviour) };
}

test('standard output carries messages only, and ends with the host', async () => {
  const { server } = prepare();
  const place = await preparePlace(server);
  const { status, stdout, stderr } = run(place, server);
  expect([status, stderr]).toEqual([0, '']);
  expect(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).id)
      .toSorted(),
  ).toEqual([1, 2]);
});

test('what the operator should know is on standard error, and the server cannot imitate it', async () => {
  const server = script('hostile.mjs', join(temporaryFolder(), 'pids'), 'dies-at-start');
  const place = await preparePlace(script('rogue.mjs', '/dev/null', 'ordinary'));
  const guard = runGuard(guardTarget(cli(), place, server, '--allow-other-command'));
  const { code, stderr } = await guard.ended();
  expect(code).toBe(3);
  expect(stderr).toContain('[server] no configuration\n[server] ⟨U+001B⟩[31mgiving up\n');
  expect(stderr).toContain('bulla: The server ended with exit code 3.');
});

test('what was removed and denied is told, unless that is not wanted', async () => {
  const { server } = prepare('adds-a-twin');
  const place = await preparePlace(script('rogue.mjs', '/dev/null', 'ordinary'));
  for (const options of [[], ['--quiet']]) {
    const guard = runGuard(guardTarget(cli(), place, server, '--allow-other-command', ...options));
    await shakeHands(guard);
    guard.send({ id: 1, method: 'tools/list' });
    await guard.lines(2);
    guard.send({ id: 2, method: 'tools/call', params: { name: 'evil' } });
    await guard.lines(3);
    guard.child.stdin!.end();
    const { code, stderr } = await guard.ended();
    expect(code).toBe(0);
    const lines = stderr.split('\n').slice(0, -1);
    expect(lines.map((line) => /\[([A-Z_]+)\]$/.exec(line)?.[1])).toEqual(
      options.length === 0 ? ['GATEWAY_NOT_LOCKED', 'GATEWAY_NOT_LOCKED'] : [],
    );
  }
});

test('a lock of another command is refused before anything is started', async () => {
  const { received, server } = prepare();
  const place = await preparePlace(script('rogue.mjs', '/dev/null', 'ordinary'));
  const refused = run(place, server);
  expect([refused.status, refused.stdout]).toEqual([1, '']);
  expect(refused.stderr).toContain('another server: argument 2 differs. [GATEWAY_OTHER_SERVER]');
  expect(existsSync(received)).toBe(false);
  expect(run(place, server, ['--allow-other-command']).status).toBe(0);
});

/** How the guard under test is started. */
const OWN = / \S+( \S+\.m?js)?(?= lock -o)/;

test('variables of the host that the lock does not name are told, with the command that adds them', async () => {
  const { server } = prepare();
  const place = await preparePlace(server);
  const how = ` lock -o ${place.lock} --env SHOP_TOKEN -- ${[server.command, ...server.args].join(' ')}\n`;
  const told = run(place, server, [], { SHOP_TOKEN: 's3cret' });
  expect([told.status, told.stderr.replace(OWN, '')]).toEqual([
    0,
    `bulla: the server does not see SHOP_TOKEN, which the lock does not name; to let it, with SHOP_TOKEN set:${how}`,
  ]);
  const refused = run(place, server, ['--env', 'SHOP_TOKEN'], { SHOP_TOKEN: 's3cret' });
  expect(refused.status).toBe(1);
  expect(refused.stderr.replace(OWN, '')).toContain(
    `bulla: to lock it with these variables, with SHOP_TOKEN set:${how}`,
  );
  expect(refused.stderr).toContain('it does not see the environment variable "SHOP_TOKEN".');
});

test('without a server, the one of the lock is started', async () => {
  const { received, server } = prepare();
  const place = await preparePlace(server);
  const { command, args } = guardTarget(cli(), place, server);
  const { status } = spawnSync(command, args.slice(0, args.indexOf('--')), { input: SESSION });
  expect(status).toBe(0);
  expect(readFileSync(received, 'utf8')).toContain('initialize');
});

test('a required signature is verified before anything is started', async () => {
  const { received, server } = prepare();
  const place = await preparePlace(server);
  const signer = localSigner('Ed25519', new Uint8Array(32).fill(7));
  const key = toHex(publicKey('Ed25519', signer.publicKey).bytes);
  const require = ['--require-signature', '--key', key];
  expect(run(place, server, require)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('[LOCK_UNSIGNED]'),
  });
  writeFileSync(`${place.lock}.sig`, await signLock(readFileSync(place.lock), signer));
  writeFileSync(received, '');
  expect(run(place, server, require).status).toBe(0);
  expect(readFileSync(received, 'utf8')).toContain('initialize');
  writeFileSync(received, '');
  writeFileSync(
    place.lock,
    readFileSync(place.lock, 'utf8').replace('"updatedAt": "1970', '"updatedAt": "1971'),
  );
  expect(run(place, server, require)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('[LOCK_SIGNATURE_INVALID]'),
  });
  expect(readFileSync(received, 'utf8')).toBe('');
});

test('a lock or a store that cannot be used starts nothing', async () => {
  const { received, server } = prepare();
  const place = await preparePlace(server);
  writeFileSync(received, '');
  writeFileSync(join(place.home, 'none'), '');
  expect(run({ ...place, keys: join(place.home, 'none') }, server).status).toBe(2);
  writeFileSync(place.lock, '{"lockFileVersion":"4.0"}');
  expect(run(place, server)).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('[LOCK_VERSION_NEWER]'),
  });
  expect(run(place, { ...server, command: 'https://example.invalid', args: [] }).status).toBe(2);
  expect(readFileSync(received, 'utf8')).toBe('');
});

test('a token with which no agent could prove itself, or two could, is refused at the start', async () => {
  const { server } = prepare();
  const { command, args } = server;
  const place = await preparePlace(server);
  const config = join(place.home, 'bulla.json');
  const agents = { a: { token: 'env:TOKEN_A' }, b: { token: 'env:TOKEN_B' } };
  const servers = { one: { command, args, lock: place.lock } };
  writeFileSync(config, JSON.stringify({ servers, agents }));
  const words = ['--store', place.store, '--keys', place.keys, '--config', config, '--listen', '127.0.0.1:0'];
  const refused = (TOKEN_A: string, TOKEN_B: string) => {
    const env = { PATH: process.env.PATH ?? '', TOKEN_A, TOKEN_B };
    const { status, stderr } = spawnSync(process.execPath, [cli(), ...words], {
      env,
      encoding: 'utf8',
      timeout: 60_000,
    });
    return [status, stderr];
  };
  const unusable =
    'The token of the agent "b" cannot stand in a header: it is empty, or has spaces or other characters than ASCII ones.';
  for (const token of ['two words', 't\u00f6ken'])
    expect(refused('one', token)).toEqual([2, `bulla: ${unusable} [CONFIG_UNSOUND]\n`]);
  expect(refused('same', 'same')).toEqual([
    2,
    'bulla: The agents "a" and "b" have the same token. [GATEWAY_LISTEN_OPTION]\n',
  ]);
});

test('the allowlist can be printed without a server', async () => {
  const { server } = prepare();
  const place = await preparePlace(server);
  const { status, stdout } = run(place, server, ['--print-effective-allowlist']);
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    lockfile: place.lock,
    prompts: ['ask'],
    resources: ['file:///a'],
    templates: ['note:///{id}'],
    tools: ['add', 'echo'],
  });
});

test('without a record, no store and no keyring are made', async () => {
  const { server } = prepare();
  const place = await preparePlace(server);
  const home = join(place.home, 'unused');
  const words = ['--no-record', '--quiet', '--lock', place.lock, '--', server.command, ...server.args];
  const ended = spawnSync(process.execPath, [cli(), ...words], {
    input: SESSION,
    env: { PATH: process.env.PATH ?? '', BULLA_HOME: home },
  });
  expect([ended.status, ended.stderr.toString(), existsSync(home)]).toEqual([
    0,
    'bulla: warning: --no-record: calls are not recorded, and kill switches do not hold\n',
    false,
  ]);
  expect(ended.stdout.toString().split('\n')).toHaveLength(3);
  expect(run(place, server, ['--no-record'])).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining('--store needs a record, and --no-record says that nothing is recorded.'),
  });
});

test('options that mean nothing are refused', async () => {
  const { server } = prepare();
  const place = await preparePlace(server);
  for (const words of [
    ['--pass', 'everything'],
    ['--timeout', 'soon'],
    ['--timeout', '90'],
    ['--recheck', '-1'],
  ]) {
    const { command, args } = guardTarget(cli(), place, server, ...words);
    const { status, stdout } = spawnSync(command, args, { input: SESSION });
    expect([status === 0, stdout.toString()]).toEqual([false, '']);
  }
});

test('a private address in an argument is refused, unless that is allowed', async () => {
  const { server } = prepare();
  const place = await preparePlace(server);
  const said: unknown[] = [];
  for (const options of [[], ['--allow-private-uris']]) {
    const guard = runGuard(guardTarget(cli(), place, server, '--quiet', ...options));
    await shakeHands(guard);
    guard.send({
      id: 1,
      method: 'tools/call',
      params: { name: 'echo', arguments: { a: 'http://10.0.0.1/' } },
    });
    const { result, error } = JSON.parse((await guard.lines(2))[1]!);
    said.push(result?.content[0].text ?? error.data.code);
    guard.child.stdin!.end();
    await guard.ended();
  }
  expect(said).toEqual(['GATEWAY_URI', 'echo {"a":"http://10.0.0.1/"}']);
});
