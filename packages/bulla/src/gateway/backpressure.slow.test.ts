import { once } from 'node:events';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { openTestStore, rogueLock } from '../../test/guard.ts';
import { script } from '../../test/mcp.ts';
import { temporaryFolder } from '../../test/run.ts';
import { type GuardExit, guard } from './index.ts';

const INITIALIZE =
  '{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}\n';
const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}\n';

async function start(
  behaviour: string,
): Promise<{ input: PassThrough; output: PassThrough; over: Promise<GuardExit> }> {
  const store = await openTestStore(temporaryFolder());
  const input = new PassThrough();
  const output = new PassThrough();
  const stop = new AbortController();
  const over = guard({
    host: { input, output },
    server: script('rogue.mjs', join(temporaryFolder(), 'received'), behaviour),
    lock: await rogueLock('ordinary'),
    store,
    agentId: 'bot',
    allowOtherServer: true,
    drainMs: 0,
    graceMs: 50,
    signal: stop.signal,
  });
  onTestFinished(async () => {
    stop.abort();
    output.resume();
    await over;
    await store.close();
  });
  input.write(INITIALIZE);
  await once(output, 'readable');
  input.write(INITIALIZED);
  return { input, output, over };
}

/** Waits until a number does not move any more, and gives it. */
async function settled(read: () => number): Promise<number> {
  let last = read();
  for (let same = 0; same < 40; same++) {
    await sleep(5);
    if (read() !== last) same = 0;
    last = read();
  }
  return last;
}

test('a server is not read while the host does not read', async () => {
  const { input, output } = await start('floods-with-notifications');
  input.write('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}\n');
  const held = await settled(() => output.readableLength + output.writableLength);
  // The flood has more than two million bytes; what waits is what the streams may hold, and one message.
  expect(held).toBeGreaterThan(1000);
  expect(held).toBeLessThan(200_000);
  let total = 0;
  output.on('data', (chunk: Buffer) => {
    total += chunk.length;
  });
  await settled(() => total);
  expect(total).toBeGreaterThan(1_500_000);
});

test('a host is not read while the server does not read', async () => {
  const { input, output } = await start('stops-reading');
  output.resume();
  const ping = `{"jsonrpc":"2.0","id":#,"method":"ping","params":{"_meta":{"x":"${'x'.repeat(10_000)}"}}}\n`;
  for (let id = 0; id < 400; id++) input.write(ping.replace('#', String(id)));
  const held = await settled(() => input.readableLength + input.writableLength);
  expect(held).toBeGreaterThan(3_000_000);
});

test('a host that reads no more does not keep the session from its end', async () => {
  const { input, output, over } = await start('floods-with-notifications');
  input.write('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo"}}\n');
  while (!output.writableNeedDrain) await sleep(5);
  input.end();
  expect(await over).toMatchObject({ ended: 'host', calls: 1 });
});
