import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readLock, writeLock } from '@bulla/core/lock';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { expect, onTestFinished, test } from 'vitest';
import { type Guarded, initialize, records, startGuard } from '../../../test/guard.ts';
import { serveHttp, webListener } from '../../../test/http.ts';
import { browser, type Protected, serveProtected } from '../../../test/protected.ts';
import { temporaryFolder } from '../../../test/run.ts';
import { createServer } from '../../../test/servers/modern.ts';
import { type Authorizer, bearer, type OAuthMemory, oauth, scan } from '../../mcp/index.ts';

// Credentials that end, are refused, or are too few while a host uses a server over HTTP.

interface Signed extends Guarded {
  readonly memory: { kept: OAuthMemory };
  /** The pages that somebody was asked to open. */
  readonly pages: URL[];
}

/** A guard whose sign-in somebody made when the server was locked; `person` opens pages after that. */
async function signedIn(
  { url }: Protected,
  options: { person?: (page: URL) => void | Promise<void>; stepUp?: boolean; now?: () => number } = {},
): Promise<Signed> {
  const { person = () => {}, ...rest } = options;
  const memory: { kept: OAuthMemory } = { kept: {} };
  const kept = {
    load: () => memory.kept,
    save(next: OAuthMemory) {
      memory.kept = next;
    },
  };
  const lock = await lockWith(url, oauth(url, { openBrowser: browser, memory: kept, ...rest }));
  const pages: URL[] = [];
  const authorizer = oauth(url, {
    openBrowser(page) {
      pages.push(page);
      return person(page);
    },
    signInMs: 100,
    memory: kept,
    ...rest,
  });
  const guarded = await startGuard({ server: { kind: 'http', url: url.href }, lock, http: { authorizer } });
  await initialize(guarded);
  return Object.assign(guarded, { memory, pages });
}

async function lockWith(url: URL, authorizer: Authorizer) {
  const surface = await scan({ kind: 'http', url: url.href }, { authorizer });
  const identity = { transport: 'http', url: url.href } as const;
  return readLock(
    Buffer.from(writeLock(surface, { generator: 'bulla', updatedAt: new Date(0), identity }).text),
  );
}

const refused = (sentence: string, reason: string) => ({
  message: `Bulla: ${sentence}`,
  data: { stage: 'server', code: 'GATEWAY_SERVER_FAILED', reason },
});
const SIGN_IN_AGAIN = `Sign in again with 'bulla scan --sign-in' for this server; the next request uses what that gives.`;

test('a token that ends is renewed once for all calls, and each is executed once', async () => {
  const server = await serveProtected();
  const guarded = await signedIn(server);
  expect((await guarded.call('add', { a: 1, b: 0 })).result.structuredContent).toEqual({ sum: 1 });
  server.log.length = 0;
  server.calls.length = 0;
  server.expire();
  const answers = await Promise.all(
    Array.from({ length: 16 }, (_, i) => guarded.call('add', { a: i, b: 100 })),
  );
  expect(answers.map(({ result }) => result.structuredContent.sum)).toEqual(
    Array.from({ length: 16 }, (_, i) => i + 100),
  );
  expect(server.log).toEqual(['token refresh_token']);
  expect(server.calls.sort()).toEqual(
    Array.from({ length: 16 }, (_, i) => JSON.stringify({ a: i, b: 100 })).sort(),
  );
  expect(guarded.pages).toEqual([]);
});

test('a token is renewed before its end, where that is known', async () => {
  const server = await serveProtected(false, { token: { expires_in: 60 } });
  let time = 1_000_000;
  const guarded = await signedIn(server, { now: () => time });
  server.log.length = 0;
  time += 44_000;
  await guarded.call('add', { a: 1, b: 1 });
  expect(server.log).toEqual([]);
  const before = guarded.memory.kept.tokens?.access_token;
  time += 2000;
  await guarded.call('add', { a: 1, b: 2 });
  expect(server.log).toEqual(['token refresh_token']);
  expect(guarded.memory.kept.tokens?.access_token).not.toBe(before);
});

test('where it cannot be renewed and nobody signs in, requests fail at once, and the operator is told once', async () => {
  const server = await serveProtected();
  const guarded = await signedIn(server);
  server.revoke();
  const sentence = `The server asks for credentials (HTTP 401). ${SIGN_IN_AGAIN}`;
  const answers = await Promise.all([1, 2, 3].map((a) => guarded.call('add', { a, b: 1 })));
  for (const { error } of answers) expect(error).toMatchObject(refused(sentence, 'MCP_HTTP_UNAUTHORIZED'));
  expect((await guarded.call('add', { a: 4, b: 1 })).error).toMatchObject(
    refused(sentence, 'MCP_HTTP_UNAUTHORIZED'),
  );
  expect(guarded.pages).toHaveLength(1);
  expect(guarded.log.filter((line) => line.includes('MCP_HTTP_UNAUTHORIZED'))).toEqual([
    `${sentence} ("The sign-in did not succeed: nobody signed in within 100 ms.") [MCP_HTTP_UNAUTHORIZED]`,
  ]);
  expect(server.calls).toEqual([]);
});

test('a person who signs in again meanwhile is waited for', async () => {
  const server = await serveProtected();
  const guarded = await signedIn(server, { person: browser });
  server.revoke();
  expect((await guarded.call('add', { a: 1, b: 1 })).result.structuredContent).toEqual({ sum: 2 });
  expect(guarded.pages).toHaveLength(1);
  expect(server.calls).toEqual(['{"a":1,"b":1}']);
});

test('tokens that another process got are used', async () => {
  const server = await serveProtected();
  const guarded = await signedIn(server);
  const own = guarded.memory.kept.tokens!.access_token;
  const other = oauth(server.url, {
    openBrowser: browser,
    memory: {
      load: () => ({}),
      save(next) {
        if (next.tokens !== undefined) guarded.memory.kept = next;
      },
    },
  });
  await scan({ kind: 'http', url: server.url.href }, { authorizer: other });
  server.log.length = 0;
  server.expire(own);
  expect((await guarded.call('add', { a: 2, b: 2 })).result.structuredContent).toEqual({ sum: 4 });
  expect([guarded.pages, server.log]).toEqual([[], []]);
});

test('a wider scope is asked for only where the operator allows it', async () => {
  const server = await serveProtected(false, { callScope: 'write' });
  const strict = await signedIn(server, { person: browser, stepUp: false });
  expect((await strict.call('add', { a: 1, b: 1 })).error).toMatchObject(
    refused(
      `The server wants a wider scope than the credentials have (HTTP 403). ${SIGN_IN_AGAIN}`,
      'MCP_HTTP_SCOPE',
    ),
  );
  expect(strict.pages).toEqual([]);
  const open = await signedIn(server, { person: browser, stepUp: true });
  const answers = await Promise.all([1, 2].map((a) => open.call('add', { a, b: 1 })));
  expect(answers.map(({ result }) => result.structuredContent.sum)).toEqual([2, 3]);
  expect(open.pages.map(({ searchParams }) => searchParams.get('scope'))).toEqual(['write']);
});

/** A server that takes one token, and what it was called with. */
async function serveToken() {
  const handler = createMcpHandler(createServer, { legacy: 'reject' });
  onTestFinished(() => handler.close());
  const state = { token: 'first', calls: 0, cut: false };
  const url = await serveHttp(async (incoming, outgoing) => {
    if (state.cut && incoming.headers['mcp-method'] === 'tools/call') {
      state.calls++;
      return void incoming.socket.destroy();
    }
    await webListener(async (request) => {
      if (request.headers.get('authorization') !== `Bearer ${state.token}`)
        return new Response(null, { status: 401, headers: { 'www-authenticate': 'Bearer' } });
      if (request.headers.get('mcp-method') === 'tools/call') state.calls++;
      return handler.fetch(request);
    })(incoming, outgoing);
  });
  return Object.assign(state, { url });
}

test('a token that is kept elsewhere is read again when it is refused', async () => {
  const server = await serveToken();
  const file = join(temporaryFolder(), 'token');
  writeFileSync(file, 'first');
  let reads = 0;
  const read = async () => {
    reads++;
    await sleep(20);
    return readFileSync(file, 'utf8');
  };
  const lock = await lockWith(server.url, bearer('first'));
  const authorizer = bearer('first', read);
  const guarded = await startGuard({
    server: { kind: 'http', url: server.url.href },
    lock,
    http: { authorizer },
  });
  await initialize(guarded);
  server.token = 'second';
  const advice =
    'Put a token that the server takes where the configuration refers to it; it is read again with the next request.';
  const failed = await guarded.call('add', { a: 1, b: 1 });
  expect(failed.error).toMatchObject(
    refused(`The server asks for credentials (HTTP 401). ${advice}`, 'MCP_HTTP_UNAUTHORIZED'),
  );
  writeFileSync(file, 'second');
  reads = 0;
  const answers = await Promise.all([1, 2, 3].map((a) => guarded.call('add', { a, b: 1 })));
  expect(answers.map(({ result }) => result.structuredContent.sum)).toEqual([2, 3, 4]);
  expect([reads, server.calls]).toEqual([1, 3]);
  // Neither records nor lines for the operator hold a token.
  await guarded.end();
  const all = JSON.stringify([await records(guarded.store), guarded.log, guarded.lines]);
  expect(all).not.toMatch(/first|second/);
});

test('a token that was given once is not asked for again', async () => {
  const server = await serveToken();
  const lock = await lockWith(server.url, bearer('first'));
  const guarded = await startGuard({
    server: { kind: 'http', url: server.url.href },
    lock,
    http: { authorizer: bearer('first') },
  });
  await initialize(guarded);
  server.token = 'second';
  const sentence =
    'The server asks for credentials (HTTP 401). Start the gateway again with a token that the server takes.';
  expect((await guarded.call('add', { a: 1, b: 1 })).error).toMatchObject(
    refused(sentence, 'MCP_HTTP_UNAUTHORIZED'),
  );
  expect(guarded.log).toContain(`${sentence} [MCP_HTTP_UNAUTHORIZED]`);
});

test('a call whose connection breaks is not sent again', async () => {
  const server = await serveToken();
  const lock = await lockWith(server.url, bearer('first'));
  const authorizer = bearer('first', async () => 'other');
  const guarded = await startGuard({
    server: { kind: 'http', url: server.url.href },
    lock,
    http: { authorizer },
  });
  await initialize(guarded);
  server.cut = true;
  expect((await guarded.call('add', { a: 1, b: 1 })).error).toMatchObject(
    refused('The server cannot be reached.', 'MCP_HTTP_UNREACHABLE'),
  );
  expect(server.calls).toBe(1);
});
