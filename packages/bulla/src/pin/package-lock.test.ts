import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { TEST_CERTIFICATE } from '../../test/tls.ts';
import { readPackageLock } from './package-lock.ts';
import { networkOf, readSettings, registryOf } from './registry.ts';

const settings = readSettings(
  JSON.stringify({
    registry: 'https://mirror.corp.example/npm',
    '@corp:registry': 'https://npm.corp.example/',
  }),
);
const integrity = `sha512-${'a'.repeat(85)}A==`;
const resolved = 'https://mirror.corp.example/npm/shop/-/shop-1.0.0.tgz';
const entry = { version: '1.0.0', resolved, integrity };
const lock = (packages: object, version: unknown = 3) =>
  Buffer.from(JSON.stringify({ lockfileVersion: version, packages: { '': {}, ...packages } }));
const read = (packages: object, version?: unknown) => readPackageLock(lock(packages, version), settings);
const code = (packages: object, version?: unknown) => {
  try {
    read(packages, version);
  } catch (error) {
    return (error as BullaError).code;
  }
  return 'ok';
};

test('the tree holds every package, with paths that any registry has', () => {
  const tree = read({
    'node_modules/shop': { ...entry, hasInstallScript: true, license: 'MIT', engines: { node: '*' } },
    'node_modules/alias': {
      ...entry,
      name: 'left',
      resolved: 'https://registry.example/left/-/left-1.0.0.tgz',
    },
    'node_modules/@corp/x': {
      ...entry,
      resolved: 'https://npm.corp.example/@corp/x/-/x-1.0.0.tgz',
      optional: true,
      os: ['linux'],
    },
    'node_modules/shop/node_modules/bundled': { version: '1.0.0', inBundle: true },
    'node_modules/shop/node_modules/bundled/node_modules/deep': { version: '1.0.0', inBundle: true },
  });
  const plain = {
    version: '1.0.0',
    integrity,
    optional: false,
    os: null,
    cpu: null,
    libc: null,
    hasInstallScript: false,
  };
  expect([...tree.packages]).toEqual([
    [
      'node_modules/@corp/x',
      { ...plain, name: '@corp/x', tarball: '@corp/x/-/x-1.0.0.tgz', optional: true, os: ['linux'] },
    ],
    ['node_modules/alias', { ...plain, name: 'left', tarball: 'left/-/left-1.0.0.tgz' }],
    [
      'node_modules/shop',
      { ...plain, name: 'shop', tarball: 'shop/-/shop-1.0.0.tgz', hasInstallScript: true },
    ],
  ]);
});

test('what cannot be checked is refused', () => {
  const one = (more: object) => code({ 'node_modules/shop': { ...entry, ...more } });
  for (const source of [
    'git+ssh://git@github.com/a/b.git#0123',
    'https://elsewhere.example/other/-/shop-1.0.0.tgz',
    'https://elsewhere.example/deep/shop/-/shop-1.0.0.tgz',
    'http://elsewhere.example/shop/-/shop-1.0.0.tgz',
    'https://user@elsewhere.example/shop/-/shop-1.0.0.tgz',
    'https://mirror.corp.example/npm/../shop.tgz',
    'file:../shop.tgz',
    `${resolved}?token=x`,
    '../shop',
    null,
  ])
    expect(one({ resolved: source }), String(source)).toBe('PIN_TREE');
  expect(one({ link: true })).toBe('PIN_TREE');
  for (const bad of [undefined, '', 'sha1-abc=', 'sha512-abc', `sha512-${'a'.repeat(86)}`])
    expect(one({ integrity: bad }), String(bad)).toBe('PIN_TREE');
  expect(one({ integrity: `sha1-abc= ${integrity}` })).toBe('ok');
  expect(code({ 'packages/a': entry })).toBe('PIN_TREE');
  expect(code({ 'node_modules/a': { version: '1.0.0', inBundle: true } })).toBe('PIN_TREE');
  expect(code({ 'node_modules/shop': entry }, 2)).toBe('PIN_TREE');
  expect(code({ 'node_modules/a/node_modules/shop': entry })).toBe('LOCK_INCONSISTENT');
});

test('the settings are those of npm', () => {
  expect(registryOf(settings, '@corp/x').href).toBe('https://npm.corp.example/');
  expect(registryOf(settings, 'corp').href).toBe('https://mirror.corp.example/npm/');
  const file = join(temporaryFolder(), 'ca.pem');
  writeFileSync(file, `# ours\n${TEST_CERTIFICATE}${TEST_CERTIFICATE}`);
  const base = {
    registry: 'https://registry.example/',
    cafile: file,
    'https-proxy': 'http://proxy.example:3128',
    noproxy: ['.corp.example', 'a.example'],
  };
  const found = readSettings(JSON.stringify(base));
  expect([found.ca, found.proxy?.href]).toEqual([
    [TEST_CERTIFICATE.trim(), TEST_CERTIFICATE.trim()],
    'http://proxy.example:3128/',
  ]);
  const { isDirect, privateOrigins } = networkOf(found, true);
  expect(
    ['x.corp.example', 'corp.example', 'a.example', 'b.a.example', 'xa.example'].map((host) =>
      isDirect!(host),
    ),
  ).toEqual([true, true, true, true, false]);
  expect([[...privateOrigins!], [...networkOf(found, false).privateOrigins!]]).toEqual([
    ['https://registry.example'],
    [],
  ]);
});

test('a setting that cannot be used is refused, and no secret of it is told', () => {
  const refused = (more: object) => {
    try {
      readSettings(JSON.stringify({ registry: 'https://registry.example/', ...more }));
    } catch (error) {
      const { code, message } = error as BullaError;
      expect(message).not.toContain('secret');
      return code;
    }
    return 'ok';
  };
  for (const more of [
    { registry: 'registry' },
    { registry: 'file:///x' },
    { registry: 'https://u:secret@x.example/' },
    { registry: 'https://x.example/?secret' },
    { '@a:registry': '' },
    { cafile: '/nowhere/ca.pem' },
    { proxy: 'socks://x' },
  ])
    expect(refused(more), JSON.stringify(more)).toBe('PIN_NPM_CONFIG');
  expect(refused({ proxy: null, ca: null })).toBe('ok');
  expect(() => readSettings('[]')).toThrow(BullaError);
});
