import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { readFailure } from '@bulla/core/evidence';
import { expect, test } from 'vitest';
import { openTestStore, records, rogueLock, type Sealed } from '../../test/guard.ts';
import { type Asked, begin, exchange, INITIALIZE, startListener } from '../../test/listen.ts';
import { script } from '../../test/mcp.ts';
import { temporaryFolder } from '../../test/run.ts';
import { createRecorder } from '../record/index.ts';

// What a listener refuses before a session has it is recorded: once for each kind, and counted.

async function start(maxBytes?: number) {
  const store = await openTestStore(temporaryFolder());
  const listener = await startListener(
    { server: script('rogue.mjs', '/dev/null', 'ordinary'), lock: await rogueLock('ordinary'), store },
    { recorder: createRecorder(store.chain('default')), ...(maxBytes !== undefined && { maxBytes }) },
  );
  const ofListener = async (): Promise<Sealed[]> =>
    (await records(store)).filter(({ trigger }) => trigger.request === 'guard listener');
  return { ...listener, ofListener };
}

const lineOf = ({ type, context, outcome }: Sealed) => {
  const { facts = {} } = context.environment.bulla;
  const { stage, code, sentence } = readFailure(outcome.error)!;
  return [type, context.agent_id, outcome.status, facts.status, facts.from, stage, code, sentence];
};

test('each kind of refusal is recorded, with nothing that the sender wrote', async () => {
  const { port, store, ofListener, close } = await start(1000);
  const refusals: Asked[] = [
    { headers: { authorization: 'Bearer s3cret-of-sender' } },
    { headers: { authorization: undefined } },
    { headers: { host: 'evil.example' } },
    { headers: { origin: 'https://evil.example' } },
    { path: '/etc/passwd' },
    { path: '/mcp?token=s3cret-of-sender' },
    { method: 'PUT' },
    { body: '{"s3cret-of-sender"' },
    { body: `"${'x'.repeat(2000)}"` },
    { body: { jsonrpc: '2.0', id: 1, method: 'ping' }, headers: { 'mcp-session-id': 's3cret-of-sender' } },
    { body: { jsonrpc: '2.0', id: 1, method: 'ping' } },
    { body: {}, headers: { 'content-type': 'text/s3cret-of-sender' } },
  ];
  const found: number[] = [];
  for (const asked of refusals) found.push((await exchange(port, { body: INITIALIZE, ...asked })).status);
  expect(found).toEqual([401, 401, 403, 403, 404, 400, 405, 400, 413, 404, 400, 415]);
  const socket = connect(port, '127.0.0.1');
  socket.write('s3cret-of-sender\r\n\r\n');
  expect((await text(socket)).split('\r\n')[0]).toBe('HTTP/1.1 400 Bad Request');
  await close();
  const all = await ofListener();
  const [last] = all.splice(-1);
  const line = (agent: string, status: number, stage: string, code: string, sentence: string) => [
    ...['system', agent, 'blocked', status, 'loopback', stage, code, sentence],
  ];
  const unauthorized = line(
    ...(['', 401, 'session', 'GATEWAY_UNAUTHORIZED', 'A bearer token of an agent is needed.'] as const),
  );
  expect(all.map(lineOf)).toEqual([
    // Without a token and with a wrong one are one kind.
    unauthorized,
    line('', 403, 'session', 'GATEWAY_ORIGIN', 'The gateway is not served under this host name.'),
    line('', 403, 'session', 'GATEWAY_ORIGIN', 'Requests of this web page are not allowed.'),
    line('', 404, 'session', 'GATEWAY_HTTP', 'There is nothing at this path.'),
    line(
      ...(['', 400, 'session', 'GATEWAY_HTTP'] as const),
      'The endpoint takes no query; a token stands in the Authorization header.',
    ),
    line('one', 405, 'session', 'GATEWAY_HTTP', 'This method is not allowed here.'),
    line('one', 400, 'frame', 'MCP_FRAME_JSON', 'The host sent an invalid message.'),
    line('one', 413, 'frame', 'MCP_FRAME_TOO_LARGE', 'A message is longer than 1000 bytes.'),
    line('one', 404, 'session', 'GATEWAY_SESSION_UNKNOWN', 'There is no such session.'),
    line(
      ...(['one', 400, 'session', 'GATEWAY_SESSION'] as const),
      'A request after initialize names its session in the header Mcp-Session-Id, once.',
    ),
    line('one', 415, 'session', 'GATEWAY_HTTP', 'A message comes as application/json, in UTF-8.'),
    line('', 400, 'session', 'GATEWAY_HTTP', 'What came is not valid HTTP.'),
  ]);
  expect(last).toMatchObject({
    outcome: {
      status: 'success',
      metrics: {
        refused: {
          GATEWAY_UNAUTHORIZED: 2,
          GATEWAY_ORIGIN: 2,
          GATEWAY_HTTP: 5,
          GATEWAY_SESSION: 1,
          GATEWAY_SESSION_UNKNOWN: 1,
          MCP_FRAME_JSON: 1,
          MCP_FRAME_TOO_LARGE: 1,
        },
      },
    },
  });
  const session = new Set([...all, last!].map(({ context }) => context.session_id));
  expect(session.size).toBe(1);
  expect(JSON.stringify(await records(store))).not.toMatch(/s3cret|evil|passwd/);
  await store.close();
});

test('a flood leaves one record and a count, and a host is served meanwhile', async () => {
  const { port, store, ofListener, close } = await start();
  const wrong = { body: INITIALIZE, headers: { authorization: 'Bearer wrong' } };
  for (let i = 0; i < 20; i++)
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        const { got } = await begin(port, wrong);
        got.resume();
        await once(got, 'end');
      }),
    );
  expect((await exchange(port, { body: INITIALIZE })).status).toBe(200);
  await close();
  const all = await ofListener();
  expect(all.map(({ outcome }) => [outcome.status, outcome.metrics])).toEqual([
    ['blocked', {}],
    ['success', { refused: { GATEWAY_UNAUTHORIZED: 1000 } }],
  ]);
  await store.close();
});

test('a listener that refused nothing records nothing of itself', async () => {
  const { port, store, ofListener, close } = await start();
  expect((await exchange(port, { body: INITIALIZE })).status).toBe(200);
  await close();
  expect(await ofListener()).toEqual([]);
  await store.close();
});
