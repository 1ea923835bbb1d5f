import { sha256Hex, toUtf8 } from '@bulla/core/crypto';

/** Hosts and models take no longer name of a tool. */
const MAX_NAME = 64;
const HASH_DIGITS = 8;

/** What a prefix may be: it leaves room for a part of the name, and holds nothing that a host would refuse. */
export const PREFIX: RegExp = /^[A-Za-z0-9_.-]{1,32}$/;

/**
 * The name under which a host sees a tool or prompt of one of several servers: `prefix_name`. One of more than 64
 * characters is `prefix_head_hash`, with the first digits of the SHA-256 of the whole name, so that it is the same in
 * every session and differs where only the end of the name does.
 */
export function shownName(prefix: string, name: string): string {
  const whole = `${prefix}_${name}`;
  if (whole.length <= MAX_NAME) return whole;
  const tail = `_${sha256Hex(toUtf8(name)).slice(0, HASH_DIGITS)}`;
  const room = MAX_NAME - prefix.length - 1 - tail.length;
  let head = '';
  for (const character of name) {
    if (head.length + character.length > room) break;
    head += character;
  }
  return `${prefix}_${head}${tail}`;
}
