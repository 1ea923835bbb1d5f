import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { JsonObject } from '@bulla/core/json';
import { Client, type ClientOptions } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, onTestFinished, test } from 'vitest';
import { bundledGuard, guardTarget, type Place, preparePlace } from '../../test/guard-process.ts';
import { packaged, script } from '../../test/mcp.ts';
import { temporaryFolder } from '../../test/run.ts';
import { storeSource, verifyChain } from '../chain/index.ts';
import { loadKeyring } from '../keys/index.ts';
import type { StdioTarget } from '../mcp/index.ts';
import { openStore } from '../store/index.ts';

// The real thing on all sides: an SDK client, `bulla guard` as a process of its own, a server from npm.

const cli = bundledGuard();

function guarded(place: Place, target: StdioTarget): StdioTarget {
  return guardTarget(cli(), place, target, '--quiet');
}

type Negotiation = NonNullable<ClientOptions['versionNegotiation']>;

async function connect(
  { command, args }: StdioTarget,
  versionNegotiation: Negotiation = { mode: 'legacy' },
): Promise<Client> {
  const client = new Client({ name: 'real-host', version: '1' }, { versionNegotiation });
  await client.connect(new StdioClientTransport({ command, args: [...args], stderr: 'ignore' }));
  onTestFinished(() => client.close());
  return client;
}

/** What the chain says, after it was verified with the public keys alone. */
async function chainOf(place: Place): Promise<string[]> {
  const store = await openStore({ url: place.store });
  try {
    const keys = loadKeyring(place.keys).epochs.map(({ publicKey }) => publicKey);
    const chain = store.chain('default');
    const report = await verifyChain(await storeSource(chain), { keys, threads: 0 });
    expect(report.failures).toEqual([]);
    const rows = await Array.fromAsync(chain.records());
    // The session made a checkpoint when it ended.
    expect((await chain.checkpoints(1))[0]).toMatchObject({ size: rows.length });
    return rows.map(({ data }) => {
      const { type, trigger, outcome } = JSON.parse(data);
      return `${type} ${trigger.request} ${outcome.status}`;
    });
  } finally {
    await store.close();
  }
}

/** Asks the server itself and the guarded one, which must say the same. */
function compare(
  direct: Client,
  through: Client,
): <Result>(ask: (client: Client) => Promise<Result>) => Promise<Result> {
  return async (ask) => {
    const [one, other] = await Promise.all([ask(direct), ask(through)]);
    expect(other).toEqual(one);
    return one;
  };
}

test('server-everything says the same through the gateway', async () => {
  const target = packaged('server-everything');
  const place = await preparePlace(target);
  const [direct, through] = await Promise.all([connect(target), connect(guarded(place, target))]);
  const both = compare(direct, through);
  expect(through.getInstructions()).toBe(direct.getInstructions());
  expect(through.getServerVersion()).toEqual(direct.getServerVersion());
  const { tasks: _, ...passed } = direct.getServerCapabilities() as Record<string, unknown>;
  expect(through.getServerCapabilities()).toEqual(passed);
  const { tools } = await both((client) => client.listTools());
  expect(tools.map(({ name }) => name)).toContain('get-structured-content');
  await both((client) => client.listPrompts());
  await both((client) => client.listResourceTemplates());
  const { resources } = await both((client) => client.listResources());
  await both((client) => client.callTool({ name: 'echo', arguments: { message: 'h\u00e9llo \u{1f600}' } }));
  await both((client) => client.callTool({ name: 'get-sum', arguments: { a: 1.5, b: 2 } }));
  await both((client) => client.callTool({ name: 'get-tiny-image', arguments: {} }));
  // What the server would refuse itself does not reach it.
  await expect(through.callTool({ name: 'get-sum', arguments: { a: 'one' } })).rejects.toMatchObject({
    data: { stage: 'arguments', code: 'GATEWAY_ARGUMENTS', tool: 'get-sum' },
  });
  await both((client) => client.getPrompt({ name: 'simple-prompt' }));
  await both((client) => client.readResource({ uri: resources[0]!.uri }));
  await both((client) => client.subscribeResource({ uri: resources[0]!.uri }));
  const uri = 'demo://resource/dynamic/text/1';
  expect((await through.readResource({ uri })).contents[0]).toMatchObject({ uri });
  await through.close();
  const server = 'mcp-servers/everything';
  expect(await chainOf(place)).toEqual([
    `system guard ${server} pending`,
    `tool tools/call ${server}/echo pending`,
    `tool tools/call ${server}/echo success`,
    `tool tools/call ${server}/get-sum pending`,
    `tool tools/call ${server}/get-sum success`,
    `tool tools/call ${server}/get-tiny-image pending`,
    `tool tools/call ${server}/get-tiny-image success`,
    `tool tools/call ${server}/get-sum blocked`,
    `tool prompts/get ${server}/simple-prompt pending`,
    `tool prompts/get ${server}/simple-prompt success`,
    `tool resources/read ${server}/${resources[0]!.uri} pending`,
    `tool resources/read ${server}/${resources[0]!.uri} success`,
    `tool resources/subscribe ${server}/${resources[0]!.uri} pending`,
    `tool resources/subscribe ${server}/${resources[0]!.uri} success`,
    `tool resources/read ${server}/demo://resource/dynamic/text/{resourceId} pending`,
    `tool resources/read ${server}/demo://resource/dynamic/text/{resourceId} success`,
    `system guard ${server} success`,
  ]);
});

test('of server-filesystem, what is not locked or has changed vanishes and is refused', async () => {
  const folder = realpathSync(temporaryFolder());
  writeFileSync(join(folder, 'a.txt'), 'one');
  mkdirSync(join(folder, 'sub'));
  const target = packaged('server-filesystem', folder);
  const place = await preparePlace(target, (surface) => ({
    ...surface,
    tools: surface.tools
      .filter((tool) => tool.get('name') !== 'write_file')
      .map((tool) =>
        tool.get('name') === 'move_file'
          ? JsonObject.from([...tool, ['description', 'Moves a file, as it was when it was locked.']])
          : tool,
      ),
  }));
  const [direct, through] = await Promise.all([connect(target), connect(guarded(place, target))]);
  const both = compare(direct, through);
  const all = (await direct.listTools()).tools;
  const shown = (await through.listTools()).tools;
  expect(shown).toEqual(all.filter(({ name }) => name !== 'write_file' && name !== 'move_file'));
  await both((client) =>
    client.callTool({ name: 'read_text_file', arguments: { path: join(folder, 'a.txt') } }),
  );
  await both((client) => client.callTool({ name: 'directory_tree', arguments: { path: folder } }));
  const write = { name: 'write_file', arguments: { path: join(folder, 'b.txt'), content: 'x' } };
  await expect(through.callTool(write)).rejects.toMatchObject({
    code: 403,
    message: expect.stringContaining('The tool "write_file" is not in the lock.'),
    data: { stage: 'pinned', code: 'GATEWAY_NOT_LOCKED', tool: 'write_file', capsule: expect.any(String) },
  });
  const move = {
    name: 'move_file',
    arguments: { source: join(folder, 'a.txt'), destination: join(folder, 'c') },
  };
  await expect(through.callTool(move)).rejects.toMatchObject({ data: { code: 'GATEWAY_CHANGED' } });
  await both((client) => client.callTool({ name: 'list_directory', arguments: { path: folder } }));
  await through.close();
  const server = 'secure-filesystem-server';
  expect((await chainOf(place)).filter((line) => line.includes('tools/call'))).toEqual([
    `tool tools/call ${server}/read_text_file pending`,
    `tool tools/call ${server}/read_text_file success`,
    `tool tools/call ${server}/directory_tree pending`,
    `tool tools/call ${server}/directory_tree success`,
    `tool tools/call ${server}/write_file blocked`,
    `tool tools/call ${server}/move_file blocked`,
    `tool tools/call ${server}/list_directory pending`,
    `tool tools/call ${server}/list_directory success`,
  ]);
});

test.each<[string, Negotiation]>([
  ['stateless', { mode: { pin: '2026-07-28' } }],
  ['initialize', { mode: 'legacy' }],
  ['of its own choice', { mode: 'auto' }],
])('a server of both eras is guarded by one lock: %s', async (_, negotiation) => {
  const target = script('modern.ts');
  const place = await preparePlace(target);
  const [direct, through] = await Promise.all([
    connect(target, negotiation),
    connect(guarded(place, target), negotiation),
  ]);
  const both = compare(direct, through);
  expect(through.getNegotiatedProtocolVersion()).toBe(direct.getNegotiatedProtocolVersion());
  expect(through.getInstructions()).toBe('Use the tools with care.');
  expect(through.getServerCapabilities()).toEqual(direct.getServerCapabilities());
  await both((client) => client.listTools());
  await both((client) => client.callTool({ name: 'add', arguments: { a: 1, b: 2 } }));
  await both((client) => client.getPrompt({ name: 'greet', arguments: { name: 'you' } }));
  await both((client) => client.readResource({ uri: 'ui://modern/page.html' }));
  await both((client) => client.readResource({ uri: 'note://7' }));
  await expect(through.callTool({ name: 'none' })).rejects.toMatchObject({ code: 403 });
  await through.close();
  expect((await chainOf(place)).filter((line) => line.includes('tools/call'))).toEqual([
    'tool tools/call modern/add pending',
    'tool tools/call modern/add success',
    'tool tools/call modern/none blocked',
  ]);
});
