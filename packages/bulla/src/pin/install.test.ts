import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { refusal } from '../../test/mcp.ts';
import {
  artifactOf,
  pack,
  sri,
  type TestPackage,
  tarball,
  tarballPath,
  testRegistry,
} from '../../test/registry.ts';
import { temporaryFolder } from '../../test/run.ts';
import { hexOf, openCache } from './cache.ts';
import { type InstallOptions, install, type NpmArtifact, npmArtifact } from './install.ts';
import { openFolder, othersCanWrite } from './permissions.ts';
import { NO_ARTIFACT } from './resolve.ts';
import { verifyTree } from './verify.ts';

const shop: TestPackage = {
  ...{ name: '@s/shop', version: '1.0.0', files: { 'index.js': 'shop' } },
  manifest: { bin: 'index.js', dependencies: { left: '^1' }, optionalDependencies: { native: '*' } },
};
const left: TestPackage = { name: 'left', version: '1.1.0', files: { 'index.js': 'left' } };
const older: TestPackage = { name: 'left', version: '1.0.0', files: { 'index.js': 'older' } };
const native: TestPackage = {
  name: 'native',
  version: '2.0.0',
  manifest: { dependencies: { left: '1.0.0' } },
};
const PLATFORM = { os: 'linux', cpu: 'x64', libc: 'glibc' };

async function prepared(packages: readonly TestPackage[] = [shop, left, older, native]) {
  const registry = await testRegistry(packages);
  const folder = temporaryFolder();
  const cache = openCache(folder);
  const opened = registry.open();
  const trees = join(temporaryFolder(), 'trees');
  const options: InstallOptions = { cache, trees, registry: async () => opened, platform: PLATFORM };
  return { registry, opened, folder, trees, options };
}

const whole = () =>
  artifactOf(
    { '@s/shop': shop, left, native, 'native/node_modules/left': older },
    { native: { optional: true } },
  );

/** The trees that are kept there, and drafts; the fence is always there. */
const keptIn = (trees: string) =>
  existsSync(trees) ? readdirSync(trees).filter((name) => !name.startsWith('fence-')) : [];

test('the whole tree is fetched and unpacked once, where only we can read it', async () => {
  const { registry, trees, options } = await prepared();
  const installed = await install(whole(), options);
  const read = (path: string) => readFileSync(join(installed.folder, 'node_modules', path), 'utf8');
  expect([
    read('@s/shop/index.js'),
    read('left/index.js'),
    read('native/node_modules/left/index.js'),
  ]).toEqual(['shop', 'left', 'older']);
  expect([installed.packages, installed.fetched, installed.tarball.size]).toEqual([4, 4, pack(shop).length]);
  const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
  expect([mode(trees), mode(installed.folder), mode(join(installed.root, 'index.js'))]).toEqual([
    ...['700', '700', '400'],
  ]);
  installed.release();
  expect(keptIn(trees)).toEqual([basename(installed.folder)]);
  const asked = registry.asked.length;
  expect(asked).toBe(4);
  const never = async () => Promise.reject(new Error('asked for'));
  const { ino } = statSync(join(installed.root, 'index.js'));
  const again = await install(whole(), { ...options, registry: never, onNotice: fail });
  expect([again.fetched, registry.asked.length, again.folder]).toEqual([0, asked, installed.folder]);
  expect(statSync(join(again.root, 'index.js')).ino).toBe(ino);
  again.release();
  expect(keptIn(trees).length).toBe(1);
});

const fail = (text: string) => expect.fail(text);

test('a kept tree that was changed in any way is never used, and unpacked anew', async () => {
  const { trees, options } = await prepared();
  const first = await install(whole(), options);
  first.release();
  const at = (path: string) => join(first.folder, 'node_modules', path);
  const rewrite = (path: string, text: string) => {
    chmodSync(at(path), 0o600);
    writeFileSync(at(path), text);
    chmodSync(at(path), 0o400);
  };
  const outside = join(temporaryFolder(), 'same');
  writeFileSync(outside, 'left', { mode: 0o400 });
  const other = 'is not as it was packed';
  const attacks: [string, () => void][] = [
    [`node_modules/left/index.js ${other}`, () => rewrite('left/index.js', 'LEFT')],
    [`node_modules/left/index.js ${other}`, () => rewrite('left/index.js', 'left;evil()')],
    [`node_modules/left/index.js ${other}`, () => rewrite('left/index.js', 'lef')],
    [`node_modules/left/index.js ${other}`, () => rmSync(at('left/index.js'))],
    [`node_modules/left/index.js ${other}`, () => chmodSync(at('left/index.js'), 0o666)],
    [`node_modules/left/index.js ${other}`, () => chmodSync(at('left/index.js'), 0o4500)],
    [
      `node_modules/left/index.js ${other}`,
      () => {
        rmSync(at('left/index.js'));
        symlinkSync(outside, at('left/index.js'));
      },
    ],
    [
      `node_modules/left/index.js ${other}`,
      () => {
        rmSync(at('left/index.js'));
        expect(spawnSync('mkfifo', ['-m', '400', at('left/index.js')]).status).toBe(0);
      },
    ],
    ['node_modules/evil.js was not packed', () => writeFileSync(at('evil.js'), '')],
    ['node_modules/evil was not packed', () => mkdirSync(at('evil'))],
    ['node_modules/evil was not packed', () => symlinkSync(trees, at('evil'))],
    ['node_modules/left has another mode', () => chmodSync(at('left'), 0o777)],
    ['it has another mode', () => chmodSync(first.folder, 0o770)],
    [
      'it has another mode',
      () => {
        const aside = join(temporaryFolder(), 'tree');
        renameSync(first.folder, aside);
        symlinkSync(aside, first.folder);
      },
    ],
  ];
  for (const [expected, attack] of attacks) {
    attack();
    const notices: string[] = [];
    const again = await install(whole(), { ...options, onNotice: (text) => notices.push(text) });
    again.release();
    expect(notices).toEqual([
      `The kept packages of @s/shop were changed (${expected}): they are unpacked anew.`,
    ]);
    expect([again.folder, readFileSync(at('left/index.js'), 'utf8')]).toEqual([first.folder, 'left']);
    expect(keptIn(trees)).toEqual([basename(first.folder)]);
  }
  (await install(whole(), { ...options, onNotice: fail })).release();
});

test('several processes can unpack the same tree at once, and none uses half of one', async () => {
  const { trees, options } = await prepared();
  (await install(whole(), options)).release();
  rmSync(trees, { recursive: true });
  // What a process left that was killed while it unpacked.
  mkdirSync(join(trees, `draft-${'0'.repeat(24)}`, 'node_modules'), { recursive: true });
  const all = await Promise.all(Array.from({ length: 4 }, () => install(whole(), options)));
  for (const one of all) one.release();
  expect(new Set(all.map(({ folder }) => folder)).size).toBe(1);
  expect(keptIn(trees).sort()).toEqual([basename(all[0]!.folder), `draft-${'0'.repeat(24)}`]);
  (await install(whole(), { ...options, onNotice: fail })).release();
});

test('what nobody used for long is removed when something else is unpacked', async () => {
  const { trees, options } = await prepared();
  const one = await install(whole(), options);
  one.release();
  const other = artifactOf({ left });
  const old = (path: string, days: number) => {
    const then = new Date(Date.now() - days * 86_400_000);
    utimesSync(path, then, then);
  };
  const draft = join(trees, `draft-${'0'.repeat(24)}`);
  mkdirSync(join(draft, 'node_modules'), { recursive: true });
  old(one.folder, 29);
  old(draft, 0.9);
  const two = await install(other, options);
  two.release();
  expect(keptIn(trees).length).toBe(3);
  // To use it is to keep it.
  old(one.folder, 31);
  (await install(whole(), { ...options, onNotice: fail })).release();
  old(two.folder, 31);
  old(draft, 1.1);
  (await install(artifactOf({ left: older }), options)).release();
  expect(keptIn(trees)).toContain(basename(one.folder));
  expect(keptIn(trees)).not.toContain(basename(two.folder));
  expect(keptIn(trees).length).toBe(2);
});

test('a place is refused where somebody else can write a node_modules above', async () => {
  const { trees, options } = await prepared();
  const modules = join(dirname(trees), 'node_modules');
  mkdirSync(modules);
  (await install(whole(), options)).release();
  chmodSync(modules, 0o777);
  expect(await refusal(install(whole(), options))).toEqual({
    code: 'PIN_PLACE_SHARED',
    message: `Others can write ${realpathSync(modules)}, where Node would look for packages of the pinned program. Set BULLA_HOME to a folder of your own.`,
  });
  rmSync(modules, { recursive: true });
  symlinkSync('nowhere', modules);
  expect((await refusal(install(whole(), options))).code).toBe('PIN_PLACE_SHARED');
  rmSync(modules);
  // Who can write a folder can put another one in the place of those in it, unless it is sticky.
  chmodSync(dirname(trees), 0o777);
  expect(await refusal(install(whole(), options))).toEqual({
    code: 'PIN_PLACE_SHARED',
    message: `Others can replace what lies in ${realpathSync(dirname(trees))}, and so the packages of the pinned program. Set BULLA_HOME to a folder of your own.`,
  });
  chmodSync(dirname(trees), 0o1777);
  (await install(whole(), options)).release();
  chmodSync(trees, 0o1777);
  expect((await refusal(install(whole(), options))).code).toBe('PIN_PLACE_SHARED');
});

test('who owns a folder, and whom it lets write, decides whether it is open to others', () => {
  const [uid, gid] = [process.getuid!(), process.getgid!()];
  const open = (mode: number, more: Partial<Record<'uid' | 'gid', number>> = {}) =>
    othersCanWrite({ uid, gid, mode, ...more });
  expect([open(0o755), open(0o700, { uid: 0, gid: 0 }), open(0o777), open(0o1777)]).toEqual([
    ...[false, false, true, true],
  ]);
  expect([open(0o755, { uid: uid + 1 }), open(0o770, { gid: gid + 1 }), open(0o770, { gid: 0 })]).toEqual([
    ...[true, true, false],
  ]);
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'a/b'), { recursive: true });
  chmodSync(join(folder, 'a'), 0o1777);
  expect(openFolder(join(folder, 'a/b'))).toBe(join(folder, 'a'));
});

test('one flipped byte in a kept tarball is refused, and the file is left as it is', async () => {
  const { folder, trees, options, registry } = await prepared();
  (await install(whole(), options)).release();
  const tree = keptIn(trees);
  const asked = registry.asked.length;
  const file = join(folder, `${hexOf(sri(pack(left)))}.tgz`);
  const bytes = readFileSync(file);
  bytes[20]! ^= 1;
  writeFileSync(file, bytes);
  const { code, message } = await refusal(install(whole(), options));
  expect([code, message.startsWith('integrity mismatch (left 1.1.0 is pinned to sha512-')]).toEqual([
    'PIN_CACHE_TAMPERED',
    true,
  ]);
  expect([readFileSync(file).equals(bytes), registry.asked.length, keptIn(trees)]).toEqual([
    ...[true, asked, tree],
  ]);
});

test('a download that is not what is pinned is refused, and not kept', async () => {
  const { folder, options, registry } = await prepared();
  registry.instead.set(tarballPath(left), (_, response) => response.end(pack(older)));
  const { code, message } = await refusal(install(whole(), options));
  expect(code).toBe('PIN_INTEGRITY');
  expect(message).toBe(
    `integrity mismatch (left 1.1.0 is pinned to ${sri(pack(left))}, the download is ${sri(pack(older))}).`,
  );
  expect(
    readdirSync(folder).filter((name) => name.endsWith('.part') || name.startsWith(hexOf(sri(pack(left))))),
  ).toEqual([]);
});

test('a registry at a private address is asked only when that is allowed', async () => {
  const { options, registry } = await prepared();
  const closed = registry.open(false);
  expect(await refusal(install(whole(), { ...options, registry: async () => closed }))).toEqual({
    code: 'DOWNLOAD_PRIVATE',
    message:
      'localhost is not a public address; nothing is downloaded from there. It is the registry that npm is configured with: --allow-private-registry lets it be there.',
  });
  expect(registry.asked).toEqual([]);
});

test('a tarball that is missing or too large is refused', async () => {
  const { options, registry } = await prepared();
  registry.instead.set(tarballPath(left), (_, response) => response.writeHead(404).end());
  expect((await refusal(install(whole(), options))).code).toBe('DOWNLOAD_FAILED');
  const other = await prepared();
  expect((await refusal(install(whole(), { ...other.options, maxBytes: 100 }))).code).toBe(
    'DOWNLOAD_TOO_LARGE',
  );
  const size = pack(shop).length + pack(left).length + pack(native).length + pack(older).length;
  const third = await prepared();
  expect((await refusal(install(whole(), { ...third.options, maxBytes: size }))).code).toBe('PIN_TARBALL');
});

test('a package that needs what is not in the tree is refused', async () => {
  const { options } = await prepared();
  const { code, message } = await refusal(install(artifactOf({ '@s/shop': shop }), options));
  expect([code, message]).toEqual([
    'PIN_TREE',
    'node_modules/@s/shop needs left, which is not in the pinned tree.',
  ]);
});

test('what is optional and for other machines is left out; what is needed is not', async () => {
  const { options } = await prepared();
  const tree = { '@s/shop': shop, left, native, 'native/node_modules/left': older };
  const other = artifactOf(tree, { native: { optional: true, os: ['win32', 'darwin'] } });
  const installed = await install(other, options);
  expect([installed.packages, existsSync(join(installed.folder, 'node_modules/native'))]).toEqual([2, false]);
  installed.release();
  for (const [more, takes] of [
    [{ os: ['!linux'] }, false],
    [{ os: ['!win32'] }, true],
    [{ cpu: ['arm64'] }, false],
    [{ cpu: ['any'] }, true],
    [{ libc: ['musl'] }, false],
    [{ os: ['linux'], cpu: ['x64'], libc: ['glibc'] }, true],
  ] as const) {
    const needed = install(artifactOf(tree, { native: more }), options);
    if (takes) (await needed).release();
    else expect((await refusal(needed)).code).toBe('PIN_COMMAND');
  }
});

test('a package that calls itself otherwise, or nothing, is refused', async () => {
  const named = (packed: Buffer): TestPackage => ({ name: 'odd', version: '1.0.0', packed });
  const manifest = (text: string) => named(tarball([{ path: 'package/package.json', text }]));
  for (const [odd, expected] of [
    [manifest('{"name":"even","version":"1.0.0"}'), 'PIN_TARBALL'],
    [manifest('{"name":"odd","version":"1.0.1"}'), 'PIN_TARBALL'],
    [manifest('{"name":"odd"'), 'PIN_TARBALL'],
    [manifest('[]'), 'PIN_TARBALL'],
    [named(tarball([{ path: 'package/a', text: '' }])), 'PIN_TARBALL'],
    [named(tarball([{ path: 'package/../../a', text: '' }])), 'PIN_TARBALL'],
  ] as const) {
    const { options } = await prepared([odd]);
    expect((await refusal(install(artifactOf({ odd }), options))).code).toBe(expected);
  }
  const good = manifest('\ufeff{"name":"odd","version":"v1.0.0+build"}');
  const { options } = await prepared([good]);
  (await install(artifactOf({ odd: good }), options)).release();
});

test('what one package bundles is in its tarball, and no place for another', async () => {
  const bundling: TestPackage = {
    ...{ name: 'big', version: '1.0.0', manifest: { dependencies: { left: '*' } } },
    files: { 'node_modules/left/package.json': '{"name":"left","version":"9.0.0"}' },
  };
  const { options } = await prepared([bundling, left]);
  (await install(artifactOf({ big: bundling }), options)).release();
  const both = artifactOf({ big: bundling, 'big/node_modules/left': left });
  expect((await refusal(install(both, options))).code).toBe('PIN_TARBALL');
});

test('the sha256 of the released program counts where the lock has it', async () => {
  const { options } = await prepared();
  const wrong = { ...whole(), tarball_sha256: '0'.repeat(64) } as NpmArtifact;
  const { code, message } = await refusal(install(wrong, options));
  expect([code, message.startsWith('sha256 mismatch (')]).toEqual(['PIN_INTEGRITY', true]);
});

test('a cache that cannot be read is told', async () => {
  const { folder, options } = await prepared();
  const file = join(folder, `${hexOf(sri(pack(left)))}.tgz`);
  mkdirSync(file);
  expect((await refusal(install(whole(), options))).code).toBe('PIN_INSTALL_FAILED');
  rmSync(file, { recursive: true });
  expect(spawnSync('mkfifo', [file]).status).toBe(0);
  expect((await refusal(install(whole(), options))).code).toBe('PIN_INSTALL_FAILED');
});

test('a lock without such a pin cannot be run', async () => {
  const code = (artifact: Parameters<typeof npmArtifact>[0]) =>
    refusal((async () => npmArtifact(artifact))());
  expect((await code(null)).code).toBe('PIN_NONE');
  expect((await code({ ...NO_ARTIFACT, type: 'oci' })).code).toBe('PIN_COMMAND');
  expect((await code({ ...NO_ARTIFACT, type: 'npm', integrity: 'sha512-x' })).code).toBe('PIN_NONE');
});

test('the registry is asked about every package, and with deep for every tarball', async () => {
  const { registry, opened } = await prepared();
  expect(await verifyTree(whole(), opened, false)).toEqual({ packages: 4, hashed: 0, differences: [] });
  expect(registry.asked.filter((line) => line.includes('/-/'))).toEqual([]);
  expect(await verifyTree(whole(), opened, true)).toEqual({ packages: 4, hashed: 4, differences: [] });
  const other = { name: 'left', version: '1.1.0', dist: { integrity: sri(pack(older)) } };
  registry.instead.set('left/1.1.0', (_, response) => response.end(JSON.stringify(other)));
  registry.instead.set(tarballPath(native), (_, response) => response.end('other'));
  const { differences } = await verifyTree(whole(), opened, true);
  expect(differences.map(({ path, code }) => `${path} ${code}`)).toEqual([
    'node_modules/left PIN_REGISTRY_DIFFERS',
    'node_modules/native PIN_INTEGRITY',
  ]);
  // A registry without single versions is asked for all of them; one that has none left says nothing.
  registry.instead.set('left/1.1.0', (_, response) => response.writeHead(404).end());
  expect(await opened.integrityOf('left', '1.1.0')).toBe(sri(pack(left)));
  registry.instead.set('left', (_, response) => response.end('{"name":"left","versions":{}}'));
  expect(await opened.integrityOf('left', '1.1.0')).toBe(null);
  registry.instead.set('left/1.1.0', (_, response) => response.writeHead(500).end());
  expect((await refusal(verifyTree(whole(), opened, false))).code).toBe('PIN_REGISTRY_ANSWER');
  registry.instead.set('left/1.1.0', (_, response) => response.end('{"name":"right","version":"1.1.0"}'));
  expect((await refusal(opened.integrityOf('left', '1.1.0'))).code).toBe('PIN_REGISTRY_ANSWER');
});
