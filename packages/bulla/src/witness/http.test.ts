import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { testLog } from '../../test/witness-log.ts';
import { runWitness } from '../../test/witness-server.ts';
import { type RequestLine, serveWitness } from './index.ts';

const log = testLog();
const post = (url: string, body: Uint8Array | string, headers = {}) =>
  fetch(`${url}/add-checkpoint`, { method: 'POST', body: Buffer.from(body), headers });

describe('over HTTP', () => {
  test('a checkpoint is cosigned, and a monitor gets it', async () => {
    const { url } = await runWitness([log.vkey]);
    const answer = await post(url, await log.request(0, 3));
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    const lines = await answer.text();
    const hash = createHash('sha256').update(log.origin).digest('hex');
    const monitored = await fetch(`${url}/${hash}/checkpoint`);
    expect([monitored.status, await monitored.text()]).toEqual([200, (await log.note(3)) + lines]);
    const head = await fetch(`${url}/${hash}/checkpoint`, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    expect((await fetch(`${url}/${'0'.repeat(64)}/checkpoint`)).status).toBe(404);
  });

  test('409 tells the size, with its own type and nothing else', async () => {
    const { url } = await runWitness([log.vkey]);
    await post(url, await log.request(0, 3));
    const answer = await post(url, await log.request(0, 5));
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      409,
      'text/x.tlog.size',
      '3\n',
    ]);
  });

  test('there is nothing else: 404, and 405 with what is allowed', async () => {
    const { url } = await runWitness([log.vkey], { prefix: '/some/witness' });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/some\/witness$/);
    expect((await post(url, await log.request(0, 3))).status).toBe(200);
    const { origin } = new URL(url);
    const status = async (path: string, method = 'POST') => {
      const { status, headers } = await fetch(origin + path, { method });
      return [status, headers.get('allow')];
    };
    expect(await status('/add-checkpoint')).toEqual([404, null]);
    expect(await status('/some/witness/add-checkpoint?x=1')).toEqual([404, null]);
    expect(await status('/some/witness/add-checkpoint/')).toEqual([404, null]);
    expect(await status('/some/witness', 'GET')).toEqual([404, null]);
    expect(await status('/some/witness/status', 'GET')).toEqual([404, null]);
    expect(await status('/some/witness/add-checkpoint', 'GET')).toEqual([405, 'POST']);
    expect(await status(`/some/witness/${'0'.repeat(64)}/checkpoint`)).toEqual([405, 'GET, HEAD']);
    await expect(runWitness([log.vkey], { prefix: '/x/' })).rejects.toMatchObject({ code: 'WITNESS_OPTION' });
  });

  test('a body that is too large or compressed is refused', async () => {
    const lines: RequestLine[] = [];
    const { url } = await runWitness([log.vkey], {
      maxBodyBytes: 1000,
      onRequest: (line) => lines.push(line),
    });
    const large = await post(url, 'x'.repeat(200_000));
    expect([large.status, await large.text()]).toEqual([413, 'A request has at most 1000 bytes.\n']);
    expect((await post(url, 'x', { 'content-encoding': 'gzip' })).status).toBe(415);
    expect((await post(url, await log.request(0, 3))).status).toBe(200);
    expect(lines.map(({ answer }) => answer.status)).toEqual([413, 415, 200]);
  });

  test('a body without end is cut off', async () => {
    const { url } = await runWitness([log.vkey]);
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.on('error', () => undefined); // the server may close before all is written
    socket.write('POST /add-checkpoint HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000000\r\n\r\n');
    const closed = new Promise((resolve) => socket.on('close', resolve));
    for (let sent = 0; sent < 64 && !socket.destroyed; sent++) {
      socket.write(Buffer.alloc(1 << 20));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await closed;
    expect((await post(url, await log.request(0, 3))).status).toBe(200);
  });

  test('requests follow each other on one connection', async () => {
    const { url } = await runWitness([log.vkey]);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const send = async (oldSize: number, size: number) => {
      const sent = request(`${url}/add-checkpoint`, { method: 'POST', agent });
      sent.end(await log.request(oldSize, size));
      const [response] = await once(sent, 'response');
      await text(response);
      return [response.statusCode, sent.reusedSocket];
    };
    expect([await send(0, 3), await send(3, 5), await send(0, 6)]).toEqual([
      [200, false],
      [200, true],
      [409, true],
    ]);
    agent.destroy();
  });

  test('who does not finish a request is cut off', async () => {
    const { url } = await runWitness([log.vkey], { requestMs: 100 });
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write('POST /add-checkpoint HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nold');
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('who goes away in the middle of a request does no harm', async () => {
    const { url } = await runWitness([log.vkey]);
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write('POST /add-checkpoint HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\nold');
    await once(socket, 'connect');
    socket.destroy();
    expect((await post(url, await log.request(0, 3))).status).toBe(200);
  });

  test('closing ends what is under way and lets nothing further in', async () => {
    const running = await runWitness([log.vkey]);
    const agent = new Agent({ keepAlive: true });
    const body = await log.request(0, 3);
    const sent = request(`${running.url}/add-checkpoint`, {
      method: 'POST',
      agent,
      headers: { 'content-length': body.length },
    });
    sent.write(body.subarray(0, 10));
    await once(sent, 'socket');
    await new Promise<void>((resolve) => sent.socket!.once('connect', resolve));
    // The server has seen the request before it is told to close.
    expect((await post(running.url, await log.request(0, 2))).status).toBe(200);
    const closed = running.close();
    sent.end(body.subarray(10));
    const [response] = await once(sent, 'response');
    expect([response.statusCode, response.headers.connection]).toEqual([409, 'close']);
    await text(response);
    await closed;
    await expect(post(running.url, 'x')).rejects.toThrow('fetch failed');
    agent.destroy();
  });

  test('an address that is taken is told', async () => {
    const { url, witness } = await runWitness([log.vkey]);
    const port = Number(new URL(url).port);
    await expect(serveWitness({ witness, host: '127.0.0.1', port })).rejects.toMatchObject({
      code: 'WITNESS_LISTEN',
      message: `The witness cannot listen on 127.0.0.1, port ${port} (EADDRINUSE).`,
    });
  });
});
