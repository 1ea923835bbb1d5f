import { JsonObject, type JsonValue, type Trail } from '@bulla/core/json';
import type { Range } from './range.ts';

/** Where a text stands in a value: a string, or the name of a member. */
export interface Place {
  /** The way to the string; for a name, the way to its member. */
  readonly trail: Trail | undefined;
  readonly isName: boolean;
}

/** The strings and names of a value as one text, so that all of them are searched at once. */
export interface Text {
  readonly text: string;
  /** Where each piece of the text begins, and the place that it is from; undefined for what stands there a second time. */
  readonly starts: readonly number[];
  readonly places: readonly (Place | undefined)[];
  /** The secret members of private keys in JWK form, which nothing but their names betrays. */
  readonly jwks: readonly Range[];
}

/** Names without which a secret cannot be told from any other text. */
const TELLING = /secret_?access_?key|account_?key|shared_?access_?key|_authtoken|authorization/i;
/** How much of a value stands behind such a name. */
const TOLD = 4096;

/**
 * Lays out a value: each string and each name on a line of its own, and `name=value` where the name tells what the value
 * is, or each element of a list is. Null when strings and names have more than `maxBytes` bytes of UTF-8. Walks without recursion.
 */
export function textOf(value: JsonValue, maxBytes: number): Text | null {
  const parts: string[] = [];
  const starts: number[] = [];
  const places: (Place | undefined)[] = [];
  const jwks: Range[] = [];
  let [length, bytes] = [0, 0];
  const add = (part: string, place: Place | undefined, end: string) => {
    starts.push(length);
    places.push(place);
    parts.push(part, end);
    length += part.length + end.length;
  };
  /** Adds a line, and says whether there was room for it. */
  const line = (part: string, place: Place): boolean => {
    // A unit has a byte at least, so what is far too long need not be counted.
    bytes += part.length > maxBytes ? part.length : Buffer.byteLength(part);
    if (bytes > maxBytes) return false;
    if (part !== '') add(part, place, '\n');
    return true;
  };

  const open: { value: JsonValue; trail: Trail | undefined; isJwk?: boolean }[] = [
    { value, trail: undefined },
  ];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, trail, isJwk } = next;
    const name = typeof trail?.key === 'string' ? trail.key : '';
    if (!line(name, { trail, isName: true })) return null;
    if (typeof value === 'string') {
      const place = { trail, isName: false };
      if (isJwk) jwks.push({ start: length, end: length + value.length, kind: 'privatekey' });
      if (!line(value, place)) return null;
      const teller = typeof trail?.key === 'number' ? trail.parent?.key : name;
      if (typeof teller === 'string' && TELLING.test(teller)) {
        add(teller, undefined, '=');
        add(value.slice(0, TOLD), place, '\n');
      }
    } else if (Array.isArray(value)) {
      for (let i = value.length - 1; i >= 0; i--)
        open.push({ value: value[i]!, trail: { key: i, parent: trail } });
    } else if (value instanceof JsonObject) {
      const secret = secretOf(value);
      for (let i = value.size - 1; i >= 0; i--) {
        const member = { key: value.keys[i]!, parent: trail };
        open.push({ value: value.values[i]!, trail: member, isJwk: i === secret });
      }
    }
  }
  return { text: withoutEscapes(parts.join('')), starts, places, jwks };
}

/** White space, quotes and signs between words, as JSON or an address inside of a string escapes them. */
const ESCAPED = /\\(?:[bfnrt]|u00(?:0[0-9a-f]|2[267]|3[ace]))|%(?:0[9ad]|2[0267c]|3[ade])/gi;

/** The same with white space in their place: they end with a letter or digit, as if the next word began earlier. */
function withoutEscapes(text: string): string {
  return text.replace(ESCAPED, (found) => '\n'.padStart(found.length));
}

/** What makes a JWK private, by its type: RFC 7518 §6, RFC 8037 §2, and `AKP` of the drafts for ML-DSA. */
const PRIVATE_MEMBER: Readonly<Record<string, string>> = {
  EC: 'd',
  RSA: 'd',
  OKP: 'd',
  oct: 'k',
  AKP: 'priv',
};

/** The position of the secret member of a JWK, or -1. */
function secretOf(object: JsonObject): number {
  const type = object.get('kty');
  if (typeof type !== 'string' || !Object.hasOwn(PRIVATE_MEMBER, type)) return -1;
  const position = object.indexOf(PRIVATE_MEMBER[type]!);
  const secret = object.values[position];
  return typeof secret === 'string' && secret !== '' ? position : -1;
}
