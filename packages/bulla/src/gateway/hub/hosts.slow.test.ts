import { realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClientOptions } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/client';
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js';
import { expect, onTestFinished, test } from 'vitest';
import { type Guarded, lockOf, records, told } from '../../../test/guard.ts';
import { startHub, type TestMember } from '../../../test/hub.ts';
import { packaged, script } from '../../../test/mcp.ts';
import { temporaryFolder } from '../../../test/run.ts';
import type { StdioTarget } from '../../mcp/index.ts';

// Real servers from npm behind one hub, and clients of the SDK as hosts.

/** The host's end of the pipe as a transport of the SDK. */
class HubTransport {
  onmessage?: (message: never) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly #hub: Guarded;
  #read = 0;

  constructor(hub: Guarded) {
    this.#hub = hub;
  }

  async start(): Promise<void> {
    // `until` looks at each message that comes; none of them is the one that is waited for.
    this.#hub
      .until(() => {
        queueMicrotask(() => this.#deliver());
        return false;
      })
      .catch(() => this.onclose?.());
  }

  #deliver(): void {
    while (this.#read < this.#hub.lines.length)
      this.onmessage?.(JSON.parse(this.#hub.lines[this.#read++]!) as never);
  }

  async send(message: object): Promise<void> {
    this.#hub.send(message);
  }

  async close(): Promise<void> {
    await this.#hub.end().catch(() => {});
    this.onclose?.();
  }
}

type Negotiation = NonNullable<ClientOptions['versionNegotiation']>;

async function connect(hub: Guarded, versionNegotiation: Negotiation): Promise<Client> {
  const client = new Client(
    { name: 'real-host', version: '1' },
    { versionNegotiation, capabilities: { elicitation: {}, sampling: {}, roots: {} } },
  );
  await client.connect(new HubTransport(hub) as never);
  onTestFinished(() => client.close());
  return client;
}

async function real(key: string, server: StdioTarget, more: Partial<TestMember> = {}): Promise<TestMember> {
  return { key, server, lock: await lockOf(server), ...more };
}

async function realMembers(): Promise<{ members: TestMember[]; folder: string }> {
  const folder = realpathSync(temporaryFolder());
  writeFileSync(join(folder, 'a.txt'), 'one');
  const features = ['sampling', 'elicitation', 'roots'] as const;
  const members = await Promise.all([
    real('memory', packaged('server-memory')),
    real('files', packaged('server-filesystem', folder)),
    real('all', packaged('server-everything'), { features }),
  ]);
  return { members, folder };
}

test.each<[string, Negotiation]>([
  ['initialize', { mode: 'legacy' }],
  ['of its own choice', { mode: 'auto' }],
])('three servers from npm are one server to an SDK client: %s', async (_, negotiation) => {
  const { members, folder } = await realMembers();
  const hub = await startHub(members);
  const client = await connect(hub, negotiation);
  expect(client.getServerVersion()).toMatchObject({ name: 'bulla' });
  const { tools } = await client.listTools();
  // The client does not declare what these need, so that their server does not offer them.
  const needy = ['elicitation-request-async', 'sampling-request-async', 'url-elicitation'];
  const hidden = new Set(needy.map((name) => `all_trigger-${name}`));
  const locked = members.flatMap(({ key, lock }) => [...lock.tools.keys()].map((name) => `${key}_${name}`));
  expect(tools.map(({ name }) => name).toSorted()).toEqual(
    locked.filter((name) => !hidden.has(name)).toSorted(),
  );
  const read = await client.callTool({
    name: 'files_read_text_file',
    arguments: { path: join(folder, 'a.txt') },
  });
  expect(read.content).toEqual([{ type: 'text', text: 'one' }]);
  const sum = await client.callTool({ name: 'all_get-sum', arguments: { a: 1, b: 2 } });
  expect(JSON.stringify(sum.content)).toContain('3');
  const graph = await client.callTool({ name: 'memory_read_graph', arguments: {} });
  expect(graph.structuredContent).toHaveProperty('entities');
  expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('all_simple-prompt');
  expect((await client.getPrompt({ name: 'all_simple-prompt' })).messages).toHaveLength(1);
  const { resources } = await client.listResources();
  const { uri } = resources[0]!;
  expect((await client.readResource({ uri })).contents[0]).toMatchObject({ uri });
  const { completion } = await client.complete({
    ref: { type: 'ref/prompt', name: 'all_completable-prompt' },
    argument: { name: 'department', value: 'E' },
  });
  expect(completion.values).toEqual(['Engineering']);
  await expect(client.callTool({ name: 'read_graph' })).rejects.toMatchObject({
    data: { code: 'GATEWAY_NOT_LOCKED' },
  });
  await client.close();
  const calls = (await told(hub.store)).filter((line) => line.startsWith('tools/call'));
  expect(calls).toEqual([
    'tools/call files/read_text_file pending',
    'tools/call files/read_text_file success',
    'tools/call all/get-sum pending',
    'tools/call all/get-sum success',
    'tools/call memory/read_graph pending',
    'tools/call memory/read_graph success',
    'tools/call memory/read_graph (not as shown) blocked GATEWAY_NOT_LOCKED',
  ]);
  const locks = new Set((await records(hub.store)).map(({ context }) => context.environment.bulla.lock));
  expect(locks.size).toBe(3);
});

test('two servers ask the host at once, one to sample and one to elicit', async () => {
  const features = ['sampling', 'elicitation'] as const;
  const log = join(temporaryFolder(), 'received');
  const hub = await startHub([
    await real('one', packaged('server-everything'), { features }),
    await real('two', script('member.mjs', log, 'two'), { features }),
  ]);
  const client = await connect(hub, { mode: 'legacy' });
  const both = Promise.withResolvers<void>();
  let waiting = 2;
  const met = () => {
    if (--waiting === 0) both.resolve();
    return both.promise;
  };
  client.setRequestHandler('sampling/createMessage', async () => {
    await met();
    return { role: 'assistant', model: 'test', content: { type: 'text', text: 'sampled' } };
  });
  client.setRequestHandler('elicitation/create', async () => {
    await met();
    return { action: 'decline' };
  });
  const [sampled, elicited] = await Promise.all([
    client.callTool({ name: 'one_trigger-sampling-request', arguments: { prompt: 'p', maxTokens: 9 } }),
    client.callTool({ name: 'two_ask', arguments: {} }),
  ]);
  expect(JSON.stringify(sampled.content)).toContain('sampled');
  expect(elicited.content).toEqual([{ type: 'text', text: 'two heard {"action":"decline"}' }]);
});

test('a client of the first SDK, which reads one page, sees the tools of all', async () => {
  const { members, folder } = await realMembers();
  const hub = await startHub(members.slice(0, 2));
  const client = new FirstClient({ name: 'real-host', version: '1' });
  await client.connect(new HubTransport(hub) as never);
  onTestFinished(() => client.close());
  const { tools, nextCursor } = await client.listTools();
  expect(nextCursor).toBeUndefined();
  expect(new Set(tools.map(({ name }) => name.split('_')[0]))).toEqual(new Set(['memory', 'files']));
  const listed = await client.callTool({ name: 'files_list_directory', arguments: { path: folder } });
  expect(listed.content).toEqual([{ type: 'text', text: '[FILE] a.txt' }]);
});

test.each<[string, Negotiation]>([
  ['stateless', { mode: { pin: '2026-07-28' } }],
  ['of its own choice', { mode: 'auto' }],
  ['initialize', { mode: 'legacy' }],
])('servers of both eras are one in each: %s', async (_, negotiation) => {
  const log = join(temporaryFolder(), 'received');
  const hub = await startHub([
    await real('modern', script('modern.ts')),
    await real('member', script('member.mjs', log, 'member')),
  ]);
  const client = await connect(hub, negotiation);
  expect(client.getNegotiatedProtocolVersion()).toBe(
    negotiation.mode === 'legacy' ? '2025-11-25' : '2026-07-28',
  );
  expect(client.getInstructions()).toBe(
    '## modern\n\nUse the tools with care.\n\n## member\n\nHow to use member.',
  );
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual([
    ...['add', 'show', 'lost'].map((name) => `modern_${name}`),
    ...['echo', 'ask', 'say', 'die'].map((name) => `member_${name}`),
  ]);
  const added = await client.callTool({ name: 'modern_add', arguments: { a: 1, b: 2 } });
  expect(added.structuredContent).toEqual({ sum: 3 });
  const { content } = await client.callTool({ name: 'member_echo', arguments: {} });
  expect(content).toEqual([{ type: 'text', text: 'member echo {}' }]);
  expect((await client.readResource({ uri: 'note://7' })).contents[0]).toMatchObject({ uri: 'note://7' });
  expect((await client.readResource({ uri: 'member:///a' })).contents[0]).toMatchObject({
    uri: 'member:///a',
  });
  await expect(client.callTool({ name: 'add' })).rejects.toMatchObject({ code: 403 });
  if (negotiation.mode === 'legacy') return;
  const listening = await client.listen({ toolsListChanged: true, resourceSubscriptions: ['member:///a'] });
  expect(listening.honoredFilter).toEqual({ toolsListChanged: true, resourceSubscriptions: ['member:///a'] });
  await listening.close();
});
