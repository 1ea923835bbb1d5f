import { createHash } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect, onTestFinished, test } from 'vitest';
import { lockText, records } from '../../../test/guard.ts';
import { bundledGuard, type Running, runGuard } from '../../../test/guard-process.ts';
import { script } from '../../../test/mcp.ts';
import { temporaryFolder } from '../../../test/run.ts';
import { sealer } from '../../../test/store-suite.ts';
import { openStore } from '../../store/index.ts';

const cli = bundledGuard();
const TOKEN = 'a-token-of-a-test-0123456789';
const OTHER = 'another-token-of-a-test-9876';

interface Prepared {
  readonly folder: string;
  guard(...options: string[]): Running;
}

/** A configuration of two servers and two agents, of which the second may use one server. */
async function prepare(more: object = {}): Promise<Prepared> {
  const folder = temporaryFolder();
  const servers: Record<string, object> = {};
  for (const key of ['alpha', 'beta']) {
    const server = script('member.mjs', '/dev/null', key);
    writeFileSync(join(folder, `${key}.json`), await lockText(server));
    servers[key] = { command: server.command, args: server.args, lock: `${key}.json` };
  }
  writeFileSync(join(folder, 'token'), `${TOKEN}\n`);
  chmodSync(join(folder, 'token'), 0o600);
  const tokenHash = `sha256:${createHash('sha256').update(OTHER).digest('hex')}`;
  const config = {
    listen: '127.0.0.1:0',
    servers,
    agents: { one: { token: 'file:token' }, two: { tokenHash, servers: ['beta'] } },
    store: { url: 'store.db', keys: 'keys' },
    ...more,
  };
  writeFileSync(join(folder, 'bulla.json'), JSON.stringify(config));
  return {
    folder,
    guard: (...options) => {
      const words = ['--config', join(folder, 'bulla.json'), ...options];
      const command = { kind: 'stdio', command: process.execPath, args: [cli(), ...words], env: [] } as const;
      return runGuard(command, { BULLA_HOME: join(folder, 'home') });
    },
  };
}

/** Waits for the line that tells the address. */
async function addressOf({ child }: Running): Promise<string> {
  let text = '';
  for await (const chunk of child.stderr!) {
    text += chunk;
    const [, url] = /listening on (\S+)/.exec(text) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(`It does not listen: ${text}`);
}

async function connect(url: string, token: string): Promise<Client> {
  const client = new Client({ name: 'host', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  onTestFinished(() => client.close());
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);

test('agents reach the servers of a configuration, each by its token', async () => {
  const { folder, guard } = await prepare();
  const running = guard('--listen');
  const url = await addressOf(running);
  const one = await connect(url, TOKEN);
  const names = await namesOf(one);
  expect(names).toContain('alpha_echo');
  expect(names).toContain('beta_echo');
  expect((await one.callTool({ name: 'beta_echo', arguments: {} })).content).toEqual([
    { type: 'text', text: 'beta echo {}' },
  ]);
  // A single server keeps its names.
  const two = await connect(url, OTHER);
  expect(await namesOf(two)).toContain('echo');
  await expect(two.callTool({ name: 'alpha_echo', arguments: {} })).rejects.toMatchObject({
    data: { code: 'GATEWAY_NOT_LOCKED' },
  });
  await expect(connect(url, 'wrong')).rejects.toThrow();
  await one.close();
  await two.close();
  running.child.kill('SIGINT');
  expect((await running.ended()).code).toBe(0);
  const store = await openStore({ url: join(folder, 'store.db'), sealer });
  onTestFinished(() => store.close());
  const calls = (await records(store)).filter(({ type }) => type === 'tool');
  expect(
    calls.map(({ context, trigger, outcome }) =>
      [context.agent_id, trigger.request, outcome.status].join(' '),
    ),
  ).toEqual([
    'one tools/call beta/echo pending',
    'one tools/call beta/echo success',
    'two tools/call beta/alpha_echo blocked',
  ]);
});

test('a host on standard streams can use a configuration, or one server of it', async () => {
  const { guard } = await prepare();
  const running = guard('--server', 'alpha');
  running.send({
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'h', version: '1' } },
  });
  const [line] = await running.lines(1);
  expect(JSON.parse(line!).result.serverInfo.name).toBe('alpha');
  running.child.stdin!.end();
  expect((await running.ended()).code).toBe(0);
});

test.each([
  [['--listen', '--no-token', '--server', 'gamma'], 'The configuration has no server "gamma".'],
  [['--no-token'], '--no-token is for --listen.'],
  [['--listen', '0.0.0.0:0', '--no-token'], 'Without tokens only a loopback address is served'],
])('what does not go together is refused: %j', async (options, sentence) => {
  const { guard } = await prepare();
  const { code, stderr } = await guard(...options).ended();
  expect([code, stderr]).toEqual([2, expect.stringContaining(sentence)]);
});

test('a configuration that cannot be used starts nothing', async () => {
  const { guard } = await prepare({ agents: { one: { token: TOKEN } } });
  const { code, stderr } = await guard('--listen').ended();
  expect(code).toBe(2);
  expect(stderr).toContain('A secret does not stand in the configuration');
  expect(stderr).not.toContain(TOKEN);
});

test.each([[{ witnesses: 'witnesses.policy' }, '/witnesses']])(
  'what is not applied yet is refused, not ignored: %j',
  async (more, path) => {
    const { guard } = await prepare(more);
    const { code, stderr } = await guard('--listen').ended();
    expect([code, stderr]).toEqual([2, expect.stringContaining(`yet; leave it out. (at ${path})`)]);
  },
);
