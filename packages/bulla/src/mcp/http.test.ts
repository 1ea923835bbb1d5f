import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { toUtf8 } from '@bulla/core/crypto';
import { describe, expect, it } from 'vitest';
import { readAll, serveHttp } from '../../test/http.ts';
import { refusal } from '../../test/mcp.ts';
import { createCall } from './call.ts';
import { connectHttp, headerValue, requestHeaders } from './http.ts';
import { bearer, notificationFrame, parseFrame, requestFrame, type ScanOptions, scan } from './index.ts';

interface Message {
  readonly id?: number;
  readonly method: string;
  readonly params?: Record<string, unknown>;
}

/** What a server does with one POST; undefined when it did everything itself. */
type Handler = (
  message: Message,
  response: ServerResponse,
  request: IncomingMessage,
) => object | undefined | Promise<object | undefined>;

const RESULTS: Record<string, object> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'http', version: '1' },
  },
  'tools/list': { tools: [{ name: 'one', inputSchema: { type: 'object' } }] },
};

/** What an ordinary server answers. */
function ordinary({ id, method }: Message): object {
  const result = RESULTS[method];
  const outcome = result ? { result } : { error: { code: -32601, message: 'Method not found' } };
  return { jsonrpc: '2.0', id, ...outcome };
}

async function serve(handle: Handler, log: string[] = []): Promise<URL> {
  return serveHttp(async (request, response) => {
    const body = await readAll(request);
    if (request.method !== 'POST') {
      log.push(request.method!);
      response.writeHead(405).end();
      return;
    }
    const message = JSON.parse(Buffer.from(body).toString()) as Message;
    log.push(message.method);
    const answer = await handle(message, response, request);
    if (answer === undefined) return;
    if (message.id === undefined) response.writeHead(202).end();
    else
      response
        .writeHead(200, { 'content-type': 'application/json; charset=utf-8' })
        .end(JSON.stringify(answer));
  });
}

const scanUrl = (url: URL, options: ScanOptions = {}) => scan({ kind: 'http', url: url.href }, options);

/** Does something of its own with `tools/list`, and the ordinary with all else. */
function atList(act: (response: ServerResponse, message: Message) => void): Handler {
  return (message, response) => {
    if (message.method !== 'tools/list') return ordinary(message);
    act(response, message);
    return undefined;
  };
}

const BOMB = gzipSync(Buffer.alloc(16 << 20, ' '));
const EVENTS = { 'content-type': 'text/event-stream' };
const JSON_TYPE = { 'content-type': 'application/json' };
const listed = (id: number | undefined) =>
  JSON.stringify({ jsonrpc: '2.0', id, result: RESULTS['tools/list'] });

describe('a server on HTTP is scanned', () => {
  it('with the headers and the session of the initialize era', async () => {
    const seen: Record<string, unknown>[] = [];
    const url = await serve((message, response, { headers }) => {
      seen.push({
        method: message.method,
        session: headers['mcp-session-id'],
        version: headers['mcp-protocol-version'],
        accept: headers.accept,
        type: headers['content-type'],
        own: headers['x-own'],
        key: headers['x-key'],
        authorization: headers.authorization,
      });
      if (message.method === 'initialize') response.setHeader('Mcp-Session-Id', 'abc');
      return ordinary(message);
    });
    await scanUrl(url, {
      headers: { 'X-Own': 'mine' },
      secretHeaders: { 'X-Key': 'k3y' },
      authorizer: bearer('t0ken'),
    });
    const common = {
      accept: 'application/json, text/event-stream',
      type: 'application/json',
      own: 'mine',
      key: 'k3y',
      authorization: 'Bearer t0ken',
    };
    expect(seen).toEqual([
      { method: 'server/discover', session: undefined, version: '2026-07-28', ...common },
      { method: 'initialize', session: undefined, version: undefined, ...common },
      { method: 'notifications/initialized', session: 'abc', version: '2025-06-18', ...common },
      { method: 'tools/list', session: 'abc', version: '2025-06-18', ...common },
    ]);
  });

  it('and its session is ended', async () => {
    const log: string[] = [];
    const url = await serve((message, response) => {
      if (message.method === 'initialize') response.setHeader('Mcp-Session-Id', 'abc');
      return ordinary(message);
    }, log);
    await scanUrl(url);
    expect(log.at(-1)).toBe('DELETE');
  });

  it('when it answers with events, among others that are no answers, and leaves the stream open', async () => {
    const url = await serve(
      atList((response, { id }) => {
        response.writeHead(200, EVENTS);
        response.write(': comment\n\nid: 7\ndata:\n\nevent: ping\ndata: {}\n\n');
        response.write('event: message\ndata: {"jsonrpc":"2.0","method":"notifications/message"}\n\n');
        const [head, tail] = listed(id).split(',"result":');
        response.write(`data: ${head},\ndata: "result":`);
        response.write(`${tail}\n\n`);
      }),
    );
    expect((await scanUrl(url)).tools).toHaveLength(1);
  });

  it('when a character is cut in two between chunks', async () => {
    const url = await serve(
      atList((response, { id }) => {
        response.writeHead(200, EVENTS);
        const bytes = toUtf8(`data: ${listed(id).replace('"one"', '"öne"')}\n\n`);
        const at = bytes.indexOf(0xc3) + 1;
        response.write(bytes.subarray(0, at));
        setImmediate(() => response.end(bytes.subarray(at)));
      }),
    );
    expect((await scanUrl(url)).tools[0]!.get('name')).toBe('öne');
  });

  it.each([400, 404, 405, 500])('when it refuses server/discover with %i', async (status) => {
    const url = await serve((message, response) => {
      if (message.method !== 'server/discover') return ordinary(message);
      response.writeHead(status, { 'content-type': 'text/html' }).end('<h1>no</h1>');
      return undefined;
    });
    expect(await scanUrl(url)).toMatchObject({ era: 'initialize', protocolVersion: '2025-06-18' });
  });

  it('when it asks for a version of its own in the error', async () => {
    const url = await serve((message, response) => {
      if (message.method !== 'server/discover') return ordinary(message);
      const error = { code: -32022, message: 'Unsupported', data: { supported: ['2025-06-18'] } };
      response.writeHead(400, JSON_TYPE).end(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
      return undefined;
    });
    expect(await scanUrl(url)).toMatchObject({ era: 'initialize' });
  });
});

describe('a server on HTTP that cannot be relied on is refused', () => {
  it.each<[string, (response: ServerResponse, message: Message) => void, string, RegExp]>([
    [
      'another type of content',
      (response, { id }) => response.writeHead(200, { 'content-type': 'text/plain' }).end(listed(id)),
      'MCP_HTTP_RESPONSE',
      /of type "text\/plain"/,
    ],
    ['no content', (response) => response.writeHead(202).end(), 'MCP_HTTP_RESPONSE', /of type ""/],
    [
      'events that end without the answer',
      (response) => response.writeHead(200, EVENTS).end('data: {"jsonrpc":"2.0","method":"x"}\n\n'),
      'MCP_HTTP_RESPONSE',
      /without the answer to tools\/list/,
    ],
    [
      'events that break off',
      (response, { id }) => {
        response.writeHead(200, EVENTS).write(`data: ${listed(id)}\n`);
        setTimeout(() => response.destroy(), 20);
      },
      'MCP_HTTP_RESPONSE',
      /without the answer/,
    ],
    [
      'a body that breaks off',
      (response, { id }) => {
        response.writeHead(200, { ...JSON_TYPE, 'content-length': '9999' }).write(listed(id));
        setTimeout(() => response.destroy(), 20);
      },
      'MCP_HTTP_RESPONSE',
      /without the answer/,
    ],
    [
      'a notification for an answer',
      (response) => response.writeHead(200, JSON_TYPE).end('{"jsonrpc":"2.0","method":"x"}'),
      'MCP_HTTP_RESPONSE',
      /without the answer/,
    ],
    [
      'an answer to something else',
      (response) => response.writeHead(200, JSON_TYPE).end(listed(77)),
      'MCP_ANSWER_UNKNOWN',
      /"77"/,
    ],
    [
      'an answer given twice',
      (response, { id }) => response.writeHead(200, EVENTS).end(`data: ${listed(id)}\n\n`.repeat(2)),
      'MCP_ANSWER_UNKNOWN',
      /twice/,
    ],
    [
      'a batch',
      (response, { id }) => response.writeHead(200, JSON_TYPE).end(`[${listed(id)}]`),
      'MCP_FRAME_BATCH',
      /one array/,
    ],
    [
      'a page for people',
      (response) => response.writeHead(200, JSON_TYPE).end('<h1>hello</h1>'),
      'MCP_FRAME_JSON',
      /not strict JSON/,
    ],
    [
      'events that are not UTF-8',
      (response) => response.writeHead(200, EVENTS).end(Buffer.from('data: "\xff"\n\n', 'latin1')),
      'MCP_FRAME_JSON',
      /not valid UTF-8/,
    ],
    [
      'a body without end',
      (response) => {
        response.writeHead(200, JSON_TYPE);
        const fill = (): void => {
          while (!response.destroyed && response.write('x'.repeat(65536)));
          response.once('drain', fill);
        };
        fill();
      },
      'MCP_FRAME_TOO_LARGE',
      /longer than 1048576 bytes/,
    ],
    [
      'an event without end',
      (response) => {
        response.writeHead(200, EVENTS).write('data: ');
        const fill = (): void => {
          while (!response.destroyed && response.write('x'.repeat(65536)));
          response.once('drain', fill);
        };
        fill();
      },
      'MCP_FRAME_TOO_LARGE',
      /longer than 1048576 bytes/,
    ],
    [
      'a small body that unpacks to a large one',
      (response) => response.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }).end(BOMB),
      'MCP_FRAME_TOO_LARGE',
      /longer than 1048576 bytes/,
    ],
    [
      'a slow drip of nothing',
      (response) => {
        response.writeHead(200, EVENTS);
        const timer = setInterval(() => response.write(':\n'), 20);
        response.on('close', () => clearInterval(timer));
      },
      'MCP_TIMEOUT',
      /did not answer tools\/list in 300 ms/,
    ],
    ['silence', () => {}, 'MCP_TIMEOUT', /did not answer tools\/list in 300 ms/],
    [
      'a status that is no success',
      (response) => response.writeHead(503, { 'content-type': 'text/html' }).end('<h1>busy</h1>'),
      'MCP_HTTP_STATUS',
      /HTTP status 503\.$/,
    ],
    [
      'such a status with the answer',
      (response, { id }) =>
        response
          .writeHead(404, JSON_TYPE)
          .end(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"no"}}`),
      'MCP_ERROR_ANSWER',
      /tools\/list with error -32601/,
    ],
    [
      'a redirect',
      (response) => response.writeHead(307, { location: 'https://evil.example/' }).end(),
      'MCP_HTTP_REDIRECT',
      /to "https:\/\/evil\.example\/"/,
    ],
    [
      '401',
      (response) => response.writeHead(401, { 'www-authenticate': 'Bearer' }).end(),
      'MCP_HTTP_UNAUTHORIZED',
      /asks for credentials \(HTTP 401\)/,
    ],
    ['403', (response) => response.writeHead(403).end(), 'MCP_HTTP_UNAUTHORIZED', /HTTP 403/],
    ['a closed connection', (response) => response.destroy(), 'MCP_HTTP_UNREACHABLE', /cannot be reached/],
  ])('%s', async (_, act, code, message) => {
    const url = await serve(atList(act));
    const timeoutMs = code === 'MCP_TIMEOUT' ? 300 : 20_000;
    const refused = await refusal(scanUrl(url, { timeoutMs, frames: { maxBytes: 1 << 20 } }));
    expect(refused.code).toBe(code);
    expect(refused.message).toMatch(message);
  });

  it('a session that was lost', async () => {
    const url = await serve((message, response) => {
      if (message.method === 'initialize') response.setHeader('Mcp-Session-Id', 'abc');
      if (message.method !== 'tools/list') return ordinary(message);
      response
        .writeHead(404, JSON_TYPE)
        .end('{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"gone"}}');
      return undefined;
    });
    expect(await refusal(scanUrl(url))).toMatchObject({ code: 'MCP_HTTP_SESSION_LOST' });
  });

  it('a server that does not take the notification', async () => {
    const url = await serve((message) =>
      message.method.startsWith('notifications/') ? undefined : ordinary(message),
    );
    expect(await refusal(scanUrl(url, { timeoutMs: 200 }))).toEqual({
      code: 'MCP_TIMEOUT',
      message: 'The server did not take notifications/initialized in 200 ms.',
    });
  });

  it('a server that is of the stateless era, but refuses', async () => {
    const url = await serve((message, response) => {
      const error = { code: -32020, message: 'Header mismatch' };
      response.writeHead(400, JSON_TYPE).end(JSON.stringify({ jsonrpc: '2.0', id: message.id, error }));
      return undefined;
    });
    expect(await refusal(scanUrl(url))).toMatchObject({ code: 'MCP_ERROR_ANSWER' });
  });

  it('nothing that listens', async () => {
    const url = await serve(ordinary);
    url.port = '1';
    expect(await refusal(scanUrl(url))).toMatchObject({ code: 'MCP_HTTP_UNREACHABLE' });
  });

  it('nothing but refusals: the first is told, not that of the older transport', async () => {
    const url = await serve((_, response) => void response.writeHead(400).end());
    expect(await refusal(scanUrl(url))).toEqual({
      code: 'MCP_HTTP_STATUS',
      message: 'The server answered with HTTP status 400.',
    });
  });

  it('an older server that wants messages sent elsewhere', async () => {
    const url = await serveHttp((request, response) => {
      if (request.method !== 'GET') return void response.writeHead(404).end();
      response.writeHead(200, EVENTS).write('event: endpoint\ndata: https://evil.example/messages\n\n');
    });
    expect(await refusal(scanUrl(url))).toMatchObject({ code: 'MCP_HTTP_STATUS' });
  });
});

describe('what is sent', () => {
  it('no credentials over plain HTTP to another machine', async () => {
    const target = { kind: 'http', url: 'http://server.example/mcp' } as const;
    const names = ['authorization', 'Proxy-Authorization', 'Cookie', 'X-Api-Key', 'X-Auth-Token', 'X-Secret'];
    for (const options of [
      { authorizer: bearer('t') },
      ...names.map((name) => ({ headers: { [name]: 'x' } })),
      { secretHeaders: { 'X-Tenant': 'x' } },
      { headers: { 'X-Tenant': 'x' }, secretHeaders: { 'x-tenant': 'y' } },
    ]) {
      expect(await refusal(scan(target, options))).toMatchObject({ code: 'MCP_HTTP_INSECURE' });
    }
    expect(() =>
      createCall(new URL(target.url), { headers: { 'X-Tenant': 'x', Accept: 'y' } }),
    ).not.toThrow();
  });

  it('no header that HTTP cannot carry', async () => {
    const url = await serve(ordinary);
    expect(await refusal(scanUrl(url, { headers: { 'x y': '1' } }))).toMatchObject({
      code: 'MCP_HTTP_HEADER',
    });
    expect(await refusal(scanUrl(url, { headers: { x: 'a\nb' } }))).toMatchObject({
      code: 'MCP_HTTP_HEADER',
    });
  });

  // 2026-07-28, Streamable HTTP, Value Encoding: its examples.
  it.each([
    ['us-west1', 'us-west1'],
    ['', ''],
    ['a b', 'a b'],
    ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    [' padded ', '=?base64?IHBhZGRlZCA=?='],
    ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
    ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
  ])('%j in a header is %s', (value, header) => {
    expect(headerValue(value)).toBe(header);
  });

  it('the headers that mirror a request of the stateless era', () => {
    const _meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
    expect(requestHeaders(requestFrame(1, 'tools/call', { name: 'é', _meta }))).toEqual({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': '=?base64?w6k=?=',
    });
    expect(requestHeaders(requestFrame(1, 'tools/call', { name: 'e' }))).toEqual({});
    expect(requestHeaders(parseFrame(toUtf8('{"jsonrpc":"2.0","method":"x"}')))).toEqual({});
  });
});

it('sends no line break of any reader’s opinion, for bridges that frame messages by lines', async () => {
  const bodies: string[] = [];
  const url = await serveHttp(async (request, response) => {
    bodies.push(Buffer.from(await readAll(request)).toString());
    response.writeHead(202).end();
  });
  const transport = await connectHttp(url, {}, { frame() {}, refused() {}, ended() {} });
  const bytes = toUtf8('{"jsonrpc":"2.0",\r"method":"a\u2028"}');
  await transport.send({ ...notificationFrame('a'), bytes });
  await transport.close();
  expect(bodies).toEqual(['{"jsonrpc":"2.0", "method":"a\\u2028"}']);
});
