import { gzipSync } from 'node:zlib';
import type { BullaError } from '@bulla/core/error';
import { expect, test } from 'vitest';
import { type TarEntry, tarball } from '../../test/registry.ts';
import { contentsOf, type UntarLimits } from './untar.ts';

const refused = (bytes: Uint8Array, limits?: UntarLimits): Promise<string> =>
  contentsOf(bytes, limits).then(
    () => 'ok',
    (error: BullaError) => error.code,
  );

const entry = (path: string, more: Partial<TarEntry> = {}): TarEntry => ({ path, text: 'x', ...more });

test('files and folders come without the first part of their paths, and programs as programs', async () => {
  const long = `package/${'long/'.repeat(30)}file.js`;
  const { files, folders, size } = await contentsOf(
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
  );
  expect(size).toBe(2 + 19 + 3 + 4);
  expect([...files].map(([path, { bytes, isProgram }]) => [path, `${bytes}`, isProgram])).toEqual([
    ['package.json', '{}', false],
    ['bin/run.js', '#!/usr/bin/env node', true],
    ['data', 'abc', false],
    ['empty', '', false],
    [long.slice('package/'.length), 'long', false],
  ]);
  expect([folders.size, [...folders].slice(0, 4)]).toEqual([32, ['bin', 'lib', 'long', 'long/long']]);
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
])('%s is refused', async (_, entries) => {
  expect(await refused(tarball(entries))).toBe('PIN_TARBALL');
});

test('what would overwrite something is refused, also where a disk does not tell letters apart', async () => {
  for (const [one, other] of [
    ['a', 'a'],
    ['README.md', 'readme.md'],
    ['caf\u00e9', 'cafe\u0301'],
    ['Lib/a', 'lib/b'],
    ['a', 'a/b'],
    ['a/b', 'a'],
  ])
    expect(await refused(tarball([entry(`package/${one}`), entry(`package/${other}`)])), one).toBe(
      'PIN_TARBALL',
    );
});

test('what is no sound tarball is refused', async () => {
  const whole = tarball([entry('package/a', { text: 'x'.repeat(2000) })]);
  const plain = (bytes: string) => gzipSync(Buffer.from(bytes));
  expect(await refused(Buffer.from('nothing'))).toBe('PIN_TARBALL');
  expect(await refused(whole.subarray(0, whole.length - 12))).toBe('PIN_TARBALL');
  expect(await refused(plain('no tar'.repeat(200)))).toBe('PIN_TARBALL');
  expect(await refused(gzipSync(whole))).toBe('PIN_TARBALL');
  expect(await refused(plain(''))).toBe('PIN_TARBALL');
  const broken = tarball([entry('package/a', { text: 'x'.repeat(2000) })], new Uint8Array(0));
  expect(await refused(broken)).toBe('ok');
});

test('more bytes or entries than are allowed are refused before they are written', async () => {
  const bomb = tarball([entry('package/a', { text: '0'.repeat(1 << 20) })]);
  expect(bomb.length).toBeLessThan(4096);
  expect(await refused(bomb, { maxBytes: 1 << 20 })).toBe('PIN_TARBALL');
  expect(await refused(bomb, { maxBytes: 1 << 21 })).toBe('ok');
  const many = tarball(['a', 'b', 'c'].map((name) => entry(`package/${name}`)));
  expect([await refused(many, { maxEntries: 2 }), await refused(many, { maxEntries: 3 })]).toEqual([
    'PIN_TARBALL',
    'ok',
  ]);
});

test('long paths are refused, and folders that only paths name are counted', async () => {
  const named = (path: string, text = '') => [
    entry('PaxHeader', { type: 'ExtendedHeader', text: pax('path', path) }),
    entry('short', { text }),
  ];
  expect(await refused(tarball(named(`package/${'a/'.repeat(507)}b`)))).toBe('ok');
  expect(await refused(tarball(named(`package/${'a/'.repeat(509)}b`)))).toBe('PIN_TARBALL');
  const deep = tarball([...named('package/a/b/c/d'), ...named('package/a/b/c/e')]);
  expect([await refused(deep, { maxEntries: 5 }), await refused(deep, { maxEntries: 4 })]).toEqual([
    'ok',
    'PIN_TARBALL',
  ]);
});
