import type { Code } from '../codes.ts';
import { BullaError } from '../error.ts';
import { isObject, member, parsePointer } from '../json/index.ts';
import { SECTION_NAMES } from './model.ts';

/**
 * A parsed `capsule://` reference, with the names of the published fixtures. Three kinds exist: by hash or id,
 * with or without a chain, and by sequence within a chain.
 */
interface CapsuleUri {
  readonly scheme: 'capsule';
  readonly chain: string | null;
  readonly reference_type: 'hash' | 'sequence' | 'id';
  readonly hash_algorithm: 'sha3' | null;
  readonly hash_value: string | null;
  readonly sequence: number | null;
  readonly id: string | null;
  /** The text after `#`, as it stands in the URI. */
  readonly fragment: string | null;
}

interface UriOptions {
  /** Take one slash at the head of the fragment, which the scheme's grammar demands and its fixtures lack. Default false. */
  readonly leadingSlash?: boolean;
}

const PREFIX = 'capsule://';
const HASH = /^sha3_([0-9a-f]{64})$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const CHAIN = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const SEQUENCE = /^(?:0|[1-9][0-9]*)$/;
/** RFC 3986 §3.5. */
const FRAGMENT = /^(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*$/;

/**
 * Reads a `capsule://` URI. Where the scheme's text leaves a question open, one spelling is taken: the scheme in
 * lower case; no bare sequence; no leading zeros, no sequence beyond 2^53-1; no further or empty segment, query,
 * port, user or percent-encoding before the fragment; a chain name of letters, digits, `.`, `_` and `-` that
 * starts with a letter or digit and not with `sha3_`. A UUID may be in any case and is returned in lower case.
 * Throws `CAPSULE_URI`.
 */
export function parseCapsuleUri(text: string, options: UriOptions = {}): CapsuleUri {
  if (!text.startsWith(PREFIX)) fail('CAPSULE_URI', `A capsule URI starts with ${PREFIX}.`);
  const rest = text.slice(PREFIX.length);
  const mark = rest.indexOf('#');
  const segments = (mark < 0 ? rest : rest.slice(0, mark)).split('/');
  let fragment = mark < 0 ? null : rest.slice(mark + 1);
  if (fragment !== null) {
    if (options.leadingSlash === true && fragment.startsWith('/')) fragment = fragment.slice(1);
    fragmentTokens(fragment);
  }
  if (segments.length > 2) fail('CAPSULE_URI', 'A reference has at most a chain and one part after it.');
  const reference = segments.at(-1)!;
  const chain = segments.length === 2 ? segments[0]! : null;
  if (chain !== null && (!CHAIN.test(chain) || chain.startsWith('sha3_')))
    fail('CAPSULE_URI', 'This is not the name of a chain.');

  const nothing = { hash_algorithm: null, hash_value: null, sequence: null, id: null };
  if (reference.startsWith('sha3_')) {
    const hash = HASH.exec(reference)?.[1];
    if (hash === undefined) fail('CAPSULE_URI', 'A hash is sha3_ and 64 lower-case hex digits.');
    return {
      scheme: 'capsule',
      chain,
      reference_type: 'hash',
      ...nothing,
      hash_algorithm: 'sha3',
      hash_value: hash,
      fragment,
    };
  }
  if (UUID.test(reference)) {
    return {
      scheme: 'capsule',
      chain,
      reference_type: 'id',
      ...nothing,
      id: reference.toLowerCase(),
      fragment,
    };
  }
  if (chain !== null && /^-?[0-9]+$/.test(reference)) {
    const sequence = Number(reference);
    if (!SEQUENCE.test(reference) || !Number.isSafeInteger(sequence))
      fail('CAPSULE_URI', 'A sequence is a plain number from 0 to 2^53-1.');
    return { scheme: 'capsule', chain, reference_type: 'sequence', ...nothing, sequence, fragment };
  }
  fail('CAPSULE_URI', 'A reference is a hash, a UUID, or a sequence within a chain.');
}

/**
 * The value that a fragment points to, in a parsed or plain capsule. Throws `CAPSULE_URI` for a fragment
 * that is none (as `parseCapsuleUri` does) and `CAPSULE_NOT_FOUND` when nothing is there.
 */
export function resolveFragment(capsule: unknown, fragment: string): unknown {
  let value = capsule;
  for (const token of fragmentTokens(fragment)) {
    if (Array.isArray(value)) value = SEQUENCE.test(token) ? value[Number(token)] : undefined;
    else value = isObject(value) ? member(value, token) : undefined;
    if (value === undefined)
      fail('CAPSULE_NOT_FOUND', `The capsule has nothing at ${JSON.stringify(fragment)}.`);
  }
  return value;
}

/** RFC 6901 §6: percent-decoded first, then read as a pointer; checked after decoding, so nothing hides. */
function fragmentTokens(fragment: string): string[] {
  if (!FRAGMENT.test(fragment))
    fail('CAPSULE_URI', 'The fragment holds a character that a URI cannot carry.');
  let text: string;
  try {
    text = decodeURIComponent(fragment);
  } catch {
    fail('CAPSULE_URI', 'The fragment is not percent-encoded UTF-8.');
  }
  const tokens = parsePointer(`/${text}`);
  if (tokens === null) fail('CAPSULE_URI', 'A tilde stands only before 0 or 1.');
  if (!(SECTION_NAMES as readonly string[]).includes(tokens[0]!))
    fail('CAPSULE_URI', `A fragment starts with one of ${SECTION_NAMES.join(', ')}.`);
  if (tokens.some((token) => token === '.' || token === '..'))
    fail('CAPSULE_URI', 'A fragment has no dot segments.');
  return tokens;
}

function fail(code: Code, message: string): never {
  throw new BullaError(code, message);
}
