import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inflateRawSync, crc32 as nodeCrc32 } from 'node:zlib';
import { afterAll, expect, test } from 'vitest';
import { options, utf8, whole } from '../../../test/surface.ts';
import { localSigner, sha256Hex } from '../../crypto/index.ts';
import { readBundle, signLock, writeBundle, writeLock } from '../index.ts';
import { crc32 } from './unzip.ts';

const lock = utf8(writeLock(whole, options).text);
const signature = utf8(await signLock(lock, localSigner('Ed25519', new Uint8Array(32).fill(7))));
const make = () => writeBundle({ lock, signature }, { toolVersion: 'bulla 0.1.0' });

const zone = process.env.TZ;
afterAll(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

test('a bundle has the same bytes in every time zone', () => {
  const zones = Intl.supportedValuesOf('timeZone');
  const picked = [
    ...zones.filter((_, i) => i % 20 === 0),
    'Pacific/Kiritimati',
    'Pacific/Niue',
    'Asia/Kathmandu',
  ];
  const hashes = new Set<string>();
  const offsets = new Set<number>();
  for (const name of picked) {
    process.env.TZ = name;
    offsets.add(new Date(1980, 0, 1).getTimezoneOffset());
    hashes.add(sha256Hex(make()));
  }
  expect(hashes.size).toBe(1);
  expect(offsets.size).toBeGreaterThan(10);
});

test('in no time zone does 1980 begin at another hour', () => {
  for (const name of Intl.supportedValuesOf('timeZone')) {
    process.env.TZ = name;
    const first = new Date(1980, 0, 1);
    expect([
      name,
      first.getFullYear(),
      first.getMonth(),
      first.getDate(),
      first.getHours(),
      first.getMinutes(),
    ]).toEqual([name, ...[1980, 0, 1, 0, 0]]);
  }
});

test("Node's own zlib unpacks every entry to the same bytes and the same sum", () => {
  const bytes = make();
  const view = new DataView(bytes.buffer);
  let at = 0;
  for (const content of readBundle(bytes).files.values()) {
    const start = at + 30 + view.getUint16(at + 26, true) + view.getUint16(at + 28, true);
    const end = start + view.getUint32(at + 18, true);
    expect(new Uint8Array(inflateRawSync(bytes.subarray(start, end)))).toEqual(content);
    expect([view.getUint32(at + 14, true), crc32(content)]).toEqual([nodeCrc32(content), nodeCrc32(content)]);
    at = end;
  }
});

const hasPython = (() => {
  try {
    execFileSync('python3', ['--version']);
    return true;
  } catch {
    return false;
  }
})();

test.skipIf(!hasPython)("Python's zipfile finds nothing wrong with a bundle", () => {
  const folder = mkdtempSync(join(tmpdir(), 'bulla-'));
  try {
    writeFileSync(join(folder, 'b.zip'), make());
    const script =
      'import sys,zipfile\nz=zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\nprint([(i.filename,i.date_time,oct(i.external_attr>>16)) for i in z.infolist()])';
    const out = execFileSync('python3', ['-c', script, join(folder, 'b.zip')], { encoding: 'utf8' });
    const entry = (name: string) => `('${name}', (1980, 1, 1, 0, 0, 0), '0o100644')`;
    expect(out.trim()).toBe(
      `[${['README.txt', 'manifest.json', 'mcp-lock.json', 'mcp-lock.json.sig'].map(entry).join(', ')}]`,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
