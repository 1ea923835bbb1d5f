import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NO_AUTHORIZATION, writeLock } from '@bulla/core/lock';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { expect, onTestFinished, test } from 'vitest';
import { bundledGuard, type Running, runGuard } from '../../../test/guard-process.ts';
import { serveHttp, webListener } from '../../../test/http.ts';
import { temporaryFolder } from '../../../test/run.ts';
import { bearer, scan } from '../../mcp/index.ts';

// A server at an address that knows its users by their tokens, and agents that act for them.

const cli = bundledGuard();

/** Tells everybody who they are, by the token that came with the request. */
async function serveWho(): Promise<{ url: URL; seen: string[] }> {
  const seen: string[] = [];
  const handlers = new Map<string, ReturnType<typeof createMcpHandler>>();
  const handlerOf = (user: string) => {
    const handler =
      handlers.get(user) ??
      createMcpHandler(() => {
        const server = new McpServer({ name: 'who', version: '1' });
        const inputSchema = fromJsonSchema({ type: 'object', properties: {} });
        server.registerTool('who', { description: 'Tells.', inputSchema }, () => ({
          content: [{ type: 'text', text: user }],
        }));
        return server;
      });
    handlers.set(user, handler);
    return handler;
  };
  onTestFinished(async () => {
    for (const handler of handlers.values()) await handler.close();
  });
  const url = await serveHttp(
    webListener(async (request) => {
      const user = /^Bearer token-of-(\w+)$/.exec(request.headers.get('authorization') ?? '')?.[1];
      if (user === undefined) return new Response(null, { status: 401 });
      seen.push(user);
      return handlerOf(user).fetch(request);
    }),
  );
  return { url, seen };
}

async function prepare(agents: object, tokens: object) {
  const { url, seen } = await serveWho();
  const folder = temporaryFolder();
  const surface = await scan({ kind: 'http', url: url.href }, { authorizer: bearer('token-of-locker') });
  const identity = { transport: 'http', url: url.href } as const;
  const authorization = { ...NO_AUTHORIZATION, scheme: 'bearer' } as const;
  const { text } = writeLock(surface, {
    generator: 'bulla',
    updatedAt: new Date(0),
    identity,
    authorization,
  });
  writeFileSync(join(folder, 'who.json'), text);
  mkdirSync(join(folder, 'tokens'));
  for (const user of ['alice', 'bob', 'carol'])
    writeFileSync(join(folder, 'tokens', user), `token-of-${user}\n`, { mode: 0o600 });
  for (const agent of Object.keys(agents))
    writeFileSync(join(folder, `${agent}.agent`), `agent-${agent}`, { mode: 0o600 });
  const config = {
    listen: '127.0.0.1:0',
    servers: { who: { url: url.href, lock: 'who.json', tokens } },
    agents: Object.fromEntries(
      Object.entries(agents).map(([id, more]) => [id, { token: `file:${id}.agent`, ...more }]),
    ),
    store: { url: 'store.db', keys: 'keys' },
  };
  const save = (next: object) => writeFileSync(join(folder, 'bulla.json'), JSON.stringify(next));
  save(config);
  seen.length = 0;
  const words = [cli(), '--config', join(folder, 'bulla.json'), '--listen'];
  const command = { kind: 'stdio', command: process.execPath, args: words, env: [] } as const;
  const guard = () => runGuard(command, { BULLA_HOME: join(folder, 'home') });
  return { guard, seen, folder, config, save };
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

async function connect(url: string, agent: string, mode: 'auto' | 'legacy'): Promise<Client> {
  const client = new Client({ name: 'host', version: '1' }, { versionNegotiation: { mode } });
  onTestFinished(() => client.close());
  const requestInit = { headers: { authorization: `Bearer agent-${agent}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

const ask = async (client: Client) => {
  const { content } = await client.callTool({ name: 'who', arguments: {} });
  return (content as { text: string }[])[0]!.text;
};

test('each agent reaches the server as its own user, in both eras and at the same time', async () => {
  const { guard, seen } = await prepare(
    { one: { user: 'alice' }, two: { user: 'bob' }, three: { user: 'alice' } },
    { alice: 'file:tokens/alice', bob: 'file:tokens/bob', carol: 'file:tokens/carol' },
  );
  const running = guard();
  const url = await addressOf(running);
  const users = { one: 'alice', two: 'bob', three: 'alice' };
  // Hosts of the stateless era share a link of their agent.
  const hosts = await Promise.all(
    Object.entries(users).flatMap(([agent, user]) =>
      (['auto', 'auto', 'legacy'] as const).map(async (mode) => ({
        user,
        client: await connect(url, agent, mode),
      })),
    ),
  );
  for (let i = 0; i < 5; i++) {
    const found = await Promise.all(hosts.map(({ client }) => ask(client)));
    expect(found).toEqual(hosts.map(({ user }) => user));
  }
  expect(new Set(seen)).toEqual(new Set(['alice', 'bob']));
  for (const { client } of hosts) await client.close();
  running.child.kill('SIGINT');
  const { code, stderr } = await running.ended();
  expect([code, stderr]).toEqual([0, expect.not.stringContaining('token-of')]);
});

test.each([
  [{ two: { user: 'dave' } }, 'The user "dave" has no token for the server "who"'],
  [{ two: {} }, 'An agent without a "user" has no token for the server "who"'],
])('an agent without a token of its user is refused, and gets no other: %j', async (agent, sentence) => {
  const { guard, seen } = await prepare({ one: { user: 'alice' }, ...agent }, { alice: 'file:tokens/alice' });
  const { code, stderr } = await guard().ended();
  expect([code, stderr]).toEqual([2, expect.stringContaining(sentence)]);
  expect(seen).toEqual([]);
});

test('a token of a user that is replaced is used from the next request that is refused', async () => {
  const { guard, folder } = await prepare({ one: { user: 'alice' } }, { alice: 'file:tokens/alice' });
  writeFileSync(join(folder, 'tokens/alice'), 'not-yet\n');
  const running = guard();
  const url = await addressOf(running);
  await expect(connect(url, 'one', 'auto').then(ask)).rejects.toThrow('The server asks for credentials');
  writeFileSync(join(folder, 'tokens/alice'), 'token-of-alice\n');
  expect(await ask(await connect(url, 'one', 'auto'))).toBe('alice');
  running.child.kill('SIGINT');
  await running.ended();
});
