import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readLock } from '@bulla/core/lock';
import { describe, expect, test } from 'vitest';
import { bullaIn, surfaceServer } from '../../../test/lockfiles.ts';
import { packaged } from '../../../test/mcp.ts';
import { temporaryFolder } from '../../../test/run.ts';

const lockIn = (folder: string) => readLock(new Uint8Array(readFileSync(join(folder, 'mcp-lock.json'))));

describe('lock and check', () => {
  test.each([
    ['server-everything', [], [19, 4, 7, 2]],
    ['server-filesystem', ['/tmp'], [14, 0, 0, 0]],
    ['server-memory', [], [9, 0, 1, 0]],
  ])('of %s from npm', async (name, more, counts) => {
    const folder = temporaryFolder();
    const { command, args } = packaged(name, ...more);
    const { status } = await bullaIn(folder, ['lock', '--quiet', '--', command, ...args]);
    expect(status).toBe(0);
    const native = lockIn(folder).native!;
    expect(
      [native.tools, native.prompts, native.resources, native.resourceTemplates].map((map) => map.size),
    ).toEqual(counts);
    expect((await bullaIn(folder, ['check', '--fail-on', 'info', '--quiet'])).status).toBe(0);
  });

  test('a definition that would make the lock too large to be read is refused: exit 1', async () => {
    const folder = temporaryFolder();
    const deep = `${'['.repeat(900)}${'1,'.repeat(50_000)}1${']'.repeat(900)}`;
    const tools = `[{"name":"a","inputSchema":{"type":"object","default":${deep}}}]`;
    const { status, stderr } = await bullaIn(folder, ['lock', '--', ...surfaceServer({ tools }).words]);
    expect([status, stderr]).toEqual([1, expect.stringContaining('[LOCK_TOO_LARGE]')]);
    expect(existsSync(join(folder, 'mcp-lock.json'))).toBe(false);
  });
});
