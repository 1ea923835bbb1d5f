import { existsSync, readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { Lock } from '@bulla/core/lock';
import type { GuardOptions } from '../src/gateway/index.ts';
import { type Guarded, lockOf, type Message, startGuard } from './guard.ts';
import { readAll, serveHttp } from './http.ts';
import { script } from './mcp.ts';
import { temporaryFolder } from './run.ts';
// @ts-expect-error: the server is a plain script
import { createEra } from './servers/eras.mjs';

export type ServerEra = 'initialize' | 'stateless' | 'changes';

/** A session with a server of one era, and what reached the server. */
export interface Era extends Guarded {
  /** Every line that came to the server, as it came. */
  wire(): string[];
  received(method?: string): Message[];
}

const locks = new Map<string, Promise<Lock>>();

function lockOfEra(era: 'initialize' | 'stateless'): Promise<Lock> {
  let lock = locks.get(era);
  if (lock === undefined) {
    lock = lockOf(script('eras.mjs', '/dev/null', era));
    locks.set(era, lock);
  }
  return lock;
}

/** Guards a server of an era, over standard streams or HTTP. */
export async function startEra(
  era: ServerEra,
  {
    over = 'stdio',
    behaviour = '',
    locked = era === 'changes' ? 'initialize' : era,
    ...options
  }: Partial<GuardOptions> & {
    readonly over?: 'stdio' | 'http';
    readonly behaviour?: string;
    readonly locked?: 'initialize' | 'stateless';
  } = {},
): Promise<Era> {
  const log = join(temporaryFolder(), 'received');
  const lock = await lockOfEra(locked);
  const server =
    over === 'stdio'
      ? script('eras.mjs', log, era, behaviour)
      : { kind: 'http' as const, url: (await serveEra(log, era, behaviour)).href };
  const guarded = await startGuard({
    server,
    lock,
    features: ['roots', 'elicitation', 'sampling'],
    ...options,
  });
  const wire = (): string[] => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []);
  const received = (method?: string): Message[] =>
    wire()
      .map((line) => JSON.parse(line) as Message)
      .filter((message) => method === undefined || message.method === method);
  return Object.assign(guarded, { wire, received });
}

/** The same server over Streamable HTTP: each request is answered with a stream of events. */
async function serveEra(log: string, era: ServerEra, behaviour: string): Promise<URL> {
  const streams = new Map<unknown, ServerResponse>();
  const send = (message: object | string, on: unknown): void => {
    const text = typeof message === 'string' ? message : JSON.stringify(message);
    const to = streams.get(on) ?? streams.get(undefined);
    to?.write(`data: ${text}\n\n`);
    const { method } = JSON.parse(text);
    if (method === undefined && streams.delete(on)) to?.end();
  };
  const take = createEra(log, era, behaviour, send);
  return serveHttp(async (incoming, outgoing) => {
    const events = { 'content-type': 'text/event-stream' };
    if (incoming.method === 'GET') {
      outgoing.writeHead(200, events).flushHeaders();
      streams.set(undefined, outgoing);
      return;
    }
    if (incoming.method === 'DELETE') return void outgoing.writeHead(200).end();
    const line = Buffer.from(await readAll(incoming)).toString();
    const { id, method } = JSON.parse(line);
    if (id === undefined || method === undefined) {
      take(line);
      return void outgoing.writeHead(202).end();
    }
    outgoing.writeHead(200, method === 'initialize' ? { ...events, 'mcp-session-id': 's' } : events);
    outgoing.flushHeaders();
    streams.set(id, outgoing);
    outgoing.on('close', () => {
      if (streams.delete(id))
        take(
          JSON.stringify({
            jsonrpc: '2.0',
            method: 'notifications/cancelled',
            params: { requestId: id, closed: true },
          }),
        );
    });
    take(line);
  });
}
