import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { BullaError } from '@bulla/core/error';
import { expect, test } from 'vitest';
import { type TarEntry, tarball } from '../../test/registry.ts';
import { temporaryFolder } from '../../test/run.ts';
import { type UntarLimits, untar } from './untar.ts';

function refused(bytes: Uint8Array, limits?: UntarLimits): string {
  const above = temporaryFolder();
  try {
    untar(bytes, join(above, 'in'), limits);
  } catch (error) {
    // Whatever was refused, nothing lies beside the folder.
    expect(readdirSync(above).filter((name) => name !== 'in')).toEqual([]);
    return (error as BullaError).code;
  }
  return 'ok';
}

const entry = (path: string, more: Partial<TarEntry> = {}): TarEntry => ({ path, text: 'x', ...more });

test('files and folders come without the first part of their paths, readable, and programs as programs', () => {
  const folder = join(temporaryFolder(), 'a/b');
  const long = `package/${'long/'.repeat(30)}file.js`;
  const written = untar(
    tarball([
      { path: 'package/', type: 'Directory' },
      { path: 'package/package.json', text: '{}' },
      { path: 'package/bin/run.js', text: '#!/usr/bin/env node', mode: 0o4755 },
      { path: 'package/data', text: 'abc', mode: 0o600 },
      { path: 'package/empty', text: '' },
      { path: 'package/lib/', type: 'Directory', mode: 0o777 },
      ...[
        { path: 'PaxHeader', type: 'ExtendedHeader', text: pax('path', long) },
        { path: 'short', text: 'long' },
      ],
    ]),
    folder,
  );
  expect(written).toBe(2 + 19 + 3 + 4);
  const files = readdirSync(folder, { recursive: true }).sort();
  expect(files.filter((name) => !String(name).startsWith('long'))).toEqual([
    'bin',
    'bin/run.js',
    'data',
    'empty',
    'lib',
    'package.json',
  ]);
  expect(readFileSync(join(folder, long.slice('package/'.length)), 'utf8')).toBe('long');
  const mode = (name: string) => (statSync(join(folder, name)).mode & 0o7777).toString(8);
  expect([mode('bin/run.js'), mode('data'), mode('lib')]).toEqual(['755', '644', '755']);
});

function pax(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  const length = rest.length + String(rest.length + 3).length;
  return `${length}${rest}`;
}

test.each<[string, TarEntry[]]>([
  ['a path that climbs', [entry('package/../../evil')]],
  ['a path that climbs by its first part', [entry('../evil')]],
  ['an absolute path', [entry('/etc/evil')]],
  ['a path with a backslash', [entry('package/..\\..\\evil')]],
  ['a path with a drive', [entry('C:/evil')]],
  ['a path with a dot', [entry('package/./a')]],
  ['a path with an empty part', [entry('package//a')]],
  [
    'a long path that climbs',
    [entry('PaxHeader', { type: 'ExtendedHeader', text: pax('path', 'p/../../evil') }), entry('a')],
  ],
  ['a symbolic link', [entry('package/a', { type: 'SymbolicLink', linkpath: '/etc', text: '' })]],
  [
    'a link inside',
    [entry('package/b'), entry('package/a', { type: 'Link', linkpath: 'package/b', text: '' })],
  ],
  ['a device', [entry('package/a', { type: 'CharacterDevice', text: '' })]],
  ['a pipe', [entry('package/a', { type: 'FIFO', text: '' })]],
  ['a file in the place of the package', [entry('package')]],
])('%s is refused', (_, entries) => {
  expect(refused(tarball(entries))).toBe('PIN_TARBALL_ENTRY');
});

test('what would overwrite something is refused, also where a disk does not tell letters apart', () => {
  for (const [one, other] of [
    ['a', 'a'],
    ['README.md', 'readme.md'],
    ['caf\u00e9', 'cafe\u0301'],
    ['Lib/a', 'lib/b'],
    ['a', 'a/b'],
    ['a/b', 'a'],
  ])
    expect(refused(tarball([entry(`package/${one}`), entry(`package/${other}`)])), one).toBe(
      'PIN_TARBALL_COLLISION',
    );
});

test('what is no sound tarball is refused', () => {
  const whole = tarball([entry('package/a', { text: 'x'.repeat(2000) })]);
  const plain = (bytes: string) => gzipSync(Buffer.from(bytes));
  expect(refused(Buffer.from('nothing'))).toBe('PIN_TARBALL_FORM');
  expect(refused(whole.subarray(0, whole.length - 12))).toBe('PIN_TARBALL_FORM');
  expect(refused(plain('no tar'.repeat(200)))).toBe('PIN_TARBALL_FORM');
  expect(refused(gzipSync(whole))).toBe('PIN_TARBALL_FORM');
  expect(refused(plain(''))).toBe('PIN_TARBALL_FORM');
  const broken = tarball([entry('package/a', { text: 'x'.repeat(2000) })], new Uint8Array(0));
  expect(refused(broken)).toBe('ok');
});

test('more bytes or entries than are allowed are refused before they are written', () => {
  const bomb = tarball([entry('package/a', { text: '0'.repeat(1 << 20) })]);
  expect(bomb.length).toBeLessThan(4096);
  expect(refused(bomb, { maxBytes: 1 << 20 })).toBe('PIN_TARBALL_LIMIT');
  expect(refused(bomb, { maxBytes: 1 << 21 })).toBe('ok');
  const many = tarball(['a', 'b', 'c'].map((name) => entry(`package/${name}`)));
  expect([refused(many, { maxEntries: 2 }), refused(many, { maxEntries: 3 })]).toEqual([
    'PIN_TARBALL_LIMIT',
    'ok',
  ]);
});
