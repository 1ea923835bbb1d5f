import { JsonNumber } from '@bulla/core/json';
import { describe, expect, test } from 'vitest';
import { records, rogueLock, told } from '../../test/guard.ts';
import {
  type Asked,
  beginSession,
  call,
  errorIn,
  eventually,
  exchange,
  INITIALIZE,
  startListener,
  stateless,
} from '../../test/listen.ts';
import { script } from '../../test/mcp.ts';
import { temporaryFolder } from '../../test/run.ts';
import type { ListenOptions } from './listen.ts';

async function rogue(behaviour = 'ordinary', options: Partial<ListenOptions> = {}, count = '0') {
  const server = script('rogue.mjs', `${temporaryFolder()}/received`, behaviour, count);
  const lock = await rogueLock(behaviour.startsWith('stateless') ? 'stateless' : 'ordinary');
  const listener = await startListener({ server, lock }, options);
  const send = (asked: Asked) => exchange(listener.port, asked);
  return { ...listener, send, fails: async (asked: Asked) => errorIn(await send(asked)) };
}

const PING = { jsonrpc: '2.0', id: 'p', method: 'ping' };

describe('who may come in', () => {
  test('only the path, without a query', async () => {
    const { fails } = await rogue();
    const nothing = [404, null, -32600, 'GATEWAY_HTTP', 'Bulla: There is nothing at this path.'];
    for (const path of ['/', '/mcp/', '/MCP', '//mcp', '/mcp%2f', 'http://127.0.0.1/mcp'])
      expect([path, await fails({ path, body: PING })]).toEqual([path, nothing]);
    const said = 'Bulla: The endpoint takes no query; a token stands in the Authorization header.';
    expect(
      await fails({ path: '/mcp?access_token=one', body: PING, headers: { authorization: undefined } }),
    ).toEqual([400, null, -32600, 'GATEWAY_HTTP', said]);
  });

  test('only under the names of the address', async () => {
    const { fails, port, send, refused } = await rogue('ordinary', { hosts: ['Gateway.example:8443'] });
    const no = [403, null, 403, 'GATEWAY_ORIGIN', 'Bulla: The gateway is not served under this host name.'];
    const bad = [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1',
      `127.0.0.1:${port + 1}`,
      'gateway.example',
    ];
    for (const host of bad)
      expect([host, await fails({ body: PING, headers: { host } })]).toEqual([host, no]);
    expect(refused.map(({ agentId }) => agentId)).toEqual(bad.map(() => null));
    const good = [`127.0.0.1:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`, 'gateway.example:8443'];
    for (const host of good) expect((await send({ body: PING, headers: { host } })).status).toBe(400);
  });

  test('only from web pages that are named', async () => {
    const { fails, send, url } = await rogue('ordinary', { origins: ['https://app.example', 'null'] });
    const no = [403, null, 403, 'GATEWAY_ORIGIN', 'Bulla: Requests of this web page are not allowed.'];
    for (const origin of [
      'https://evil.example',
      'null',
      'https://app.example.evil',
      '',
      'http://app.example',
    ])
      expect([origin, await fails({ body: PING, headers: { origin } })]).toEqual([origin, no]);
    const preflight = await send({ method: 'OPTIONS', headers: { origin: 'https://evil.example' } });
    expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([403, undefined]);
    const allowed = await send({ method: 'OPTIONS', headers: { origin: 'https://app.example' } });
    expect([allowed.status, allowed.headers['access-control-allow-origin']]).toEqual([405, undefined]);
    expect((await send({ body: PING, headers: { origin: 'https://app.example' } })).status).toBe(400);
    const own = `http://localhost:${new URL(url).port}`;
    expect((await send({ body: PING, headers: { origin: own } })).status).toBe(400);
  });

  test('only with a token of an agent, which no log tells', async () => {
    const { send, log, refused } = await rogue();
    const challenge = async (authorization: string | string[] | undefined) => {
      const reply = await send({ body: PING, headers: { authorization } });
      return [...errorIn(reply).slice(0, 4), reply.headers['www-authenticate']];
    };
    expect(await challenge(undefined)).toEqual([401, null, 403, 'GATEWAY_UNAUTHORIZED', 'Bearer']);
    const wrong = [401, null, 403, 'GATEWAY_UNAUTHORIZED', 'Bearer error="invalid_token"'];
    for (const value of ['Bearer three', 'Bearer', 'Basic b25l', 'Bearer one two', 'one', 'Bearer ']) {
      expect([value, await challenge(value)]).toEqual([value, wrong]);
    }
    expect(await challenge(['Bearer one', 'Bearer two'])).toEqual(wrong);
    expect(refused).toHaveLength(8);
    expect(log).toEqual(['refused a request: A bearer token of an agent is needed. [GATEWAY_UNAUTHORIZED]']);
    expect((await send({ body: PING, headers: { authorization: 'bearer  one' } })).status).toBe(400);
  });

  test('without tokens, whoever reaches a loopback address', async () => {
    const { send } = await rogue('ordinary', { agents: { id: 'solo' } });
    expect((await send({ body: INITIALIZE, headers: { authorization: undefined } })).status).toBe(200);
    for (const host of ['0.0.0.0', '::', '192.0.2.1', 'example.invalid', '127.0.0.1.example.invalid'])
      await expect(
        rogue('ordinary', { agents: { id: 'solo' }, address: { host, port: 0 } }),
      ).rejects.toMatchObject({
        code: 'GATEWAY_LISTEN_OPTION',
      });
  });

  test('options with which nothing can be served are refused', async () => {
    const refused = (options: Partial<ListenOptions>, code: string) =>
      expect(rogue('ordinary', options)).rejects.toMatchObject({ code });
    await refused({ agents: [] }, 'GATEWAY_LISTEN_OPTION');
    await refused({ agents: [{ id: 'a', tokenHash: new Uint8Array(31) }] }, 'GATEWAY_LISTEN_OPTION');
    await refused({ path: '/mcp/' }, 'GATEWAY_LISTEN_OPTION');
    const { port } = await rogue();
    await refused({ address: { host: '127.0.0.1', port } }, 'GATEWAY_LISTEN');
  });
});

describe('the form of a request', () => {
  test('methods', async () => {
    const { send } = await rogue();
    const status = async (asked: Asked) => {
      const { status, headers } = await send(asked);
      return [status, headers.allow];
    };
    expect(await status({ method: 'GET' })).toEqual([405, 'POST']);
    expect((await send({ method: 'GET' })).headers.connection).toBe('keep-alive');
    const stranger = { method: 'GET', headers: { authorization: undefined } };
    expect((await send(stranger)).headers.connection).toBe('close');
    expect(await status({ method: 'DELETE' })).toEqual([405, 'POST']);
    const modern = { 'mcp-session-id': 'x', 'mcp-protocol-version': '2026-07-28' };
    expect(await status({ method: 'GET', headers: modern })).toEqual([405, 'POST']);
    const unknown = { 'mcp-session-id': 'x', 'mcp-protocol-version': '1900-01-01' };
    expect(await status({ method: 'GET', headers: unknown })).toEqual([400, undefined]);
    expect(await status({ method: 'DELETE', headers: unknown })).toEqual([400, undefined]);
    for (const method of ['PUT', 'PATCH', 'OPTIONS', 'TRACE'])
      expect(await status({ method })).toEqual([405, 'GET, POST, DELETE']);
  });

  test('types and encodings', async () => {
    const { fails, send } = await rogue();
    const type = [415, null, -32600, 'GATEWAY_HTTP', 'Bulla: A message comes as application/json, in UTF-8.'];
    for (const value of [undefined, 'text/plain', 'application/json-rpc', 'application/json; charset=latin1'])
      expect(await fails({ body: PING, headers: { 'content-type': value } })).toEqual(type);
    expect(await fails({ body: PING, headers: { 'content-encoding': 'gzip' } })).toEqual([
      ...type.slice(0, 4),
      'Bulla: A message comes without a content encoding.',
    ]);
    const both = 'Bulla: The Accept header must list application/json and text/event-stream.';
    for (const accept of [
      undefined,
      '*/*',
      'application/json',
      'text/event-stream',
      'application/json, text/event-stream;q=0',
    ])
      expect(await fails({ body: PING, headers: { accept } })).toEqual([
        406,
        null,
        -32600,
        'GATEWAY_HTTP',
        both,
      ]);
    const odd = {
      accept: 'text/event-stream;q=0.5,Application/JSON',
      'content-type': 'Application/Json; charset="UTF-8"',
      'content-encoding': 'identity',
    };
    expect((await send({ body: PING, headers: odd })).status).toBe(400);
  });

  test('what is no message, without a session', async () => {
    const { fails, store } = await rogue();
    const codes = async (body: string | Uint8Array) => (await fails({ body })).slice(0, 4);
    expect(await codes('')).toEqual([400, null, -32700, 'MCP_FRAME_JSON']);
    expect(await codes('{')).toEqual([400, null, -32700, 'MCP_FRAME_JSON']);
    expect(await codes(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"\xff"}', 'latin1'))).toEqual([
      400,
      null,
      -32700,
      'MCP_FRAME_JSON',
    ]);
    expect(await codes('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}')).toEqual([
      400,
      null,
      -32700,
      'MCP_FRAME_JSON',
    ]);
    expect(await codes('[{"jsonrpc":"2.0","id":1,"method":"ping"}]')).toEqual([
      400,
      null,
      -32600,
      'MCP_FRAME_BATCH',
    ]);
    expect(await codes('{"jsonrpc":"2.0","id":7,"method":"ping","x":1}')).toEqual([
      400,
      7,
      -32600,
      'MCP_FRAME_SHAPE',
    ]);
    expect(await codes('{"jsonrpc":"2.0","id":7,"Method":"ping"}')).toEqual([
      400,
      7,
      -32600,
      'MCP_FRAME_CASE_TWIN',
    ]);
    expect(await records(store)).toEqual([]);
  });

  test('what is no message, in a session, which records it', async () => {
    const { fails, store, port, close } = await rogue();
    const headers = { 'mcp-session-id': await beginSession(port) };
    expect((await fails({ body: '{', headers })).slice(0, 4)).toEqual([400, null, -32700, 'MCP_FRAME_JSON']);
    const shape = '{"jsonrpc":"2.0","id":7,"method":"ping","x":1}';
    expect((await fails({ body: shape, headers })).slice(0, 4)).toEqual([400, 7, -32600, 'MCP_FRAME_SHAPE']);
    expect((await fails({ body: shape, headers: { 'mcp-session-id': 'other' } })).slice(0, 4)).toEqual([
      404,
      null,
      -32602,
      'GATEWAY_SESSION_UNKNOWN',
    ]);
    await close();
    expect(await told(store)).toEqual([
      'from host rogue blocked MCP_FRAME_JSON',
      'from host rogue blocked MCP_FRAME_SHAPE',
    ]);
  });
});

describe('sessions of the initialize era', () => {
  test('a session from its beginning to its end', async () => {
    const { port, send, fails, store, close } = await rogue();
    const begun = await send({ body: INITIALIZE });
    const id = begun.headers['mcp-session-id'] as string;
    expect(id).toMatch(/^[\w-]{43}$/);
    expect([begun.status, begun.headers['content-type'], begun.text]).toEqual([
      200,
      'application/json',
      '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},' +
        '"prompts":{},"resources":{},"completions":{}},"serverInfo":{"name":"rogue","version":"1"},' +
        '"instructions":"Use the tools with care."}}',
    ]);
    const headers = { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' };
    const initialized = await send({
      body: { jsonrpc: '2.0', method: 'notifications/initialized' },
      headers,
    });
    expect([initialized.status, initialized.text]).toEqual([202, '']);
    const called = await send({ body: call('x', 'echo', { text: 'a' }), headers });
    expect([
      called.status,
      called.headers['content-type'],
      called.headers['mcp-session-id'],
      called.text,
    ]).toEqual([
      200,
      'application/json',
      undefined,
      '{"jsonrpc":"2.0","id":"x","result":{"content":[{"type":"text","text":"echo {\\"text\\":\\"a\\"}"}]}}',
    ]);
    const unasked = await send({ body: { jsonrpc: '2.0', id: 5, result: {} }, headers });
    expect([unasked.status, unasked.text]).toEqual([202, '']);
    // An error of the protocol is an answer as any other.
    expect((await fails({ body: call(2, 'evil'), headers })).slice(0, 4)).toEqual([
      200,
      2,
      403,
      'GATEWAY_NOT_LOCKED',
    ]);
    expect((await fails({ body: { ...PING, method: 'x/y' }, headers })).slice(0, 4)).toEqual([
      200,
      'p',
      -32601,
      'GATEWAY_METHOD',
    ]);
    expect((await fails({ body: INITIALIZE, headers })).slice(0, 4)).toEqual([
      200,
      0,
      -32600,
      'GATEWAY_SESSION',
    ]);
    const ended = await send({ method: 'DELETE', headers });
    expect([ended.status, ended.text]).toEqual([200, '']);
    const unknown = [404, 'p', -32602, 'GATEWAY_SESSION_UNKNOWN', 'Bulla: There is no such session.'];
    expect(await fails({ body: PING, headers })).toEqual(unknown);
    expect(await fails({ method: 'DELETE', headers })).toEqual([404, null, ...unknown.slice(2)]);
    expect(await fails({ method: 'GET', headers })).toEqual([404, null, ...unknown.slice(2)]);
    expect(await beginSession(port)).not.toBe(id);
    expect(await close()).toEqual({ calls: 1, blocked: 3 });
    expect((await records(store)).filter(({ trigger }) => trigger.request === 'guard rogue')).toHaveLength(4);
  });

  test('a session belongs to its agent, and its id is in no record', async () => {
    const { port, fails, send, close, store } = await rogue();
    const id = await beginSession(port);
    const stolen = { 'mcp-session-id': id, authorization: 'Bearer two' };
    const unknown = (of: unknown) => [
      404,
      of,
      -32602,
      'GATEWAY_SESSION_UNKNOWN',
      'Bulla: There is no such session.',
    ];
    expect(await fails({ body: call(1, 'echo'), headers: stolen })).toEqual(unknown(1));
    expect(await fails({ method: 'GET', headers: stolen })).toEqual(unknown(null));
    expect(await fails({ method: 'DELETE', headers: stolen })).toEqual(unknown(null));
    expect((await send({ body: call(1, 'echo'), headers: { 'mcp-session-id': id } })).status).toBe(200);
    await close();
    const kept = await records(store);
    expect(JSON.stringify(kept)).not.toContain(id);
    expect(new Set(kept.map(({ context }) => context.agent_id))).toEqual(new Set(['one']));
  });

  test('a request must name one session, and a version that is known', async () => {
    const { port, fails, send } = await rogue();
    const named = 'Bulla: A request after initialize names its session in the header Mcp-Session-Id, once.';
    const unnamed = [400, 'p', -32600, 'GATEWAY_SESSION', named];
    expect(await fails({ body: PING })).toEqual(unnamed);
    const id = await beginSession(port);
    expect(await fails({ body: PING, headers: { 'mcp-session-id': [id, id] } })).toEqual(unnamed);
    for (const version of ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']) {
      const headers = { 'mcp-session-id': id, 'mcp-protocol-version': version };
      expect((await send({ body: PING, headers })).text).toBe('{"jsonrpc":"2.0","id":"p","result":{}}');
    }
    const headers = { 'mcp-session-id': id, 'mcp-protocol-version': '1900-01-01' };
    const { status, text } = await send({ body: PING, headers });
    expect([status, JSON.parse(text)]).toEqual([
      400,
      {
        jsonrpc: '2.0',
        id: 'p',
        error: {
          code: -32022,
          message: 'Bulla: The gateway does not know this protocol version.',
          data: {
            supported: ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
            requested: '1900-01-01',
            stage: 'session',
            code: 'GATEWAY_VERSION',
            tool: null,
            capsule: null,
          },
        },
      },
    ]);
    expect(
      (await fails({ method: 'GET', headers: { 'mcp-session-id': id, accept: '*/*' } })).slice(0, 4),
    ).toEqual([406, null, -32600, 'GATEWAY_HTTP']);
  });

  test('there is no session when the server does not agree to one', async () => {
    const { send, close, store } = await rogue('speaks-the-future');
    const { status, headers, text } = await send({ body: INITIALIZE });
    expect([status, headers['mcp-session-id'], JSON.parse(text).error.data.code]).toEqual([
      200,
      undefined,
      'GATEWAY_VERSION',
    ]);
    expect(await close()).toEqual({ calls: 0, blocked: 1 });
    expect((await records(store)).at(-1)).toMatchObject({
      trigger: { request: 'guard rogue' },
      outcome: { status: 'success' },
    });
  });

  test('a server that cannot be started', async () => {
    const lock = await rogueLock('ordinary');
    const server = { kind: 'stdio', command: '/nowhere/at-all', args: [], env: [] } as const;
    const { port, log } = await startListener({ server, lock });
    for (const asked of [{ body: INITIALIZE }, stateless('tools/list', {}, {}, 0)]) {
      expect(errorIn(await exchange(port, asked))).toEqual([
        503,
        0,
        503,
        'GATEWAY_SERVER_FAILED',
        'Bulla: The server cannot be started.',
      ]);
    }
    expect(log[0]).toMatch(
      /^refused a request of "one": The server cannot be started\. \(.*\) \[GATEWAY_SERVER_FAILED\]$/,
    );
  });

  test('a server that ends takes its session along', async () => {
    const { port, fails } = await rogue('dies');
    const headers = { 'mcp-session-id': await beginSession(port) };
    expect((await fails({ body: call(1, 'echo'), headers })).slice(0, 4)).toEqual([
      200,
      1,
      503,
      'GATEWAY_SERVER_ENDED',
    ]);
    expect((await fails({ body: PING, headers })).slice(0, 4)).toEqual([
      404,
      'p',
      -32602,
      'GATEWAY_SESSION_UNKNOWN',
    ]);
    expect(await beginSession(port)).toMatch(/^[\w-]{43}$/);
  });

  test('too many sessions', async () => {
    const { port, send } = await rogue('ordinary', { maxSessions: 1 });
    const id = await beginSession(port);
    const reply = await send({ body: INITIALIZE });
    expect([...errorIn(reply).slice(0, 4), reply.headers['retry-after']]).toEqual([
      503,
      0,
      503,
      'GATEWAY_OVERLOADED',
      '5',
    ]);
    expect((await send(stateless('tools/list'))).status).toBe(503);
    await send({ method: 'DELETE', headers: { 'mcp-session-id': id } });
    expect((await send({ body: INITIALIZE })).status).toBe(200);
  });

  test('a session that nobody uses is closed', async () => {
    const { port, fails, store } = await rogue('ordinary', { idleMs: 50 });
    const id = await beginSession(port);
    await eventually(async () => (await records(store)).length).toBe(2);
    expect((await fails({ body: PING, headers: { 'mcp-session-id': id } })).slice(0, 2)).toEqual([404, 'p']);
  });
});

describe('requests of the stateless era', () => {
  test('an answer, and the status of an error', async () => {
    const { send, fails, close, store } = await rogue('stateless');
    const called = await send(stateless('tools/call', { name: 'echo' }, { 'mcp-session-id': 'ignored' }));
    expect([
      called.status,
      called.headers['content-type'],
      called.headers['mcp-session-id'],
      called.text,
    ]).toEqual([
      200,
      'application/json',
      undefined,
      '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"echo {}"}]}}',
    ]);
    expect((await fails(stateless('no/such'))).slice(0, 4)).toEqual([404, 1, -32601, 'GATEWAY_METHOD']);
    expect((await fails(stateless('initialize'))).slice(0, 4)).toEqual([404, 1, -32601, 'GATEWAY_METHOD']);
    expect((await fails(stateless('tools/call', { name: 'evil' }))).slice(0, 4)).toEqual([
      200,
      1,
      403,
      'GATEWAY_NOT_LOCKED',
    ]);
    const told = await send({
      body: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 9 } },
      headers: { 'mcp-protocol-version': '2026-07-28' },
    });
    expect([told.status, told.text]).toEqual([202, '']);
    const answered = {
      body: { jsonrpc: '2.0', id: 1, result: {} },
      headers: { 'mcp-protocol-version': '2026-07-28' },
    };
    expect((await fails(answered)).slice(0, 4)).toEqual([400, null, -32600, 'GATEWAY_HTTP']);
    expect(await close()).toEqual({ calls: 1, blocked: 3 });
    // One session for all of them.
    expect((await records(store)).filter(({ trigger }) => trigger.request === 'guard rogue')).toHaveLength(2);
  });

  test('a server that does not know a method', async () => {
    const { send } = await rogue('completes-nothing');
    const { status, text } = await send(
      stateless('completion/complete', {
        ref: { type: 'ref/prompt', name: 'ask' },
        argument: { name: 'a', value: '' },
      }),
    );
    expect([status, text]).toEqual([
      404,
      '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}',
    ]);
  });

  test('headers that do not mirror the message', async () => {
    const { fails, send, close } = await rogue('stateless');
    const mismatch = async (
      more: Asked['headers'],
      message: string,
      asked = stateless('tools/call', { name: 'echo' }),
    ) => {
      const headers = { ...asked.headers, ...more };
      expect([more, await fails({ ...asked, headers })]).toEqual([
        more,
        [400, 1, -32020, 'GATEWAY_HEADER', `Bulla: ${message}`],
      ]);
    };
    const missing = (name: string) => `The header "${name}" is missing.`;
    const other = (name: string) => `The header "${name}" says something else than the message.`;
    await mismatch({ 'mcp-protocol-version': undefined }, missing('mcp-protocol-version'));
    await mismatch({ 'mcp-protocol-version': '2025-11-25' }, other('mcp-protocol-version'));
    await mismatch(
      { 'mcp-protocol-version': ['2026-07-28', '2026-07-28'] },
      'The header mcp-protocol-version is given twice.',
    );
    await mismatch({ 'mcp-method': undefined }, missing('mcp-method'));
    await mismatch({ 'mcp-method': 'Tools/Call' }, other('mcp-method'));
    await mismatch({ 'mcp-method': ['tools/call', 'tools/list'] }, 'The header mcp-method is given twice.');
    await mismatch({ 'mcp-name': undefined }, missing('mcp-name'));
    await mismatch({ 'mcp-name': 'add' }, other('mcp-name'));
    await mismatch({ 'mcp-name': ['echo', 'echo'] }, 'The header mcp-name is given twice.');
    await mismatch({ 'mcp-name': 'ech\u00f6' }, 'The header mcp-name has a character that it may not have.');
    await mismatch({ 'mcp-name': '=?base64?ZWNobw?=' }, 'The header "mcp-name" is not the Base64 of a text.');
    await mismatch({ 'mcp-name': '=?base64?/w==?=' }, 'The header "mcp-name" is not the Base64 of a text.');
    await mismatch({ 'mcp-name': '=?base64?YWRk?=' }, other('mcp-name'));
    await mismatch(
      { 'mcp-name': undefined },
      missing('mcp-name'),
      stateless('resources/read', { uri: 'file:///a' }),
    );
    expect(
      (await send(stateless('tools/call', { name: 'echo' }, { 'mcp-name': '=?base64?ZWNobw==?=' }))).status,
    ).toBe(200);
    expect(await close()).toEqual({ calls: 1, blocked: 0 });
  });

  test('headers that mirror arguments', async () => {
    const { fails, send } = await rogue('stateless', {
      expectedHeaders: ({ params }, agentId) => ({
        'mcp-param-agent': agentId,
        'mcp-param-n': new JsonNumber('42'),
        'mcp-param-on': true,
        'mcp-param-absent': null,
        'mcp-param-tool': params!.get('name') as string,
      }),
    });
    const good = {
      'mcp-param-agent': 'one',
      'mcp-param-n': '42.0',
      'mcp-param-on': 'true',
      'mcp-param-tool': '=?base64?ZWNobw==?=',
      'mcp-param-of-another': '\u00ff',
    };
    const asked = (more: Asked['headers']) => stateless('tools/call', { name: 'echo' }, { ...good, ...more });
    expect((await send(asked({}))).status).toBe(200);
    const wrong = [
      { 'mcp-param-agent': undefined },
      { 'mcp-param-agent': 'two' },
      { 'mcp-param-agent': ['one', 'one'] },
      { 'mcp-param-n': '43' },
      { 'mcp-param-n': '0x2a' },
      { 'mcp-param-n': ' ' },
      { 'mcp-param-n': undefined },
      { 'mcp-param-on': 'True' },
      { 'mcp-param-absent': 'x' },
      { 'mcp-param-tool': '=?base64?x?=' },
    ];
    for (const more of wrong)
      expect([more, (await fails(asked(more))).slice(0, 4)]).toEqual([
        more,
        [400, 1, -32020, 'GATEWAY_HEADER'],
      ]);
  });

  test('a message without its _meta, or of an unknown version', async () => {
    const { fails, send, store } = await rogue('stateless');
    const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
    const params = [400, 1, -32602, 'GATEWAY_PARAMS'];
    for (const value of [undefined, null, [], 'x'])
      expect(
        (await fails(stateless('tools/list', { _meta: { [CAPABILITIES]: value } }))).slice(0, 4),
      ).toEqual(params);
    const bare = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    expect((await fails({ ...stateless('tools/list'), body: bare })).slice(0, 4)).toEqual(params);
    const VERSION = 'io.modelcontextprotocol/protocolVersion';
    expect((await fails(stateless('tools/list', { _meta: { [VERSION]: 1 } }))).slice(0, 4)).toEqual(params);
    const future = stateless(
      'tools/list',
      { _meta: { [VERSION]: '2099-01-01' } },
      { 'mcp-protocol-version': '2099-01-01' },
    );
    const { status, text } = await send(future);
    expect([status, JSON.parse(text).error]).toEqual([
      400,
      {
        code: -32022,
        message: 'Bulla: The gateway does not know this protocol version.',
        data: {
          supported: ['2026-07-28'],
          requested: '2099-01-01',
          stage: 'session',
          code: 'GATEWAY_VERSION',
          tool: null,
          capsule: null,
        },
      },
    ]);
    // Nothing of it has started a server.
    expect(await records(store)).toEqual([]);
  });
});
