import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '@bulla/core/crypto';
import { lockDigest, readLock } from '@bulla/core/lock';
import { parsePolicy } from '@bulla/core/policy';
import { expect, onTestFinished, test } from 'vitest';
import { lockText, type Message, type Sealed } from '../../../test/guard.ts';
import { bundledGuard, preparePlace, runGuard, shakeHands } from '../../../test/guard-process.ts';
import { script } from '../../../test/mcp.ts';
import { temporaryFolder } from '../../../test/run.ts';
import { sealer } from '../../../test/store-suite.ts';
import { openStore } from '../../store/index.ts';

// Real processes: the files of a guard are changed while it runs.

const cli = bundledGuard();

/** A place with a configuration of one rogue server, `files`. */
async function prepare() {
  const received = join(temporaryFolder(), 'received');
  const server = script('rogue.mjs', received, 'ordinary');
  const place = await preparePlace(server);
  const config = join(place.home, 'bulla.json');
  const files = { command: server.command, args: server.args, lock: 'mcp-lock.json' };
  /** As editors do; tells the digest. */
  const replace = (text: string): string => {
    writeFileSync(`${config}.new`, text);
    renameSync(`${config}.new`, config);
    return `sha256:${sha256Hex(Buffer.from(text))}`;
  };
  const write = (more: object = {}, ofServer: object = {}) => {
    const text = JSON.stringify({
      servers: { files: { ...files, ...ofServer } },
      store: { url: 'store.db', keys: 'keys' },
      ...more,
    });
    return replace(text);
  };
  return { ...place, server, config, write, replace };
}

/** Waits for a line on standard error. */
function lineOf(child: ChildProcess) {
  let text = '';
  const waiting = new Set<() => void>();
  child.stderr!.on('data', (chunk: Buffer) => {
    text += chunk;
    for (const look of waiting) look();
  });
  return {
    text: () => text,
    until: (pattern: RegExp, count = 1) =>
      new Promise<void>((resolve) => {
        const look = (): void => {
          if (text.split('\n').filter((line) => pattern.test(line)).length < count) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
}

async function reloadsOf(store: string): Promise<Sealed[]> {
  const opened = await openStore({ url: store, sealer });
  try {
    const rows = await Array.fromAsync(opened.chain('default').records());
    return rows
      .map(({ data }) => JSON.parse(data) as Sealed)
      .filter(({ trigger }) => trigger.request === 'guard reload');
  } finally {
    await opened.close();
  }
}

const APPLIED = /^bulla: the configuration, the locks and the rules were read again, and are in use/;
const REFUSED = /^bulla: the reload is refused, what was in use stands: /;

test('a session goes on with what was written into its files, unless that is bad', async () => {
  const { config, store, write, replace } = await prepare();
  const first = write();
  const guard = runGuard({
    kind: 'stdio',
    command: process.execPath,
    args: [cli(), '--config', config],
    env: [],
  });
  const stderr = lineOf(guard.child);
  await shakeHands(guard);
  let id = 0;
  let lines = 1;
  const ask = async (method: string, params: object = {}): Promise<Message> => {
    guard.send({ id: ++id, method, params });
    for (;;) {
      const all = (await guard.lines(++lines)).map((line) => JSON.parse(line) as Message);
      const found = all.find((message) => message.id === id);
      if (found !== undefined) return found;
    }
  };
  const tools = async () =>
    (await ask('tools/list')).result.tools.map(({ name }: { name: string }) => name) as string[];
  expect(await tools()).toEqual(['echo', 'add']);

  const second = write({}, { only: ['add'] });
  await stderr.until(APPLIED);
  expect(await tools()).toEqual(['add']);

  const bad = replace('{"servers":{');
  await stderr.until(REFUSED);
  expect(await tools()).toEqual(['add']);
  expect((await ask('tools/call', { name: 'echo' })).error!.data).toMatchObject({
    code: 'GATEWAY_NOT_LOCKED',
  });

  const third = write({ store: { url: 'other.db', keys: 'keys' } });
  await stderr.until(REFUSED, 2);
  expect(stderr.text()).toContain(
    '"store" of the configuration changed, which needs a new start. [GATEWAY_RELOAD]',
  );

  write();
  await stderr.until(APPLIED, 2);
  expect(await tools()).toEqual(['echo', 'add']);

  // It reads at once, whether something changed or not, and does not end.
  guard.child.kill('SIGHUP');
  await stderr.until(APPLIED, 3);
  expect((await ask('tools/call', { name: 'echo' })).result).toBeDefined();
  guard.child.stdin!.end();
  expect((await guard.ended()).code).toBe(0);
  expect(stderr.text().match(/the reload is refused/g)).toHaveLength(2);
  expect(
    (await reloadsOf(store)).map(({ context, outcome }) => {
      const { reload, config: digest } = context.environment.bulla.facts;
      return [reload, digest, outcome.status, outcome.error];
    }),
  ).toEqual([
    ['files', second, 'success', null],
    ['files', bad, 'blocked', 'session: JSON_UNEXPECTED_END'],
    ['files', third, 'blocked', 'session: GATEWAY_RELOAD'],
    ['files', first, 'success', null],
    ['signal', first, 'success', null],
  ]);
});

test('over HTTP the token of an agent that is removed stops at once, and that of a new one works', async () => {
  const { config, write } = await prepare();
  const hash = (token: string) => `sha256:${createHash('sha256').update(token).digest('hex')}`;
  const agents = (...names: string[]) => ({
    listen: '127.0.0.1:0',
    agents: Object.fromEntries(names.map((name) => [name, { tokenHash: hash(name) }])),
  });
  write(agents('one', 'two'));
  const child = spawn(process.execPath, [cli(), '--config', config, '--listen'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env.PATH ?? '' },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const stderr = lineOf(child);
  await stderr.until(/^bulla: listening on /);
  const url = /^bulla: listening on (\S+)$/m.exec(stderr.text())![1]!;
  const post = (token: string, method: string, params: object, session?: string) =>
    fetch(url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session && { 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
  const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'h', version: '1' } };
  const begun = await post('one', 'initialize', hello);
  const session = begun.headers.get('mcp-session-id')!;
  await begun.text();
  expect((await post('one', 'ping', {}, session)).status).toBe(200);
  const kept = await post('two', 'initialize', hello);
  await kept.text();

  write(agents('two', 'three'));
  await stderr.until(APPLIED);
  expect((await post('one', 'ping', {}, session)).status).toBe(401);
  expect((await post('two', 'ping', {}, kept.headers.get('mcp-session-id')!)).status).toBe(200);
  expect((await post('three', 'initialize', hello)).status).toBe(200);

  // With its token back, the agent has no session any more.
  write(agents('one', 'two'));
  await stderr.until(APPLIED, 2);
  expect((await post('one', 'ping', {}, session)).status).toBe(404);
  const closed = once(child, 'close');
  child.kill('SIGTERM');
  expect(await closed).toEqual([0, null]);
});

test('the lock of a single server is read again too', async () => {
  const { home, lock, store, keys, server } = await prepare();
  const guard = runGuard({
    kind: 'stdio',
    command: process.execPath,
    args: [cli(), '--store', store, '--keys', keys, '--lock', lock, '--', server.command, ...server.args],
    env: [],
  });
  const stderr = lineOf(guard.child);
  await shakeHands(guard);
  writeFileSync(join(home, 'next'), await lockText(server, { updatedAt: new Date(1000) }));
  renameSync(join(home, 'next'), lock);
  await stderr.until(APPLIED);
  guard.child.stdin!.end();
  expect((await guard.ended()).code).toBe(0);
  const [reload] = await reloadsOf(store);
  expect(reload!.context.environment.bulla.facts).toEqual({
    reload: 'files',
    config: null,
    locks: { server: lockDigest(readLock(readFileSync(lock))) },
  });
});

/** A guard of one server on the command line, and the code or text that a call of its tool gives. */
async function guardOne(args: string[]) {
  const guard = runGuard({ kind: 'stdio', command: process.execPath, args: [cli(), ...args], env: [] });
  const stderr = lineOf(guard.child);
  await shakeHands(guard);
  let lines = 1;
  const call = async (params: object = {}) => {
    guard.send({ id: lines, method: 'tools/call', params: { name: 'add', arguments: params } });
    const { error, result } = JSON.parse((await guard.lines(++lines)).at(-1)!) as Message;
    return error?.data?.code ?? result.content[0].text;
  };
  return { guard, stderr, call };
}

const house = (expr: string) => `name: house\nrules:\n  - {name: r, phase: call, expr: '${expr}'}\n`;

test('the rules of --rules and --policy are read again, and the record says which ones', async () => {
  const { home, lock, store, keys, server } = await prepare();
  const [rules, policy] = [join(home, 'rules.yaml'), join(home, 'policy.yaml')];
  writeFileSync(rules, house('true'));
  writeFileSync(policy, house('true'));
  const { guard, stderr, call } = await guardOne([
    ...['--store', store, '--keys', keys, '--lock', lock, '--rules', rules, '--policy', policy],
    ...['--', server.command, ...server.args],
  ]);
  expect(await call()).toBe('add {}');
  writeFileSync(`${rules}.new`, house('has(input.arguments.a)'));
  renameSync(`${rules}.new`, rules);
  await stderr.until(APPLIED);
  expect(await call()).toBe('POLICY_DENIED');
  expect(await call({ a: 1 })).toBe('add {"a":1}');
  writeFileSync(`${policy}.new`, house('!('));
  renameSync(`${policy}.new`, policy);
  await stderr.until(REFUSED);
  expect(await call({ a: 1 })).toBe('add {"a":1}');
  writeFileSync(`${policy}.new`, house('false'));
  renameSync(`${policy}.new`, policy);
  await stderr.until(APPLIED, 2);
  expect(await call({ a: 1 })).toBe('POLICY_DENIED');
  guard.child.stdin!.end();
  expect((await guard.ended()).code).toBe(0);
  const digest = (expr: string) => parsePolicy(house(expr)).digest;
  expect(
    (await reloadsOf(store)).map(({ context, outcome }) => [
      context.environment.bulla.facts.rules ?? null,
      outcome.status,
    ]),
  ).toEqual([
    [{ server: [digest('true'), digest('has(input.arguments.a)')] }, 'success'],
    [null, 'blocked'],
    [{ server: [digest('false'), digest('has(input.arguments.a)')] }, 'success'],
  ]);
});

test('with --no-record, a session proves itself and is reloaded too', async () => {
  const { home, lock, server } = await prepare();
  const rules = join(home, 'rules.yaml');
  writeFileSync(rules, house('true'));
  const { guard, stderr, call } = await guardOne([
    ...['--no-record', '--lock', lock, '--rules', rules, '--', server.command, ...server.args],
  ]);
  expect(await call()).toBe('add {}');
  writeFileSync(`${rules}.new`, house('false'));
  renameSync(`${rules}.new`, rules);
  await stderr.until(APPLIED);
  expect(await call()).toBe('POLICY_DENIED');
  guard.child.stdin!.end();
  expect((await guard.ended()).code).toBe(0);
});
