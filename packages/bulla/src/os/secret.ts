import { closeSync, fstatSync } from 'node:fs';
import { resolve } from 'node:path';
import { inspect } from 'node:util';
import { BullaError } from '@bulla/core/error';
import { fileError, openFound, readUpTo } from './file.ts';
import type { Environment } from './home.ts';
import { isLoose, tightenCommand } from './private.ts';
import { runForOutput } from './secret-command.ts';

// Secrets by reference: a configuration says where a secret is, and never holds it. So no file of ours, no log, no lock
// and no record can hold it either.

/**
 * Where a secret is: `env:NAME`, `file:PATH`, or a program and its arguments, which prints it. A configuration has
 * checked its form.
 */
export type SecretRef = string | { readonly command: readonly string[] };

export interface SecretSources {
  readonly environment: Environment;
  /** The folder of the configuration: where relative paths begin, and where programs are started. */
  readonly base: string;
  /** How long a program may take. Default 10,000 ms. */
  readonly timeoutMs?: number | undefined;
}

/** The text of a secret, which is printed and serialised as `[secret]`. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** The secret itself, for the one place that sends it. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}

const MAX_BYTES = 64 * 1024;
const DEFAULT_TIMEOUT_MS = 10_000;
/**
 * Fetches a secret. A variable is taken as it is; from a file and from what a program prints, one newline at the end is
 * cut. Rejects with `SECRET_MISSING` where there is no such variable or file, `SECRET_UNREADABLE`, `SECRET_EXPOSED` for
 * a file that others can read or write, `SECRET_TOO_LARGE` over 64 KiB, `SECRET_COMMAND` and `SECRET_TIMEOUT` for a
 * program, and `SECRET_VALUE` for a value that is empty, not UTF-8, or holds what no header can carry.
 */
export async function resolveSecret(ref: SecretRef, sources: SecretSources): Promise<Secret> {
  if (typeof ref === 'string') {
    const [, kind, place = ''] = /^(env|file):(.*)$/s.exec(ref) ?? [];
    if (kind === 'env')
      return new Secret(checked(variable(place, sources.environment), `The variable ${place}`));
    const file = resolve(sources.base, place);
    return new Secret(textOf(readPrivate(file), file));
  }
  const [program = '', ...args] = ref.command;
  const bytes = await runForOutput(program, args, {
    env: sources.environment,
    cwd: sources.base,
    maxBytes: MAX_BYTES,
    timeoutMs: sources.timeoutMs ?? DEFAULT_TIMEOUT_MS,
  });
  return new Secret(textOf(bytes, `What ${JSON.stringify(program)} prints`));
}

function variable(name: string, environment: Environment): string {
  const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
  if (value === undefined) throw new BullaError('SECRET_MISSING', `The variable ${name} is not set.`);
  // What is not UTF-8 in the environment, Node gives as this character.
  if (value.includes('\ufffd') || !value.isWellFormed())
    throw new BullaError('SECRET_VALUE', `The variable ${name} is not UTF-8.`);
  return value;
}

/** The mode is that of the file that is read, and not of another one that takes its name in between. */
function readPrivate(path: string): Uint8Array {
  let file: number | undefined;
  try {
    file = openFound(path);
    const stats = fstatSync(file);
    const mode = stats.mode & 0o777;
    if (isLoose(stats)) {
      const command = tightenCommand([{ path, mode }]);
      const why = `Others can reach ${path} (mode ${mode.toString(8)}); change the secret, or allow its owner alone: ${command}`;
      throw new BullaError('SECRET_EXPOSED', why);
    }
    const bytes = readUpTo(file, MAX_BYTES);
    if (bytes === null)
      throw new BullaError('SECRET_TOO_LARGE', `${path} is larger than ${MAX_BYTES} bytes.`);
    return bytes;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new BullaError('SECRET_MISSING', `There is no file ${path}.`);
    if (code === 'ENOTFILE') throw new BullaError('SECRET_UNREADABLE', `${path} is not a regular file.`);
    throw fileError('SECRET_UNREADABLE', path, 'read', cause);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOf(bytes: Uint8Array, name: string): string {
  let text: string;
  try {
    text = UTF8.decode(bytes);
  } catch {
    throw new BullaError('SECRET_VALUE', `${name} is not UTF-8.`);
  }
  return checked(text.replace(/\r?\n$/, ''), name);
}

function checked(text: string, name: string): string {
  if (text.trim() === '') throw new BullaError('SECRET_VALUE', `${name} is empty.`);
  if (/\p{Cc}|^\ufeff/u.test(text))
    throw new BullaError('SECRET_VALUE', `${name} holds a control character or a byte order mark.`);
  return text;
}
