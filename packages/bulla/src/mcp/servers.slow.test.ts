import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer as createNetServer } from 'node:net';
import { join } from 'node:path';
import { toPlain } from '@bulla/core/json';
import { type Era, LIST_KINDS } from '@bulla/core/lock';
import {
  Client,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serveHttp, webListener } from '../../test/http.ts';
import { packaged, script } from '../../test/mcp.ts';
import { temporaryFolder } from '../../test/run.ts';
import { createServer } from '../../test/servers/modern.ts';
import { CLIENT_CAPABILITIES } from './agree.ts';
import { type StdioTarget, type Surface, scan } from './index.ts';
import type { HttpTarget } from './target.ts';

/** What an SDK client that declares the same sees, each list in full. */
async function sdkLists(transport: Transport, era: Era): Promise<Record<string, unknown[]>> {
  const client = new Client(
    { name: 'oracle', version: '1' },
    {
      capabilities: CLIENT_CAPABILITIES[era] as object,
      versionNegotiation: { mode: era === 'stateless' ? { pin: '2026-07-28' } : 'legacy' },
    },
  );
  await client.connect(transport);
  try {
    const offered = client.getServerCapabilities() ?? {};
    return {
      tools: offered.tools ? (await client.listTools()).tools : [],
      prompts: offered.prompts ? (await client.listPrompts()).prompts : [],
      resources: offered.resources ? (await client.listResources()).resources : [],
      resourceTemplates: offered.resources ? (await client.listResourceTemplates()).resourceTemplates : [],
    };
  } finally {
    // The client would wait two seconds for a server that does not end by itself.
    if (transport instanceof StdioClientTransport) process.kill(transport.pid!, 'SIGKILL');
    await client.close();
  }
}

function stdioTransport({ command, args }: StdioTarget): StdioClientTransport {
  return new StdioClientTransport({ command, args: [...args], stderr: 'ignore' });
}

function plainLists(surface: Surface): Record<string, unknown[]> {
  return Object.fromEntries(LIST_KINDS.map((name) => [name, surface[name].map((item) => toPlain(item))]));
}

const counts = (surface: Surface) => LIST_KINDS.map((name) => surface[name].length);

/** Starts server-everything on a free port. */
async function startEverything(mode: string, path: string): Promise<HttpTarget> {
  const probe = createNetServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  const { command, args } = packaged('server-everything', mode);
  const child = spawn(command, args, { env: { PORT: `${port}` }, stdio: ['ignore', 'ignore', 'pipe'] });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  let said = '';
  while (!/listening|running on port/i.test(said)) said += (await once(child.stderr, 'data'))[0];
  child.stderr.resume();
  return { kind: 'http', url: `http://127.0.0.1:${port}/${path}` };
}

describe('every tool, prompt, resource and template is found', () => {
  it('of server-everything on stdio', async () => {
    const target = packaged('server-everything');
    const surface = await scan(target, { graceMs: 50, termMs: 50 });
    expect(surface).toMatchObject({
      era: 'initialize',
      protocolVersion: '2025-11-25',
      contents: [],
      findings: [],
    });
    expect(surface.instructions).toMatch(/^# Everything Server/);
    expect(counts(surface)).toEqual([19, 4, 7, 2]);
    expect(plainLists(surface)).toEqual(await sdkLists(stdioTransport(target), 'initialize'));
  });

  it('of server-everything on Streamable HTTP', async () => {
    const target = await startEverything('streamableHttp', 'mcp');
    const surface = await scan(target);
    expect(surface).toMatchObject({ era: 'initialize', protocolVersion: '2025-11-25' });
    expect(counts(surface)).toEqual([19, 4, 7, 2]);
    const oracle = new StreamableHTTPClientTransport(new URL(target.url));
    expect(plainLists(surface)).toEqual(await sdkLists(oracle, 'initialize'));
  });

  it('of server-everything on the HTTP+SSE of 2024-11-05', async () => {
    const target = await startEverything('sse', 'sse');
    const surface = await scan(target);
    expect(counts(surface)).toEqual([19, 4, 7, 2]);
    const oracle = new SSEClientTransport(new URL(target.url));
    expect(plainLists(surface)).toEqual(await sdkLists(oracle, 'initialize'));
  });

  it('of server-filesystem', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'sub'));
    writeFileSync(join(folder, 'sub', 'a.txt'), 'a');
    const target = packaged('server-filesystem', folder);
    const surface = await scan(target, { graceMs: 50, termMs: 50 });
    expect(counts(surface)).toEqual([14, 0, 0, 0]);
    expect(plainLists(surface)).toEqual(await sdkLists(stdioTransport(target), 'initialize'));
  });

  it('of server-memory', async () => {
    const target = packaged('server-memory');
    const surface = await scan(target, { graceMs: 50, termMs: 50 });
    expect(counts(surface)).toEqual([9, 0, 1, 0]);
    expect(plainLists(surface)).toEqual(await sdkLists(stdioTransport(target), 'initialize'));
  });

  it('of a server of the stateless era on stdio', async () => {
    const target = script('modern.ts', 'reject');
    const surface = await scan(target, { graceMs: 50, termMs: 50 });
    expectModern(surface);
    expect(plainLists(surface)).toEqual(await sdkLists(stdioTransport(target), 'stateless'));
  });

  it.each(['auto', 'sse'] as const)(
    'of a server of the stateless era on Streamable HTTP that answers with %s',
    async (responseMode) => {
      const handler = createMcpHandler(createServer, { legacy: 'reject', responseMode });
      const seen: (string | null)[][] = [];
      const url = await serveHttp(
        webListener((request) => {
          seen.push(
            ['mcp-method', 'mcp-name', 'mcp-protocol-version'].map((name) => request.headers.get(name)),
          );
          return handler.fetch(request);
        }),
      );
      onTestFinished(() => handler.close());
      const surface = await scan({ kind: 'http', url: url.href });
      expectModern(surface);
      expect(seen.every(([, , version]) => version === '2026-07-28')).toBe(true);
      expect(seen[0]).toEqual(['server/discover', null, '2026-07-28']);
      expect(seen).toContainEqual(['resources/read', 'ui://modern/page.html', '2026-07-28']);
      expect(plainLists(surface)).toEqual(
        await sdkLists(new StreamableHTTPClientTransport(url), 'stateless'),
      );
    },
  );
});

function expectModern(surface: Surface): void {
  expect(surface).toMatchObject({
    era: 'stateless',
    protocolVersion: '2026-07-28',
    instructions: 'Use the tools with care.',
  });
  expect(surface.serverInfo.get('name')).toBe('modern');
  expect(counts(surface)).toEqual([3, 1, 1, 1]);
  expect(
    surface.contents.map((content) => ({ ...content, meta: content.meta && toPlain(content.meta) })),
  ).toEqual([
    {
      uri: 'ui://modern/page.html',
      sha256: 'c5d380f54b4b095caa7ba04d69529ae3b356202df79ec72243b5ca47204d5cd1',
      mimeType: 'text/html;profile=mcp-app',
      meta: { ui: { csp: { connectDomains: ['https://example.invalid'] } } },
    },
  ]);
  expect(surface.findings.map(({ code, path }) => [path, code]).sort()).toEqual([
    ['/tools/0/icons/0/src', 'icon_not_fetched'],
    ['/tools/0/icons/1/src', 'icon_unsafe'],
    ['/tools/2/_meta/ui/resourceUri', 'content_unreadable'],
  ]);
}
