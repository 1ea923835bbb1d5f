import { fromUtf8 } from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import { JsonObject, parse } from '../json/index.ts';
import { read } from './artifact.ts';
import { latin1 } from './source.ts';

/** What bytes look like from outside. All kinds are told apart by this, and by nothing else. */
export interface Look {
  readonly bytes: Uint8Array;
  /** The beginning, in Latin-1. */
  readonly start: string;
  /** The text, where it ends with a line of a note's signatures; else null. */
  readonly note: string | null;
  /**
   * The JSON object that they are, read leniently to see what it claims to be; `broken` for what begins as one and
   * cannot be read, of which nothing can be good; null for everything else, also for several documents in a row.
   */
  readonly root: JsonObject | 'broken' | null;
}

export function lookAt(bytes: Uint8Array): Look {
  return { bytes, start: latin1(bytes.subarray(0, 1 << 16)), note: noteIn(bytes), root: rootOf(bytes) };
}

function rootOf(bytes: Uint8Array): JsonObject | 'broken' | null {
  if (bytes.find((byte) => byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) !== 0x7b)
    return null;
  const root = read(() => parse(bytes, { allow: ['duplicate-keys', 'lone-surrogates', 'non-finite'] }));
  if (root instanceof BullaError) return root.code === 'JSON_TRAILING_DATA' ? null : 'broken';
  return root instanceof JsonObject ? root : null;
}

/** More than any note, checkpoint or proof has. */
const MAX_NOTE = 1 << 20;

function noteIn(bytes: Uint8Array): string | null {
  if (bytes.length > MAX_NOTE) return null;
  const text = read(() => fromUtf8(bytes));
  return typeof text === 'string' && /\n\n(?:\u2014 [^\n]*\n)+$/.test(text) ? text : null;
}

export function hasAll({ root }: Look, ...members: readonly string[]): boolean {
  return root instanceof JsonObject && members.every((name) => root.has(name));
}

/** Whether they are a JSON object with any of these members, or a broken one that speaks of them. */
export function hasAny({ root, bytes }: Look, ...members: readonly string[]): boolean {
  if (root === null) return false;
  if (root !== 'broken') return members.some((name) => root.has(name));
  const text = latin1(bytes);
  return members.some((name) => text.includes(`"${name}"`));
}
