import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { readFound, readIfThere } from './index.ts';

const codeOf = (path: string): unknown => {
  try {
    return readFound(path, 1 << 20);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
};

test('a found file is read to its end or its limit, also through a link', () => {
  const folder = temporaryFolder();
  const file = join(folder, 'a');
  writeFileSync(file, 'four');
  symlinkSync('a', join(folder, 'link'));
  expect(Buffer.from(readFound(join(folder, 'link'), 4)!).toString()).toBe('four');
  expect(readFound(file, 3)).toBe(null);
  truncateSync(file, 1 << 30);
  expect(readFound(file, 1 << 20)).toBe(null);
});

test('a small file is read where there is one, and not beyond 64 KiB', () => {
  const file = join(temporaryFolder(), 'key');
  expect(readIfThere(file)).toBe(null);
  writeFileSync(file, new Uint8Array(1 << 16));
  expect(readIfThere(file)).toEqual(new Uint8Array(1 << 16));
  truncateSync(file, (1 << 16) + 1);
  expect(() => readIfThere(file)).toThrow(expect.objectContaining({ code: 'EFBIG' }));
});

test.skipIf(process.platform === 'win32')('whatever else lies there is refused at once', async () => {
  const folder = temporaryFolder();
  expect(codeOf(join(folder, 'none'))).toBe('ENOENT');
  mkdirSync(join(folder, 'folder'));
  expect(codeOf(join(folder, 'folder'))).toBe('ENOTFILE');
  expect(spawnSync('mkfifo', [join(folder, 'pipe')]).status).toBe(0);
  expect(codeOf(join(folder, 'pipe'))).toBe('ENOTFILE');
  symlinkSync('pipe', join(folder, 'to-pipe'));
  expect(codeOf(join(folder, 'to-pipe'))).toBe('ENOTFILE');
  for (const device of ['/dev/zero', '/dev/null', '/dev/random']) {
    if (existsSync(device)) expect(codeOf(device)).toBe('ENOTFILE');
  }
  const socket = join(folder, 'socket');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  expect(codeOf(socket)).toBe('ENXIO');
});
