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
export function parseCapsuleUri(text: string): CapsuleUri {
  if (!text.startsWith(PREFIX)) throw invalid(`A capsule URI starts with ${PREFIX}.`);
  const rest = text.slice(PREFIX.length);
  const mark = rest.indexOf('#');
  const segments = (mark < 0 ? rest : rest.slice(0, mark)).split('/');
  const fragment = mark < 0 ? null : rest.slice(mark + 1);
  if (fragment !== null) fragmentTokens(fragment);
  if (segments.length > 2) throw invalid('A reference has at most a chain and one part after it.');
  const reference = segments.at(-1)!;
  const chain = segments.length === 2 ? segments[0]! : null;
  if (chain !== null && (!CHAIN.test(chain) || chain.startsWith('sha3_')))
    throw invalid('This is not the name of a chain.');

  const reading = (part: Pick<CapsuleUri, 'reference_type'> & Partial<CapsuleUri>): CapsuleUri => ({
    ...{
      scheme: 'capsule',
      chain,
      hash_algorithm: null,
      hash_value: null,
      sequence: null,
      id: null,
      fragment,
    },
    ...part,
  });
  if (reference.startsWith('sha3_')) {
    const hash_value = HASH.exec(reference)?.[1];
    if (hash_value === undefined) throw invalid('A hash is sha3_ and 64 lower-case hex digits.');
    return reading({ reference_type: 'hash', hash_algorithm: 'sha3', hash_value });
  }
  if (UUID.test(reference)) return reading({ reference_type: 'id', id: reference.toLowerCase() });
  if (chain !== null && /^-?[0-9]+$/.test(reference)) {
    const sequence = Number(reference);
    if (!SEQUENCE.test(reference) || !Number.isSafeInteger(sequence))
      throw invalid('A sequence is a plain number from 0 to 2^53-1.');
    return reading({ reference_type: 'sequence', sequence });
  }
  throw invalid('A reference is a hash, a UUID, or a sequence within a chain.');
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
      throw new BullaError('CAPSULE_NOT_FOUND', `The capsule has nothing at ${JSON.stringify(fragment)}.`);
  }
  return value;
}

/** RFC 6901 §6: percent-decoded first, then read as a pointer; checked after decoding, so nothing hides. */
function fragmentTokens(fragment: string): string[] {
  if (!FRAGMENT.test(fragment)) throw invalid('The fragment holds a character that a URI cannot carry.');
  let text: string;
  try {
    text = decodeURIComponent(fragment);
  } catch {
    throw invalid('The fragment is not percent-encoded UTF-8.');
  }
  const tokens = parsePointer(`/${text}`);
  if (tokens === null) throw invalid('A tilde stands only before 0 or 1.');
  if (!(SECTION_NAMES as readonly string[]).includes(tokens[0]!))
    throw invalid(`A fragment starts with one of ${SECTION_NAMES.join(', ')}.`);
  if (tokens.some((token) => token === '.' || token === '..'))
    throw invalid('A fragment has no dot segments.');
  return tokens;
}

function invalid(message: string): BullaError {
  return new BullaError('CAPSULE_URI', message);
}
