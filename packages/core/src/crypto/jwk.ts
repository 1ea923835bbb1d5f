import { attempt, BullaError } from '../error.ts';
import { parse, toPlain } from '../json/index.ts';
import { type Algorithm, algorithm, algorithms } from './algorithms.ts';
import { fromBase64url, toBase64url } from './bytes.ts';
import type { RawKey } from './der.ts';
import type { PublicKey } from './signer.ts';

type Members = Readonly<Record<string, unknown>> & { readonly kty?: unknown };

/** What the members say that describe a key without being it; a key is refused if they say anything else. */
const descriptive: Readonly<Record<string, (value: unknown) => boolean>> = {
  kid: (value) => typeof value === 'string',
  use: (value) => value === 'sig',
  key_ops: (value) => Array.isArray(value) && value.every((op) => op === 'sign' || op === 'verify'),
  ext: (value) => typeof value === 'boolean',
};

/** The members of a JWK. The parser is strict: a member that occurs twice would be two keys in one file. */
function readJwk(text: string): Members {
  const value = attempt(() => toPlain(parse(text)));
  // Only the code is kept: a message could quote the text, which may be a private key.
  if (value instanceof BullaError) throw malformed(`The JWK is not JSON (${value.code}).`);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw malformed('A JWK is a JSON object.');
  return value;
}

/**
 * Reads a JWK: `OKP` with curve Ed25519 (RFC 8037), or `AKP` with an ML-DSA `alg`, whose `priv` is the seed.
 * Throws `KEY_MALFORMED`. The public part is always required.
 */
export function parseJwk(text: string): RawKey {
  const members = readJwk(text);
  const entry = [...algorithms.values()].find(
    ({ jwk, name }) => members.kty === jwk.kty && members[jwk.selector] === name,
  );
  if (entry === undefined) throw malformed('The JWK is of no key type and algorithm that Bulla reads.');
  const { jwk } = entry;
  const known = ['kty', jwk.selector, jwk.publicMember, jwk.privateMember];
  for (const name of Object.keys(members)) {
    if (known.includes(name)) continue;
    const allowed = name === 'alg' ? jwk.alg.includes(members[name] as string) : allows(name, members[name]);
    if (!allowed) throw malformed(`The JWK's member ${JSON.stringify(name)} is unknown or does not fit.`);
  }
  const seed = Object.hasOwn(members, jwk.privateMember) ? field(members, jwk.privateMember) : undefined;
  return { algorithm: entry.name, publicKey: field(members, jwk.publicMember), ...(seed && { seed }) };
}

function allows(name: string, value: unknown): boolean {
  return Object.hasOwn(descriptive, name) && descriptive[name]!(value);
}

function field(members: Members, name: string): Uint8Array {
  const value = members[name];
  if (typeof value !== 'string') throw malformed(`The JWK's member ${name} is missing or not a string.`);
  const bytes = attempt(() => fromBase64url(value));
  if (bytes instanceof BullaError)
    throw malformed(`The JWK's member ${name} is not canonical base64url.`, bytes);
  return bytes;
}

/** Writes a JWK on one line, ending with a newline; with a seed it is a private one. */
export function writeJwk(key: PublicKey, seed?: Uint8Array): string {
  const { name, jwk }: Algorithm = algorithm(key.algorithm);
  const members: Record<string, string> = { kty: jwk.kty, [jwk.selector]: name };
  members[jwk.publicMember] = toBase64url(key.bytes);
  if (seed !== undefined) members[jwk.privateMember] = toBase64url(seed);
  return `${JSON.stringify(members)}\n`;
}

function malformed(message: string, cause?: unknown): BullaError {
  return new BullaError('KEY_MALFORMED', message, { cause });
}
