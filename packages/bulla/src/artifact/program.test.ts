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
  expect(found({ other: 'crlf.js', more: 'node.js' })).toBe('PIN_BIN');
  expect(found({ other: 'crlf.js', more: 'node.js' }, 'other')).toBe('other crlf.js');
  expect(found({ other: 'node.js' }, 'shop')).toBe('PIN_BIN');
  for (const bin of [undefined, null, {}, [], 7, { shop: 7 }])
    expect(found(bin), JSON.stringify(bin)).toBe('PIN_BIN');
});

test('it is a script for Node, in the package', () => {
  expect(['path.js', 'flags', 'bare.mjs', 'bare.cjs'].map((file) => found(file))).toEqual([
    'shop path.js --no-warnings',
    'shop flags --no-warnings --enable-source-maps',
    'shop bare.mjs',
    'shop bare.cjs',
  ]);
  for (const file of ['shell', 'bun.js', 'nodeish.js', 'typed.ts', 'binary'])
    expect(found(file), file).toBe('PIN_BIN_KIND');
  for (const file of ['../node.js', 'a/../../node.js', '..\\node.js', 'nothing.js', 'link.js', '.'])
    expect(found(file), file).toBe('PIN_BIN');
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
