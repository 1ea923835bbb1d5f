import { closeSync, lstatSync, openSync, readSync } from 'node:fs';
import { extname, join, posix } from 'node:path';
import { BullaError } from '@bulla/core/error';
import type { Installed } from './install.ts';

/** A program of an installed package: what Node is started with. */
export interface Program {
  readonly name: string;
  readonly script: string;
  /** What stands in the script's first line behind `node`: flags that load and read nothing. */
  readonly flags: readonly string[];
}

/**
 * The program that npm would run: the one that is `named`, else the only one of the package, else the one of the
 * package's own name. Throws `PIN_COMMAND` when there is no such program, and when it is no script for Node, or one that
 * wants Node to be started with more than harmless flags.
 */
export function programOf(installed: Pick<Installed, 'manifest' | 'root'>, named: string | null): Program {
  const bins = binsOf(installed.manifest);
  const own = unscoped(String(installed.manifest.name));
  const name = named ?? (bins.size === 1 ? [...bins.keys()][0]! : own);
  const path = bins.get(name);
  if (path === undefined) {
    const known = bins.size === 0 ? 'has no program' : `has the programs ${listed([...bins.keys()])}`;
    throw cannot(`The package ${known}; name one of them with --bin.`);
  }
  const relative = posix.normalize(path.replace(/^\.?\/+/, ''));
  if (relative.startsWith('../') || relative === '..' || path.includes('\\'))
    throw cannot(`The program ${name} lies outside of its package.`);
  const script = join(installed.root, relative);
  return { name, script, flags: flagsOf(script, name) };
}

function cannot(message: string): BullaError {
  return new BullaError('PIN_COMMAND', message);
}

/** The package names as many as it likes, as long as it likes. */
function listed(names: readonly string[]): string {
  const shown = names.slice(0, 20).map((name) => name.slice(0, 100));
  return names.length > 20 ? `${shown.join(', ')} and ${names.length - 20} more` : shown.join(', ');
}

function unscoped(name: string): string {
  return name.slice(name.indexOf('/') + 1);
}

function binsOf({ name, bin }: Installed['manifest']): Map<string, string> {
  if (typeof bin === 'string') return new Map([[unscoped(String(name)), bin]]);
  const entries = typeof bin === 'object' && bin !== null ? Object.entries(bin) : [];
  return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
}

const SCRIPTS = ['.js', '.mjs', '.cjs'];
const LINE = 512;

/**
 * Node finds what other flags name, such as `--import` and `--env-file`, from the current folder, which nobody pinned;
 * a word that is no flag would be run instead of the script.
 */
const HARMLESS = new RegExp(
  `^--(?:${[
    '(?:no-)?(?:warnings|deprecation)',
    'disable-warning=[A-Za-z0-9_]+',
    'trace-(?:warnings|deprecation|uncaught)',
    'throw-deprecation',
    'enable-source-maps',
    'unhandled-rejections=[a-z-]+',
    '(?:no-)?experimental-(?:strip-types|transform-types|require-module|detect-module|sqlite|websocket|fetch)',
    'experimental-(?:json-modules|wasm-modules|vm-modules|import-meta-resolve)',
    'max[-_](?:old|semi)[-_]space[-_]size=[0-9]+',
    'stack[-_]size=[0-9]+',
    'expose[-_]gc',
    'harmony(?:[-_][a-z_-]+)?',
    'dns-result-order=[a-z0-9]+',
    '(?:no-)?network-family-autoselection',
    'max-http-header-size=[0-9]+',
  ].join('|')})$`,
);

/** What the first line passes to Node. Without such a line the name of the file must say that it is a script. */
function flagsOf(script: string, name: string): string[] {
  if (!lstatSync(script, { throwIfNoEntry: false })?.isFile())
    throw cannot(`The script of the program ${name} is not in the package.`);
  const line = firstLine(script);
  if (!line.startsWith('#!')) {
    if (SCRIPTS.includes(extname(script))) return [];
    throw cannot(`The program ${name} is not a script for Node.`);
  }
  const words = line.slice(2).trim().split(/\s+/);
  const [program = '', ...rest] = /(?:^|\/)env$/.test(words[0] ?? '')
    ? words.slice(words[1] === '-S' ? 2 : 1)
    : words;
  if (/(?:^|\/)node(?:js)?$/.test(program)) {
    const other = rest.find((word) => !HARMLESS.test(word));
    if (other === undefined) return rest;
    throw cannot(
      `The program ${name} wants Node to be started with ${JSON.stringify(other)}, which can load what is not pinned.`,
    );
  }
  throw cannot(`The program ${name} is run by ${JSON.stringify(program)}, not by Node.`);
}

function firstLine(path: string): string {
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(LINE);
    const length = readSync(file, buffer, 0, LINE, 0);
    return buffer.subarray(0, length).toString('latin1').split(/\r?\n/)[0]!;
  } finally {
    closeSync(file);
  }
}
