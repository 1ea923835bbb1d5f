import { sha256Hex } from '@bulla/core/crypto';
import { type JsonObject, parse } from '@bulla/core/json';
import { describe, expect, it } from 'vitest';
import { tlsServer } from '../../test/registry.ts';
import { TEST_CERTIFICATE } from '../../test/tls.ts';
import type { Network } from '../os/index.ts';
import { readContents } from './contents.ts';
import type { Session } from './index.ts';
import { RpcError } from './transport.ts';

const object = (value: object): JsonObject => parse(JSON.stringify(value)) as JsonObject;

/** A session in which only `resources/read` is ever asked for. */
function session(read: (uri: string) => object, capabilities: object = { resources: {} }): Session {
  const request = async (_: string, { uri }: { uri: string }) => object(read(uri));
  return {
    connection: { request } as unknown as Session['connection'],
    capabilities: object(capabilities),
    serverInfo: object({}),
  } as Session;
}

const none = { tools: [], prompts: [], resources: [], resourceTemplates: [] };
const nothing = session(() => ({}));

describe('what a page of an MCP App is pinned by', () => {
  const lists = {
    ...none,
    resources: [object({ uri: 'ui://a', name: 'a' }), object({ uri: 'file:///a', name: 'f' })],
  };
  const read = (contents: unknown) =>
    readContents(
      session(() => ({ contents }) as object),
      lists,
      {},
    );

  it('is its bytes, whether they come as text or in base64', async () => {
    const sha256 = sha256Hex('<p>é');
    const blob = Buffer.from('<p>é').toString('base64');
    for (const form of [{ text: '<p>é' }, { blob }]) {
      expect(await read([{ uri: 'ui://a', mimeType: 'text/html', ...form }])).toEqual({
        contents: [{ uri: 'ui://a', sha256, mimeType: 'text/html' }],
        findings: [],
      });
    }
  });

  it.each([
    [undefined],
    [[]],
    [[{ uri: 'ui://b', text: '' }]],
    [[{ uri: 'ui://a' }]],
    [[{ uri: 'ui://a', text: '', blob: '' }]],
    [[{ uri: 'ui://a', blob: 'A' }]],
    [[{ uri: 'ui://a', text: '', mimeType: 1 }]],
    [[{ uri: 'ui://a', text: '', _meta: [] }]],
    [
      [
        { uri: 'ui://a', text: '' },
        { uri: 'ui://a', text: '' },
      ],
    ],
    [['ui://a']],
  ])('is nothing when the server gives %j', async (contents) => {
    expect((await read(contents)).findings).toMatchObject([
      { code: 'content_unreadable', path: '/resources/0/uri' },
    ]);
  });

  it('is nothing when the server refuses', async () => {
    const refusing = session(() => {
      throw new RpcError('resources/read', { code: -32002, message: 'none', data: undefined });
    });
    const { findings } = await readContents(refusing, lists, {});
    expect(findings).toEqual([
      {
        code: 'content_unreadable',
        path: '/resources/0/uri',
        message: 'The content of "ui://a" cannot be pinned: the server answers with error -32002.',
      },
    ]);
    const offering = await readContents(
      session(() => ({}), {}),
      lists,
      {},
    );
    expect(offering.findings[0]!.message).toMatch(/the server offers no resources/);
  });

  it('and other failures are not hidden', async () => {
    const broken = session(() => {
      throw new Error('broken');
    });
    await expect(readContents(broken, lists, {})).rejects.toThrow('broken');
  });
});

describe('an icon', () => {
  const icons = (...sources: string[]) => ({
    ...none,
    tools: [object({ name: 'a', icons: sources.map((src) => ({ src })) })],
  });
  const codes = async (source: string, fetchIcons: boolean) =>
    (await readContents(nothing, icons(source), { fetchIcons })).findings.map(({ code }) => code);

  it('is told when it is not pinned', async () => {
    expect(await codes('https://example.invalid/a.png', false)).toEqual(['icon_not_fetched']);
    expect(await codes('https://127.0.0.1:1/a.png', true)).toEqual(['icon_unsafe']);
    for (const source of ['http://example.invalid/', 'file:///etc/passwd', 'a.png', '']) {
      expect(await codes(source, true)).toEqual(['icon_unsafe']);
    }
  });

  it('that holds its bytes itself is pinned by its definition', async () => {
    expect(await readContents(nothing, icons('data:image/png;base64,AAAA'), {})).toEqual({
      contents: [],
      findings: [],
    });
  });

  it('is fetched where that was asked for, without credentials and without following elsewhere', async () => {
    const { url, asked } = await tlsServer((request, response) => {
      expect(request.headers).not.toHaveProperty('authorization');
      if (request.url === '/moved') response.writeHead(302, { location: '/icon' }).end();
      else if (request.url === '/large') response.end(Buffer.alloc((1 << 20) + 1));
      else if (request.url === '/icon') response.writeHead(200, { 'content-type': 'image/png' }).end('icon');
      else if (request.url === '/endless') response.write('x');
      else response.writeHead(404).end();
    });
    const at = url.origin;
    const network = { ca: [TEST_CERTIFICATE], privateOrigins: new Set([at]) };
    const paths = ['/icon', '/moved', '/large', '/none', '/icon'];
    const { contents, findings } = await readContents(nothing, icons(...paths.map((path) => at + path)), {
      fetchIcons: true,
      network,
    });
    expect(contents).toEqual([{ uri: `${at}/icon`, sha256: sha256Hex('icon'), mimeType: 'image/png' }]);
    expect(findings.map(({ code, path }) => [code, path]).sort()).toEqual(
      [1, 2, 3].map((i) => ['icon_unreadable', `/tools/0/icons/${i}/src`]),
    );
    expect(asked.splice(0).sort()).toEqual(
      ['/icon', '/large', '/moved', '/none'].map((path) => `GET ${path}`),
    );
    const endless = { fetchIcons: true, network: { ...network, totalMs: 200 } };
    expect((await readContents(nothing, icons(`${at}/endless`), endless)).findings).toMatchObject([
      { code: 'icon_unreadable' },
    ]);
  });

  it('at an address that is not public is not asked for, whatever name leads there', async () => {
    const { url, asked } = await tlsServer((_request, response) => void response.end('secret'));
    const { port } = url;
    const network: Network = {
      ca: [TEST_CERTIFICATE],
      resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    };
    const hosts = [
      ...['localhost', 'a.localhost', '127.0.0.1', '127.1', '0x7f000001', '2130706433', '0.0.0.0', '[::1]'],
      ...['[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]', '169.254.169.254', '10.0.0.1'],
      ...['[fd00::1]', '[fe80::1]', 'registry.example', 'localhost.'],
    ];
    const { contents, findings } = await readContents(
      nothing,
      icons(...hosts.map((host) => `https://${host}:${port}/icon`)),
      { fetchIcons: true, network },
    );
    expect(contents).toEqual([]);
    expect(new Set(findings.map(({ code }) => code))).toEqual(new Set(['icon_unsafe']));
    expect(asked).toEqual([]);
  });

  it('whose address holds a password is not asked for', async () => {
    expect(await codes('https://user:secret@example.invalid/a.png', true)).toEqual(['icon_unreadable']);
  });
});
