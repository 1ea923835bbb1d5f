import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { expectGone, script } from '../../test/mcp.ts';
import { startWorker } from '../../test/processes.ts';
import { temporaryFolder } from '../../test/run.ts';
import { connectStdio, requestFrame } from './index.ts';

function scanInProcess(behaviour: string, ...words: string[]) {
  const pids = join(temporaryFolder(), 'pids');
  const { command, args } = script('hostile.mjs', pids, behaviour, ...words);
  return { pids, worker: startWorker('scan-worker.ts', [command, ...args]) };
}

describe('the memory of a scan is bounded', () => {
  // A process that scans takes about a hundred megabytes, most of it Node.
  it.each([
    ['floods-stderr', ['400'], 2],
    ['endless-line', [], 'MCP_FRAME_TOO_LARGE'],
  ])('%s', async (behaviour, words, outcome) => {
    const { pids, worker } = scanInProcess(behaviour, ...words);
    await worker.done;
    const told = JSON.parse(worker.output()[1]!);
    expect(told.outcome).toBe(outcome);
    expect(told.megabytes).toBeLessThan(250);
    await expectGone(pids);
  });
});

describe('a process that is ended in the middle of a scan', () => {
  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('by %s takes the server with it', async (signal) => {
    const { pids, worker } = scanInProcess('hangs-and-stays');
    while (!existsSync(pids)) await sleep(10);
    worker.kill(signal);
    const [code, by] = await once(worker, 'exit');
    expect([code, by]).toEqual([null, signal]);
    await expectGone(pids);
  });
});

describe('the transport', () => {
  it('reads no further while a message is being taken', async () => {
    const pids = join(temporaryFolder(), 'pids');
    const { command, args } = script('hostile.mjs', pids, 'floods-notifications');
    let taken = 0;
    let busy = false;
    const done = Promise.withResolvers<void>();
    const transport = await connectStdio(
      command,
      args,
      { env: {}, graceMs: 50, termMs: 50 },
      {
        async frame() {
          expect(busy).toBe(false);
          busy = true;
          await sleep(1);
          busy = false;
          if (++taken === 50) done.resolve();
        },
        refused: done.reject,
        ended: done.reject,
      },
    );
    await done.promise;
    await transport.close();
    await expectGone(pids);
  });

  it('sends a message of several lines as one', async () => {
    const answers: string[] = [];
    const came = Promise.withResolvers<void>();
    const transport = await connectStdio(
      process.execPath,
      ['-e', 'process.stdin.on("data", (d) => process.stdout.write(d))'],
      { env: {} },
      {
        frame(frame) {
          answers.push(Buffer.from(frame.bytes).toString());
          came.resolve();
        },
        refused: came.reject,
        ended: came.reject,
      },
    );
    const frame = requestFrame(1, 'x');
    await transport.send({ ...frame, bytes: Buffer.from('{"jsonrpc":"2.0",\n"id":1,\r\n"method":"a\\nb"}') });
    await came.promise;
    await transport.close();
    expect(answers).toEqual(['{"jsonrpc":"2.0", "id":1,  "method":"a\\nb"}']);
  });

  it.each([
    [
      'throws',
      () => {
        throw new RangeError('ours');
      },
    ],
    ['rejects', () => Promise.reject(new RangeError('ours'))],
  ])('does not take for the end of the server that its owner %s', async (_, frame) => {
    const pids = join(temporaryFolder(), 'pids');
    const { command, args } = script('hostile.mjs', pids, 'ordinary');
    const told = Promise.withResolvers<unknown>();
    const transport = await connectStdio(
      command,
      args,
      { env: {}, graceMs: 50, termMs: 50 },
      { frame, refused() {}, ended: told.resolve },
    );
    await transport.send(requestFrame(1, 'ping'));
    expect(await told.promise).toMatchObject({
      code: 'MCP_RECEIVER_FAILED',
      message: 'A message of the server could not be handled ("ours").',
    });
    await transport.close();
    await expectGone(pids);
  });
});
