import { dirname, resolve } from 'node:path';
import { sha256Hex } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { Member, oneCode, parseStrictly, pointer } from '@bulla/core/json';
import { naming, readInput } from '../../os/index.ts';
import { checkSound } from './sound.ts';
import { CONFIG, type Config } from './table.ts';

/** What a file says, and where it lies. */
export interface LoadedConfig extends Config {
  /** The folder of the file, from which its relative paths were taken. */
  readonly folder: string;
  /** The SHA-256 of the file, as `sha256:` and hex digits. */
  readonly digest: string;
}

/**
 * Reads `bulla.json`. No secret is resolved and no other file is read. Throws, with the path, `CONFIG_INVALID` for what
 * the published schema refuses too, `CONFIG_SECRET` for a text where a secret is only referenced, and `CONFIG_UNSOUND`
 * for what no schema can see; the `JSON_…` codes for what is not strict JSON; and as `readInput`.
 */
export function readConfig(file: string): LoadedConfig {
  const bytes = readInput(file, 'document');
  const folder = dirname(resolve(file));
  const digest = `sha256:${sha256Hex(bytes)}`;
  return naming(file, () => ({ ...parseConfig(bytes, folder), folder, digest }));
}

/** Reads the text of a configuration that lies in a folder. Throws as {@link readConfig}. */
export function parseConfig(input: string | Uint8Array, folder: string): Config {
  const value = parseStrictly(input, {}, (code) => code, 'This is not strict JSON');
  const unsound: BullaError[] = [];
  const report = (at: Member['at'], sentence: string) => {
    unsound.push(new BullaError('CONFIG_UNSOUND', sentence, { path: pointer(at) }));
  };
  const config = CONFIG.read(new Member(value, oneCode('CONFIG_INVALID')), { folder, unsound: report });
  checkSound(config, report);
  if (unsound.length > 0) throw unsound[0];
  return config;
}
