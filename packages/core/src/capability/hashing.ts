import { digest, sortNames } from '../canon/index.ts';
import { BullaError } from '../error.ts';
import { wrongArgument } from './names.ts';
import { SCHEMA_SOURCES, type SchemaSource } from './standard-schema.ts';

/** `khora` is what the specification says; `khora-icu` is what the released package computes under en-US. */
export type CapabilityProfile = 'khora' | 'khora-icu';
const PROFILES: readonly CapabilityProfile[] = ['khora', 'khora-icu'];

/** Everything that decides a capability hash beside the payload. */
export interface Hashing {
  readonly profile: CapabilityProfile;
  readonly schemaSource: SchemaSource;
}

export interface HashOptions {
  /** Default `khora`. */
  readonly profile?: CapabilityProfile | undefined;
  /** Default `toJSONSchema`. */
  readonly schemaSource?: SchemaSource | undefined;
}

/** One object for each combination, so that they can be compared and be keys of a cache. */
const ALL: readonly Hashing[] = PROFILES.flatMap((profile) =>
  SCHEMA_SOURCES.map((schemaSource) => Object.freeze({ profile, schemaSource })),
);

/** The options with their defaults. Throws `CAPABILITY_ARGUMENT` for words that are not among them. */
export function hashingOf(options: HashOptions = {}): Hashing {
  const { profile = 'khora', schemaSource = 'toJSONSchema' } = options;
  for (const hashing of ALL) {
    if (hashing.profile === profile && hashing.schemaSource === schemaSource) return hashing;
  }
  const words = [profile, schemaSource].map((word) => JSON.stringify(word)).join(' with ');
  const path = PROFILES.includes(profile) ? '/schemaSource' : '/profile';
  wrongArgument(`Capabilities are not hashed under ${words}.`, path);
}

/**
 * SHA-256, in lower-case hex, over the canonical JSON of a value: keys sorted at every level, properties that are
 * undefined left out. Throws `VALUE_…` for what JSON cannot hold and `CANON_…` for what the profile refuses, such as
 * `CANON_BIGINT`.
 */
export function hashPlainObject(value: unknown, options?: HashOptions): string {
  return digest(value, hashingOf(options).profile);
}

/**
 * Sorts as the profile does, and says of what it cannot sort where it stands. One name needs no order, so under
 * `khora-icu` it may have any characters.
 */
export function sorted(
  names: readonly string[],
  profile: CapabilityProfile,
  path: string,
): readonly string[] {
  if (names.length < 2) return names;
  try {
    return sortNames(names, profile);
  } catch (error) {
    throw error instanceof BullaError ? new BullaError(error.code, error.message, { path }) : error;
  }
}

/** Whether a text is a hash as this module writes them. */
export function isHash(text: unknown): text is string {
  return typeof text === 'string' && /^[0-9a-f]{64}$/.test(text);
}
