import { spawnSync } from 'node:child_process';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { refusal } from '../../test/mcp.ts';
import { temporaryFolder } from '../../test/run.ts';
import { runServer } from '../../test/witness-server.ts';
import { openPublished } from './index.ts';

test.skipIf(process.platform === 'win32')(
  'a folder that others filled cannot make us wait or read on',
  async () => {
    const folder = temporaryFolder();
    const log = openPublished(folder);
    const file = join(folder, 'checkpoint');
    writeFileSync(file, 'note');
    expect(await log.checkpoint()).toBe('note');
    truncateSync(file, (1 << 20) + 1);
    expect(await refusal(log.checkpoint())).toEqual({
      code: 'TILES_UNREADABLE',
      message: `checkpoint cannot be read from ${folder} (more than 1048576 bytes).`,
    });
    const pipe = temporaryFolder();
    expect(spawnSync('mkfifo', [join(pipe, 'checkpoint')]).status).toBe(0);
    expect(await refusal(openPublished(pipe).checkpoint())).toEqual({
      code: 'TILES_UNREADABLE',
      message: `checkpoint cannot be read from ${pipe} (ENOTFILE).`,
    });
  },
);

test('a checkpoint that is not UTF-8 cannot be read', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'checkpoint'), Uint8Array.of(0x61, 0xff, 0x0a));
  expect(await refusal(openPublished(folder).checkpoint())).toEqual({
    code: 'TILES_UNREADABLE',
    cause: 'CRYPTO_ENCODING',
    message: `checkpoint cannot be read from ${folder} (CRYPTO_ENCODING).`,
  });
});

test('a log at an address may redirect on its own place, and not to the neighbours', async () => {
  const asked: string[] = [];
  const neighbour = await runServer((request, response) => {
    asked.push(request.url!);
    response.end('secret');
  });
  const place = await runServer((request, response) => {
    if (request.url === '/a/checkpoint') response.writeHead(302, { location: '/b/checkpoint' }).end();
    else if (request.url === '/b/checkpoint') response.end('note');
    else if (request.url === '/c/checkpoint')
      response.writeHead(302, { location: `${neighbour}/checkpoint` }).end();
    else if (request.url === '/d/checkpoint') response.end(Buffer.alloc((1 << 20) + 1));
    else response.writeHead(404).end();
  });
  expect(await openPublished(`${place}/a`).checkpoint()).toBe('note');
  for (const [path, why] of [
    ['c', 'DOWNLOAD_ADDRESS'],
    ['d', 'DOWNLOAD_TOO_LARGE'],
  ])
    expect(await refusal(openPublished(`${place}/${path}`).checkpoint())).toEqual({
      code: 'TILES_UNREADABLE',
      cause: why,
      message: `checkpoint cannot be read from ${place}/${path} (${why}).`,
    });
  expect(await refusal(openPublished(`${place}/e`).checkpoint())).toMatchObject({ code: 'TILES_UNREADABLE' });
  expect(asked).toEqual([]);
});
