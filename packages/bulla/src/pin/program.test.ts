import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BullaError } from '@bulla/core/error';
import { beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { programOf } from './program.ts';

const SCRIPTS: Readonly<Record<string, string>> = {
  'node.js': '#!/usr/bin/env node\n',
  'crlf.js': '#!/usr/bin/env node\r\nx',
  'path.js': '#! /usr/local/bin/node --no-warnings\n',
  flags: '#!/usr/bin/env -S node --no-warnings --enable-source-maps\n',
  'bare.mjs': 'console.log(1)',
  'bare.cjs': '',
  shell: '#!/bin/sh\n',
  'bun.js': '#!/usr/bin/env bun\n',
  'nodeish.js': '#!/usr/bin/env nodemon\n',
  'typed.ts': 'const a: number = 1',
  binary: '\u007fELF',
};
let root = '';
beforeEach(() => {
  root = join(temporaryFolder(), 'pkg');
  mkdirSync(root);
  for (const [name, text] of Object.entries(SCRIPTS)) writeFileSync(join(root, name), text);
  symlinkSync('node.js', join(root, 'link.js'));
});

function found(bin: unknown, named: string | null = null, name = '@team/shop'): string {
  try {
    const program = programOf({ root, manifest: { name, version: '1.0.0', bin } }, named);
    return [program.name, program.script.slice(root.length + 1), ...program.flags].join(' ');
  } catch (error) {
    return (error as BullaError).code;
  }
}

test('the program is the only one, the one of the package, or the one that was named', () => {
  expect(found('node.js')).toBe('shop node.js');
  expect(found({ other: './node.js' })).toBe('other node.js');
  expect(found({ other: 'crlf.js', shop: '/node.js' })).toBe('shop node.js');
  expect(found({ other: 'crlf.js', more: 'node.js' })).toBe('PIN_COMMAND');
  expect(found({ other: 'crlf.js', more: 'node.js' }, 'other')).toBe('other crlf.js');
  expect(found({ other: 'node.js' }, 'shop')).toBe('PIN_COMMAND');
  for (const bin of [undefined, null, {}, [], 7, { shop: 7 }])
    expect(found(bin), JSON.stringify(bin)).toBe('PIN_COMMAND');
});

test('it is a script for Node, in the package', () => {
  expect(['path.js', 'flags', 'bare.mjs', 'bare.cjs'].map((file) => found(file))).toEqual([
    'shop path.js --no-warnings',
    'shop flags --no-warnings --enable-source-maps',
    'shop bare.mjs',
    'shop bare.cjs',
  ]);
  for (const file of ['shell', 'bun.js', 'nodeish.js', 'typed.ts', 'binary'])
    expect(found(file), file).toBe('PIN_COMMAND');
  for (const file of ['../node.js', 'a/../../node.js', '..\\node.js', 'nothing.js', 'link.js', '.'])
    expect(found(file), file).toBe('PIN_COMMAND');
});

test('its first line passes flags to Node that load and read nothing, and no others', () => {
  const first = (flags: string) => {
    writeFileSync(join(root, 'first'), `#!/usr/bin/env -S node ${flags}\n`);
    return found('first');
  };
  for (const flags of [
    ...['--no-warnings', '--no-deprecation --trace-uncaught', '--disable-warning=ExperimentalWarning'],
    ...['--experimental-strip-types', '--no-experimental-require-module', '--experimental-vm-modules'],
    ...['--max-old-space-size=4096', '--max_old_space_size=4096', '--stack-size=2000', '--expose-gc'],
    ...['--harmony', '--harmony-temporal', '--unhandled-rejections=strict', '--dns-result-order=ipv4first'],
  ])
    expect(first(flags)).toBe(`shop first ${flags}`);
  for (const flags of [
    ...['--import tsx', '--import=tsx', '--import ./a.mjs', '-r a', '-r./a', '--require a', '--require=a'],
    ...['--loader a', '--experimental-loader=a', '--experimental_loader=a', '--env-file=.env'],
    ...['--env-file-if-exists=.env', '--experimental-config-file=a', '--experimental-default-config-file'],
    ...['-e 1', '-p 1', '--eval=1', '-', '--', 'other.js', './other.js', '--no-warnings other.js', '-i'],
    ...['--snapshot-blob=a', '--build-snapshot', '--run a', '--test', '--watch', '--watch-path=.', '-C a'],
    ...['--inspect', '--conditions=a', '--preserve-symlinks', '--openssl-config=a', '--icu-data-dir=a'],
    ...[
      '"--no-warnings"',
      '--no-warnings=a',
      '--max-old-space-size=a',
      '--max-old-space-size',
      '--harmony=a',
    ],
    ...['--import-a', '--nothing', '--experimental-default-type=../a', '\\--no-warnings'],
  ])
    expect(first(flags), flags).toBe('PIN_COMMAND');
  writeFileSync(join(root, 'first'), '#!/usr/bin/env -S NODE_OPTIONS=--import=a node\n');
  expect(found('first')).toBe('PIN_COMMAND');
});

test('a package with many programs is told in a few words', () => {
  const bin = Object.fromEntries(
    Array.from({ length: 5000 }, (_, i) => [`${i}${'x'.repeat(500)}`, 'node.js']),
  );
  let message = '';
  try {
    programOf({ root, manifest: { name: 'a', version: '1.0.0', bin } }, 'b');
  } catch (error) {
    message = (error as BullaError).message;
  }
  expect([message.length < 2300, message.endsWith(' and 4980 more; name one of them with --bin.')]).toEqual([
    ...[true, true],
  ]);
});
