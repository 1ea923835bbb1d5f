import { BullaError } from '@bulla/core/error';
import { JsonObject, parse } from '@bulla/core/json';

const roots = new WeakMap<Uint8Array, JsonObject | 'broken' | null>();

/**
 * The JSON object that a file is, read leniently to see what it claims to be; `broken` for what begins as one and
 * cannot be read, of which nothing can be good; null for everything else, also for several documents in a row.
 */
export function rootOf(bytes: Uint8Array): JsonObject | 'broken' | null {
  let root = roots.get(bytes);
  if (root === undefined) {
    root = read(bytes);
    roots.set(bytes, root);
  }
  return root;
}

function read(bytes: Uint8Array): JsonObject | 'broken' | null {
  if (bytes.find((byte) => byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) !== 0x7b)
    return null;
  try {
    const root = parse(bytes, { allow: ['duplicate-keys', 'lone-surrogates', 'non-finite'] });
    return root instanceof JsonObject ? root : null;
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    return error.code === 'JSON_TRAILING_DATA' ? null : 'broken';
  }
}

/** Whether a file is a JSON object with any of these members, or a broken one that speaks of them. */
export function hasAny(bytes: Uint8Array, members: readonly string[]): boolean {
  const root = rootOf(bytes);
  if (root === null) return false;
  if (root !== 'broken') return members.some((name) => root.has(name));
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return members.some((name) => text.includes(`"${name}"`));
}
