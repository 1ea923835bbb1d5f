import { digest } from '../../canon/index.ts';
import { sha256Hex } from '../../crypto/index.ts';
import { type JsonObject, parse } from '../../json/index.ts';
import {
  HASHED_KINDS,
  HASHED_LISTS,
  type Hashes,
  hashDefinitions,
  LOCK_PROFILES,
  type LockProfile,
  textOf,
} from './hashes.ts';
import { definitionsOf, type Native } from './native.ts';
import { readNative } from './read-native.ts';
import { inconsistent, strictly } from './reading.ts';
import { NATIVE_KEY, type Released, readReleased } from './released.ts';

/** A lockfile of any version, read strictly. Nothing in it is trusted until a signature is checked. */
export interface Lock extends Released {
  /** What our own key holds; null in a file that only the released program's format describes. */
  readonly native: Native | null;
  /**
   * The number rules under which an `input_schema_hash` of the file may stand: a file without our key does
   * not say.
   */
  readonly profiles: readonly LockProfile[];
  /** The whole file as it was parsed. */
  readonly document: JsonObject;
  /** SHA-256 of the file's bytes, in hex. */
  readonly sha256: string;
}

/**
 * Reads a lockfile of any version. Throws a `BullaError` with the path: `JSON_…` for what is not strict JSON,
 * duplicate keys among it; `LOCK_VERSION` and `LOCK_VERSION_NEWER`; `LOCK_FIELD` for a key that is missing, unknown or of another
 * type; `LOCK_CASE_TWIN`; `LOCK_DUPLICATE`; and of our own key also `LOCK_VERSION` and
 * `LOCK_INCONSISTENT`, when a stored definition does not have its digest or the hashes of version 3 are not
 * those of the definitions.
 */
export function readLock(bytes: Uint8Array): Lock {
  return interpret(parseLock(bytes), bytes);
}

/**
 * The first half of `readLock`: strict JSON and no more, so that a signature can be checked before the rest.
 */
export function parseLock(bytes: Uint8Array): JsonObject {
  return strictly(parse(bytes)).object();
}

/** The second half of `readLock`: what the parsed file says. */
export function interpret(document: JsonObject, bytes: Uint8Array): Lock {
  const released = readReleased(strictly(document));
  const stored = released.version === '3.0' ? document.get(NATIVE_KEY) : undefined;
  const native = stored === undefined ? null : readNative(stored);
  if (native !== null) checkAgreement(released, native);
  return {
    ...released,
    native,
    profiles: native === null ? LOCK_PROFILES : [native.profile],
    document,
    sha256: sha256Hex(bytes),
  };
}

/**
 * The digest by which capsules name a lock: `sha256:` and the SHA-256 of the whole document under
 * `mcptrust-v1`, the form that the seed says is signed. It survives re-indenting and re-ordered keys, as the
 * signature does, and nothing else: numbers count by their digits.
 */
export function lockDigest({ document }: Pick<Lock, 'document'>): string {
  return `sha256:${digest(document, 'mcptrust-v1')}`;
}

/** The hashes that version 3 holds must be those of the stored definitions. */
function checkAgreement(released: Released, native: Native): void {
  const hashes = hashDefinitions((kind) => definitionsOf(native, kind), native.profile);
  const name = textOf(native.serverInfo.definition as JsonObject, 'name', [NATIVE_KEY, 'serverInfo']);
  if (released.serverName !== name) throw inconsistent(['server', 'name'], 'is not the name in serverInfo');
  for (const kind of HASHED_KINDS) {
    const [stored, computed]: ReadonlyMap<string, Hashes>[] = [released[kind]!, hashes[kind]];
    for (const key of new Set([...stored!.keys(), ...computed!.keys()])) {
      const [one, other] = [stored!.get(key), computed!.get(key)];
      if (one === undefined || other === undefined || !sameMembers(one, other))
        throw inconsistent([...HASHED_LISTS[kind], key], 'is not what the stored definition hashes to');
    }
  }
}

/** Both were made with the same members in the same order. */
function sameMembers(a: object, b: object): boolean {
  const [one, other] = [Object.values(a), Object.values(b)];
  return one.length === other.length && one.every((value, i) => value === other[i]);
}
