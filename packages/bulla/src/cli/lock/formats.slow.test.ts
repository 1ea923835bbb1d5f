import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readLock } from '@bulla/core/lock';
import { describe, expect, test } from 'vitest';
import { bullaIn, SHOP, surfaceServer } from '../../../test/lockfiles.ts';
import { repo, temporaryFolder } from '../../../test/run.ts';

const lockIn = (folder: string, name: string) => readLock(new Uint8Array(readFileSync(join(folder, name))));

describe('formats', () => {
  test('v1, v2 and v3 are what the released program writes; the next lock keeps the file', async () => {
    const folder = temporaryFolder();
    const { words } = surfaceServer(SHOP);
    await Promise.all(
      ['v1', 'v2', 'v3'].map((format) =>
        bullaIn(folder, ['lock', '--format', format, '-o', `${format}.json`, '--', ...words]),
      ),
    );
    const text = (name: string) => readFileSync(join(folder, `${name}.json`), 'utf8');
    expect(JSON.parse(text('v2'))).toMatchObject({ version: '2.0', server_command: words.join(' ') });
    expect(text('v1')).toBe(text('v2').replace('"2.0"', '"1.0"'));
    expect([text('v2').endsWith('}'), text('v3').endsWith('}\n')]).toEqual([true, true]);
    expect(Object.keys(JSON.parse(text('v3')))).toEqual([
      ...['lockFileVersion', 'meta', 'server', 'prompts', 'resources', 'tools'],
    ]);
    const kept = await bullaIn(folder, ['lock', '-o', 'v2.json', '--', ...words]);
    expect(kept.stdout).toMatch(/^unchanged {2}v2\.json.*\n {2}note It holds hashes only/);
    const checked = await bullaIn(folder, ['check', '--lock', 'v2.json']);
    expect([checked.status, checked.stdout]).toEqual([0, expect.stringContaining('Not compared')]);
    const nameless = await bullaIn(folder, ['check', '--lock', 'v3.json']);
    expect([nameless.status, nameless.stderr]).toEqual([2, expect.stringContaining('[LOCK_NO_SERVER]')]);
    const native = await bullaIn(folder, ['lock', '-o', 'v2.json', '--format', 'native']);
    expect([native.status, lockIn(folder, 'v2.json').native?.tools.size]).toEqual([0, 2]);
  });

  const vectors = process.env.BULLA_VECTORS && resolve(repo, process.env.BULLA_VECTORS, 'mcptrust');
  test.skipIf(!vectors)('v3 of the recorded lists is the golden file of the released program', async () => {
    const folder = temporaryFolder();
    const recorded = (file: string) => JSON.parse(readFileSync(join(vectors!, 'mcp', file), 'utf8')).result;
    const { words } = surfaceServer({
      serverInfo: { name: 'test-server' },
      ...recorded('prompts_list.json'),
      ...recorded('resources_templates_list.json'),
    });
    const flags = ['--format', 'v3', '--compat-go', '--quiet'];
    const { status } = await bullaIn(folder, ['lock', ...flags, '--', ...words], {
      SOURCE_DATE_EPOCH: String(Date.UTC(2024, 0, 1) / 1000),
    });
    expect(status).toBe(0);
    const golden = readFileSync(join(vectors!, 'golden/mcp-lock.v3.json'), 'utf8');
    expect(readFileSync(join(folder, 'mcp-lock.json'), 'utf8')).toBe(
      `${golden.replace('mcptrust test', 'bulla 0.1.0')}\n`,
    );
  });
});
