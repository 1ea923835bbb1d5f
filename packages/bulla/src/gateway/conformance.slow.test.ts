import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toUtf8 } from '@bulla/core/crypto';
import { readLock, writeLock } from '@bulla/core/lock';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  clientVerdicts,
  differences,
  judge,
  parseExpected,
  scenarios,
  startFixture,
  VERSIONS,
  type Verdicts,
  verdicts,
} from '../../test/conformance.ts';
import { openTestStore } from '../../test/guard.ts';
import { script } from '../../test/mcp.ts';
import { repo, temporaryFolder } from '../../test/run.ts';
import { scan, type Target } from '../mcp/index.ts';
import { CLIENT_FEATURES, listen, serversOf } from './index.ts';

async function fixture(...words: string[]): Promise<string> {
  const started = await startFixture(...words);
  onTestFinished(() => started[Symbol.asyncDispose]());
  return started.url;
}

/** Connects an SDK client over stdio, which accepts every question with this name. */
async function connectStdio(mode: 'legacy' | { pin: string }, ...words: string[]): Promise<Client> {
  const { command, args } = script('conformance.ts', '--stdio', ...words);
  const transport = new StdioClientTransport({ command, args: [...args], stderr: 'ignore' });
  const client = new Client(CLIENT, { capabilities: { elicitation: {} }, versionNegotiation: { mode } });
  client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { name: 'Alice' } }));
  onTestFinished(() => client.close());
  await client.connect(transport);
  return client;
}

const CLIENT = { name: 'host', version: '1' };
const INITIALIZE = {
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: CLIENT },
};
const DISCOVER = {
  method: 'server/discover',
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': CLIENT,
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
};

/** The HTTP status with which a request is answered that begins a conversation of an era. */
async function post(url: string, request: typeof INITIALIZE | typeof DISCOVER): Promise<number> {
  const version = request === INITIALIZE ? '2025-11-25' : '2026-07-28';
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': version,
      'mcp-method': request.method,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...request }),
  });
  await response.body?.cancel();
  return response.status;
}

describe('the conformance fixture', () => {
  it('passes every server scenario of both versions', async () => {
    const url = await fixture();
    const found = await Promise.all(VERSIONS.map((version) => verdicts(url, version)));
    const lists = await Promise.all(VERSIONS.map((version) => scenarios(version)));
    expect(lists.map((list) => list.filter(({ required }) => required).length)).toEqual([30, 37]);
    for (const [index, list] of lists.entries())
      expect([...found[index]!].map(([name, { verdict }]) => [name, verdict])).toEqual(
        list.map(({ name }) => [name, 'pass']),
      );
  });

  it('answers one era only where it is told so', async () => {
    const found: Record<string, unknown> = {};
    for (const era of ['both', 'initialize', 'stateless']) {
      const url = await fixture('--era', era);
      found[era] = [await post(url, INITIALIZE), await post(url, DISCOVER)];
    }
    expect(found).toEqual({
      both: [200, 200],
      initialize: [200, 400],
      stateless: [400, 200],
    });
  });

  it('lets a column be told from it, check by check', async () => {
    const [direct, other] = await Promise.all([fixture(), fixture('--era', 'initialize')]);
    const only = ['tools-list'];
    const found = await Promise.all([direct, other].map((url) => verdicts(url, '2026-07-28', { only })));
    expect(differences(found[0]!, found[1]!)).toEqual([
      { scenario: 'tools-list', check: 'tools-list', direct: 'SUCCESS', other: 'FAILURE' },
      { scenario: 'tools-list', check: 'tools-name-format', direct: 'SUCCESS', other: 'absent' },
      { scenario: 'tools-list', check: 'tools-list-deterministic-order', direct: 'SUCCESS', other: 'absent' },
      { scenario: 'tools-list', check: 'wire-schema-valid', direct: 'SUCCESS', other: 'FAILURE' },
    ]);
  });

  it.each([
    ['both', 'legacy', '2025-11-25'],
    ['both', { pin: '2026-07-28' }, '2026-07-28'],
    ['initialize', 'legacy', '2025-11-25'],
    ['stateless', { pin: '2026-07-28' }, '2026-07-28'],
  ] as const)('serves over stdio (%s, %j)', async (era, mode, version) => {
    const client = await connectStdio(mode, '--era', era);
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    expect((await client.listTools()).tools).toHaveLength(28);
    const { content } = await client.callTool({ name: 'test_input_required_result_elicitation' });
    expect(content).toEqual([{ type: 'text', text: 'Hello, Alice!' }]);
  });

  it.each([
    ['stateless', 'legacy', { code: -32022 }],
    ['initialize', { pin: '2026-07-28' }, { code: 'ERA_NEGOTIATION_FAILED' }],
  ] as const)('refuses the other era over stdio (%s, %j)', async (era, mode, error) => {
    await expect(connectStdio(mode, '--era', era)).rejects.toMatchObject(error);
  });
});

describe('through the gateway', () => {
  const expected = parseExpected(readFileSync(join(repo, 'scripts/conformance-expected.json'), 'utf8'));

  // The server of each column speaks both eras, only the initialize one, or only the stateless one.
  it.each([
    ['both', 'both'],
    ['legacy', 'initialize'],
    ['modern', 'stateless'],
  ])('the verdicts are the same, or differ for a known reason: %s', async (column, era) => {
    direct ??= directly();
    const through = await listenTo(await fixture('--era', era));
    for (const [i, version] of VERSIONS.entries()) {
      const found = differences((await direct)[i]!, await verdicts(through, version));
      const own = expected.filter((each) => each.column === column && each.version === version);
      expect([version, judge(found, own)]).toEqual([version, { unexpected: [], stale: [] }]);
    }
  });
});

let direct: Promise<Verdicts[]> | undefined;

/** The verdicts on the fixture itself. */
async function directly(): Promise<Verdicts[]> {
  await using started = await startFixture();
  // One after the other, as through the gateway: what a scenario of the other version changes is noticed.
  return [await verdicts(started.url, VERSIONS[0]), await verdicts(started.url, VERSIONS[1])];
}

/** Serves a server at an address through the gateway, without tokens. */
async function listenTo(url: string): Promise<string> {
  const store = await openTestStore(temporaryFolder());
  const server: Target = { kind: 'http', url };
  const { text } = writeLock(await scan(server), {
    generator: 'bulla',
    updatedAt: new Date(0),
    identity: { transport: 'http', url },
  });
  const guarded = {
    ...{ key: 'fixture', prefix: 'fixture', lock: readLock(toUtf8(text)), server, store },
    features: CLIENT_FEATURES,
  };
  const servers = serversOf([guarded]);
  const listening = await listen({
    address: { host: '127.0.0.1', port: 0 },
    agents: { id: 'bot' },
    open: ({ id }, host, sessionId, isShared) => servers.open(id, host, sessionId, isShared),
    expectedHeaders: (frame) => servers.expectedHeaders(frame),
  });
  onTestFinished(async () => {
    await listening.close();
    await store.close();
  });
  return listening.url;
}

describe('the conformance client', () => {
  const summary = (found: Verdicts) => Array.from(found, ([name, { verdict }]) => `${name} ${verdict}`);
  const BRIDGE = ['node', join(repo, 'packages/bulla/test/bridge.ts'), '{url}'];

  it('does what a client scenario asks for', async () => {
    const found = await Promise.all([
      clientVerdicts(undefined, '2025-11-25', {
        only: ['elicitation-sep1034-client-defaults', 'sse-retry', 'auth/scope-step-up'],
      }),
      clientVerdicts(undefined, '2026-07-28', {
        only: ['sep-2322-client-request-state', 'http-custom-headers', 'auth/authorization-server-migration'],
      }),
    ]);
    expect(found.map(summary)).toEqual([
      ['elicitation-sep1034-client-defaults pass', 'sse-retry pass', 'auth/scope-step-up pass'],
      [
        'sep-2322-client-request-state pass',
        'http-custom-headers pass',
        'auth/authorization-server-migration pass',
      ],
    ]);
  });

  it('finds nothing wrong with how the gateway speaks to servers', async () => {
    const gateway = ['node', join(repo, 'packages/bulla/test/conformance-gateway.ts'), '{url}'];
    const only = [
      ['initialize', 'tools_call', 'elicitation-sep1034-client-defaults'],
      ['sep-2322-client-request-state', 'http-standard-headers', 'http-invalid-tool-headers'],
    ];
    const found = await Promise.all(
      VERSIONS.map((version, i) => clientVerdicts(gateway, version, { only: only[i]! })),
    );
    expect(found.flatMap(summary)).toEqual(only.flat().map((name) => `${name} pass`));
  });

  it('is a host over stdio where a gateway is put in between', async () => {
    const found = await Promise.all([
      clientVerdicts(BRIDGE, '2025-11-25', { only: ['elicitation-sep1034-client-defaults', 'sse-retry'] }),
      // Headers are the business of who speaks HTTP, and this gateway does not know of them.
      clientVerdicts(BRIDGE, '2026-07-28', { only: ['request-metadata', 'http-custom-headers'] }),
    ]);
    expect(found.map(summary)).toEqual([
      ['elicitation-sep1034-client-defaults pass', 'sse-retry pass'],
      ['request-metadata pass', 'http-custom-headers fail'],
    ]);
  });
});
