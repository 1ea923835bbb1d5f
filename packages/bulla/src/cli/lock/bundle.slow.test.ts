import { chmodSync, copyFileSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bullaIn, lockedFolder, sha256Of, signFolder } from '../../../test/lockfiles.ts';

describe('bundle export', () => {
  test('gives the same bytes in every time zone, under every umask and file mode, and again', async () => {
    const folder = lockedFolder();
    await signFolder(folder);
    writeFileSync(join(folder, 'policy.yaml'), 'name: none\n');
    const runs = ['UTC', 'Asia/Tokyo', 'America/St_Johns'].flatMap((TZ) =>
      ['022', '077'].flatMap((umask) => [0o644, 0o600].map((mode) => ({ TZ, umask, mode }))),
    );
    const args = ['bundle', 'export', '--public-key', 'public.key', '--policy', 'policy.yaml', '--quiet'];
    const hashes = await Promise.all(
      [...runs, runs[0]!].map(async ({ TZ, umask, mode }, i) => {
        const place = join(folder, `run${i}`);
        mkdirSync(place);
        for (const name of ['mcp-lock.json', 'mcp-lock.json.sig', 'public.key', 'policy.yaml']) {
          copyFileSync(join(folder, name), join(place, name));
          chmodSync(join(place, name), mode);
        }
        const { status, stderr } = await bullaIn(place, args, { TZ }, `umask ${umask}`);
        expect([status, stderr]).toEqual([0, '']);
        expect(statSync(join(place, 'approval.zip')).mode & 0o777).toBe(umask === '022' ? 0o644 : 0o600);
        return sha256Of(join(place, 'approval.zip'));
      }),
    );
    expect(hashes).toHaveLength(13);
    expect(new Set(hashes).size).toBe(1);
  });
});
