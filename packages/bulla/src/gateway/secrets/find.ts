import { BullaError } from '@bulla/core/error';
import { type JsonValue, pointer, type Trail } from '@bulla/core/json';
import { patternRanges } from './patterns.ts';
import { presetRanges } from './preset.ts';
import type { Range } from './range.ts';
import { type Place, type Text, textOf } from './text.ts';

/** A secret in the arguments of a call. It says where and of which kind, and holds nothing of the secret. */
export interface FoundSecret {
  /**
   * The JSON Pointer of the string. Where the name of a member is a secret, it is that of the object around it, for all
   * that is found in that member too: a pointer would show the name.
   */
  readonly pointer: string;
  /** Such as `github` or `jwt`; `too-large` for what was not searched. */
  readonly kind: string;
}

/** How many bytes of strings and names are searched, and how many UTF-16 units of pointers are given back. */
const MAX_BYTES = 1024 * 1024;
/** The kind of what was not searched. */
export const TOO_LARGE = 'too-large';
const UNSEARCHED: readonly FoundSecret[] = [{ pointer: '', kind: TOO_LARGE }];

/**
 * Looks for keys and tokens, by their form, in the strings and the names of members; each place comes once for a kind,
 * in the order of places. What is over 1 MiB is not searched and comes as `too-large` at the root, so that a rule which
 * expects nothing refuses it. It finds what was not meant to be hidden: an encoded or divided secret passes. Rejects
 * with `GATEWAY_FAILED` where it cannot search.
 */
export async function findSecrets(args: JsonValue): Promise<readonly FoundSecret[]> {
  const laid = textOf(args, MAX_BYTES);
  if (laid === null) return UNSEARCHED;
  try {
    const ranges = [laid.jwks, await patternRanges(laid.text), await presetRanges(laid.text)].flat();
    return secretsAt(kindsByPlace(laid, ranges)) ?? UNSEARCHED;
  } catch {
    // Without its cause, which may quote what was searched.
    throw new BullaError('GATEWAY_FAILED', 'The arguments could not be searched for secrets.');
  }
}

/** The kinds that were found at each place, places in the order of the text. */
function kindsByPlace({ starts, places }: Text, ranges: readonly Range[]): Map<Place, Set<string>> {
  const found = new Map<Place, Set<string>>();
  const note = (place: Place, kind: string) => {
    const kinds = found.get(place);
    if (kinds === undefined) found.set(place, new Set([kind]));
    else kinds.add(kind);
  };
  for (const { start, end, kind } of ranges.toSorted((a, b) => a.start - b.start))
    for (let i = pieceAt(starts, start); i < starts.length && starts[i]! < end; i++)
      if (places[i] !== undefined) note(places[i]!, kind);
  return found;
}

/** The last piece that begins there or before. */
function pieceAt(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** What is told of the places; null where their pointers are too long together. */
function secretsAt(found: ReadonlyMap<Place, ReadonlySet<string>>): FoundSecret[] | null {
  const names = new Set([...found.keys()].filter(({ isName }) => isName).map(({ trail }) => trail));
  const told = new Map<string, FoundSecret>();
  let length = 0;
  for (const [{ trail }, kinds] of found) {
    const at = pointerWithout(names, trail);
    for (const kind of kinds) {
      length += at.length;
      if (length > MAX_BYTES) return null;
      told.set(`${kind} ${at}`, { pointer: at, kind });
    }
  }
  return [...told.values()];
}

/** The pointer up to the first name that is a secret. */
function pointerWithout(names: ReadonlySet<Trail | undefined>, trail: Trail | undefined): string {
  let path: (string | number)[] = [];
  for (let step = trail; step !== undefined; step = step.parent) {
    if (names.has(step)) path = [];
    else path.push(step.key);
  }
  return pointer(path.reverse());
}
