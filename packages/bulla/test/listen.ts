import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  type Agent,
  type ClientRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
} from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished } from 'vitest';
import { type LinkOptions, openLink } from '../src/gateway/link.ts';
import { type Listening, type ListenOptions, listen } from '../src/gateway/listen.ts';
import type { Refused } from '../src/gateway/peer/http-endpoint.ts';
import type { Store } from '../src/store/index.ts';
import { openTestStore } from './guard.ts';
import { temporaryFolder } from './run.ts';

export interface TestListener extends Listening {
  readonly store: Store;
  readonly log: string[];
  readonly refused: Refused[];
  readonly port: number;
}

export const hashOf = (token: string): Uint8Array => createHash('sha256').update(token).digest();

/** Listens on a free port for the agents `one` and `two`, whose tokens are their names, and guards one server. */
export async function startListener(
  link: Partial<LinkOptions> & Pick<LinkOptions, 'server' | 'lock'>,
  options: Partial<ListenOptions> = {},
): Promise<TestListener> {
  const store = link.store ?? (await openTestStore(temporaryFolder()));
  const log: string[] = [];
  const refused: Refused[] = [];
  const listening = await listen({
    address: { host: '127.0.0.1', port: 0 },
    agents: ['one', 'two'].map((id) => ({ id, tokenHash: hashOf(id) })),
    open: ({ id }, host, sessionId) =>
      openLink(
        {
          store,
          allowOtherServer: true,
          graceMs: 200,
          log: (line) => log.push(line),
          ...link,
          agentId: id,
          sessionId,
        },
        host,
      ),
    log: (line) => log.push(line),
    onRefused: (one) => refused.push(one),
    ...options,
  });
  onTestFinished(async () => {
    await listening.close(AbortSignal.abort());
    if (link.store === undefined) await store.close().catch(() => {});
  });
  return { ...listening, store, log, refused, port: Number(new URL(listening.url).port) };
}

/** What came back for one HTTP request. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export interface Asked {
  readonly method?: string;
  readonly path?: string;
  /** Replaces or, with undefined, leaves out what a proper request has. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
  readonly body?: string | Uint8Array | object;
  readonly agent?: Agent;
}

/** Sends one request, as the agent `one` unless its headers say otherwise. The response is not read yet. */
export async function begin(
  port: number,
  asked: Asked,
): Promise<{ sent: ClientRequest; got: IncomingMessage }> {
  const { method = 'POST', path = '/mcp', body, agent } = asked;
  const headers = {
    authorization: 'Bearer one',
    accept: 'application/json, text/event-stream',
    ...(method === 'POST' && { 'content-type': 'application/json' }),
    ...asked.headers,
  };
  const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
  const sent = request({
    port,
    host: '127.0.0.1',
    method,
    path,
    headers: given as OutgoingHttpHeaders,
    agent,
  });
  sent.on('error', () => {});
  const isText = typeof body === 'string' || body instanceof Uint8Array || body === undefined;
  sent.end(isText ? body : JSON.stringify(body));
  const [got] = (await once(sent, 'response')) as [IncomingMessage];
  return { sent, got };
}

/** Sends one request, and reads the whole response. */
export async function exchange(port: number, asked: Asked): Promise<Reply> {
  const { got } = await begin(port, asked);
  return { status: got.statusCode!, headers: got.headers, text: await text(got) };
}

/** The status of a reply with the code, the id and the sentence of the JSON-RPC error in its body. */
export function errorIn({ status, text }: Reply) {
  const { id, error } = JSON.parse(text);
  return [status, id, error.code, error.data.code, error.message];
}

/** A request of the stateless era with its headers, as the protocol requires them. */
export function stateless(
  method: string,
  params: object = {},
  more: Asked['headers'] = {},
  id: unknown = 1,
): Asked {
  const { name, uri } = params as { name?: string; uri?: string };
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
    ...(params as { _meta?: object })._meta,
  };
  return {
    body: { jsonrpc: '2.0', id, method, params: { ...params, _meta } },
    headers: {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...((name ?? uri) !== undefined && { 'mcp-name': name ?? uri }),
      ...more,
    },
  };
}

export const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
};

/** Begins a session of the initialize era, and gives its id. */
export async function beginSession(port: number, more: Asked['headers'] = {}): Promise<string> {
  const { headers } = await exchange(port, { body: INITIALIZE, headers: more });
  const id = headers['mcp-session-id'] as string;
  const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
  await exchange(port, { body: initialized, headers: { 'mcp-session-id': id, ...more } });
  return id;
}

export const call = (id: unknown, name: string, args: object = {}, _meta?: object): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args, ...(_meta && { _meta }) },
});

/** The messages in a stream of events. */
export function messagesIn(stream: string): ReturnType<typeof JSON.parse>[] {
  return [...stream.matchAll(/^data: (.*)$/gm)].map(([, data]) => JSON.parse(data!));
}

/** Asks again until it is as expected; only a test that hangs runs out of time. */
export function eventually<Value>(look: () => Value | Promise<Value>): ReturnType<typeof expect.poll> {
  return expect.poll(look, { timeout: 60_000, interval: 20 });
}
