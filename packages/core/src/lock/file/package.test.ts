import { describe, expect, test } from 'vitest';
import { options, refusal, surface, utf8 } from '../../../test/surface.ts';
import { digest } from '../../canon/index.ts';
import { JsonObject, parse, stringify } from '../../json/index.ts';
import {
  type Artifact,
  drift,
  isInstallPath,
  isPackageName,
  isTarballPath,
  readLock,
  type TreePackage,
  treeOf,
  writeLock,
} from '../index.ts';

const sri = (letter: string) => `sha512-${letter.repeat(85)}A==`;
const entry = (name: string, version: string, more: Partial<TreePackage> = {}): TreePackage => ({
  ...{ name, version, integrity: sri('a'), tarball: `${name}/-/x-${version}.tgz`, optional: false },
  ...{ os: null, cpu: null, libc: null, hasInstallScript: false, ...more },
});
const packages: readonly (readonly [string, TreePackage])[] = [
  ['node_modules/shop', entry('shop', '1.2.3')],
  [
    'node_modules/shop/node_modules/@s/native',
    entry('@s/native', '2.0.0-rc.1', { optional: true, os: ['linux'], cpu: ['!arm'], libc: ['glibc'] }),
  ],
  ['node_modules/alias', entry('left', '0.0.1', { hasInstallScript: true })],
];
const pinned = (entries = packages): Artifact => ({
  ...{ type: 'npm', name: 'shop', version: '1.2.3', registry: 'https://registry.example' },
  ...{ integrity: sri('a'), tarball_url: 'shop/-/x-1.2.3.tgz', tarball_sha256: null, tarball_size: null },
  ...{ image: null, digest: null, provenance: null, tree: treeOf(entries) },
});
const written = (artifact: Artifact, format: 'native' | 'v2' | 'v3' = 'native') =>
  writeLock(surface(), { ...options, artifact, format }).text;

describe('the tree of a pinned package', () => {
  test('is sorted, and named by the digest of its canonical form', () => {
    const tree = treeOf(packages);
    expect([...tree.packages.keys()]).toEqual([
      'node_modules/alias',
      'node_modules/shop',
      'node_modules/shop/node_modules/@s/native',
    ]);
    const canonical = `{"node_modules/alias":{"hasInstallScript":true,"integrity":"${sri('a')}","name":"left","tarball":"left/-/x-0.0.1.tgz","version":"0.0.1"},"node_modules/shop":{"integrity":"${sri('a')}","name":"shop","tarball":"shop/-/x-1.2.3.tgz","version":"1.2.3"},"node_modules/shop/node_modules/@s/native":{"cpu":["!arm"],"integrity":"${sri('a')}","libc":["glibc"],"name":"@s/native","optional":true,"os":["linux"],"tarball":"@s/native/-/x-2.0.0-rc.1.tgz","version":"2.0.0-rc.1"}}`;
    expect(tree.digest).toBe(`sha256:${digest(parse(canonical), 'jcs')}`);
    expect(treeOf([...packages].reverse())).toEqual(tree);
  });

  test.each(['native', 'v2', 'v3'] as const)('is written into a %s lock and read from it again', (format) => {
    const text = written(pinned(), format);
    expect(readLock(utf8(text)).artifact).toEqual(pinned());
    const document = parse(text) as JsonObject;
    const holder = format === 'v2' ? document : (document.get('server') as JsonObject);
    expect(holder.get('artifact')).toBeInstanceOf(JsonObject);
  });

  test('is refused when it is not what its digest says, with the place', () => {
    const text = written(pinned());
    const cases: [string, string, string][] = [
      ['"version": "0.0.1"', '"version": "0.0.2"', 'LOCK_INCONSISTENT /server/artifact/tree/packages'],
      ['"hasInstallScript": true', '"hasInstallScript": false', 'LOCK_FIELD'],
      ['"digest": "sha256:', '"digest": "sha256:0', 'LOCK_INCONSISTENT /server/artifact/tree/packages'],
      ['"optional": true', '"optional": true, "peer": true', 'LOCK_FIELD'],
      ['"optional": true', '"Optional": true', 'LOCK_CASE_TWIN'],
      ['"version": "1.2.3"', '"version": "1.2.4"', 'LOCK_INCONSISTENT /server/artifact/tree'],
      ['"type": "npm"', '"type": "oci"', 'LOCK_INCONSISTENT /server/artifact/tree'],
    ];
    for (const [from, to, code] of cases) {
      expect(text).toContain(from);
      expect(
        refusal(() => readLock(utf8(text.replace(from, to)))),
        from,
      ).toContain(code);
    }
  });

  test('an entry that was taken out, or a package in one that is not there, is refused', () => {
    const document = parse(written(pinned())) as JsonObject;
    const cut = stringify(document).replace(/"node_modules\/alias":\{[^}]*\},/, '');
    expect(refusal(() => readLock(utf8(cut)))).toBe('LOCK_INCONSISTENT /server/artifact/tree/packages');
    expect(refusal(() => treeOf(packages.slice(1)))).toBe(
      'LOCK_INCONSISTENT /artifact/tree/packages/node_modules~1shop~1node_modules~1@s~1native',
    );
    expect(refusal(() => written(pinned(packages.slice(2))))).toContain('LOCK_INCONSISTENT');
  });

  test('takes no folder, name, version, hash or path that means something else', () => {
    const one = (path: string, more: Partial<TreePackage> = {}) =>
      refusal(() => treeOf([[path, entry('x', '1.0.0', more)]])).split(' ')[0];
    for (const path of [
      '',
      'x',
      'node_modules/../x',
      'node_modules/.bin',
      'node_modules/a/b',
      '/node_modules/a',
    ])
      expect(one(path), path).toBe('LOCK_FIELD');
    for (const path of [
      'node_modules/node_modules',
      'node_modules/a/',
      'node_modules/a\\b',
      'node_modules/@a',
    ])
      expect(isInstallPath(path), path).toBe(false);
    for (const name of ['..', '.a', '_a', 'a b', '@a', 'a/b', '@a/..', 'é', 'a'.repeat(215), 'node_modules'])
      expect(isPackageName(name), name).toBe(false);
    for (const version of ['1', '^1.0.0', 'latest', '1.0.0 ', 'v1.0.0'])
      expect(one('node_modules/x', { version }), version).toBe('LOCK_FIELD');
    for (const integrity of ['sha1-x', sri('a').replace('A==', 'B=='), `${sri('a')} ${sri('b')}`])
      expect(one('node_modules/x', { integrity }), integrity).toBe('LOCK_FIELD');
    for (const tarball of [
      '',
      '/x',
      '//x/y',
      'https://x/y',
      '../x',
      'a/%2e%2e/x',
      'a?b',
      'a#b',
      './a',
      'a\\b',
    ])
      expect(isTarballPath(tarball), tarball).toBe(false);
    expect(isTarballPath('@s/n/-/n-1.0.0+x.tgz')).toBe(true);
    expect(
      refusal(() =>
        treeOf([
          ['node_modules/X', entry('x', '1.0.0')],
          ['node_modules/x', entry('x', '1.0.0')],
        ]),
      ),
    ).toBe('LOCK_FIELD /artifact/tree/packages/node_modules~1x');
  });

  test('a change in it is told package by package', () => {
    const lock = readLock(utf8(written(pinned())));
    const after = pinned([
      packages[0]!,
      ['node_modules/alias', entry('left', '0.0.1', { integrity: sri('b') })],
      ['node_modules/new', entry('new', '1.0.0')],
    ]);
    const { items } = drift(lock, surface(), { artifact: after });
    expect(items.map(({ code, severity, details }) => [code, severity, details])).toEqual([
      [
        'artifact-changed',
        'critical',
        [
          'node_modules/alias has other bytes under the same version 0.0.1',
          'node_modules/new came: new 1.0.0',
          'node_modules/shop/node_modules/@s/native went: @s/native 2.0.0-rc.1',
        ],
      ],
    ]);
    expect(drift(lock, surface(), { artifact: pinned() }).items).toEqual([]);
    expect(drift(lock, surface()).items).toEqual([]);
  });
});
