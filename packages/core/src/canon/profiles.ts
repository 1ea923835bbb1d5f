import type { FloatPaths } from '../json/index.ts';
import * as numbers from './numbers.ts';
import * as order from './order.ts';
import * as strings from './strings.ts';

/** Everything that decides the bytes and the digest of one canonical form. Nothing below this table knows a profile by name. */
export interface Profile {
  readonly id: string;
  /** Profiles of one family write the same kind of document; `lint` compares them. */
  readonly family: string;
  /** What the profile is for, in a few words. */
  readonly use: string;
  readonly keys: order.NameOrder;
  /** How names inside a payload are sorted, where that differs from `keys`. */
  readonly names?: order.NameOrder;
  readonly numbers: numbers.NumberRule;
  /** Taken instead of `numbers` when the caller asks for NaN and the infinities. */
  readonly nonFiniteNumbers?: numbers.NumberRule;
  /** Where a number is always written as a float. */
  readonly floatPaths?: FloatPaths;
  readonly strings: strings.StringRule;
  /** What happens to a property whose value is `undefined`; refused unless the profile's own rule drops it. */
  readonly undefinedProperty: 'refuse' | 'drop';
  /** Members of the root object that are not hashed. */
  readonly excluded: readonly string[];
  /** If set, exactly these members of the root object are hashed, a missing one as null. */
  readonly members?: readonly string[];
  readonly hash: 'sha256' | 'sha3-256';
  /** Stands before the canonical bytes when they are hashed. */
  readonly domain: string;
  /** Stands before the hex digits of a digest. */
  readonly digestPrefix: string;
}

const SEAL_FIELDS = ['hash', 'signature', 'signature_pq', 'signed_at', 'signed_by'] as const;

const CAPSULE_MEMBERS = [
  'id',
  'type',
  'domain',
  'parent_id',
  'sequence',
  'previous_hash',
  'spec_version',
  'trigger',
  'context',
  'reasoning',
  'authority',
  'execution',
  'outcome',
] as const;

/** `reasoning.confidence` and `reasoning.options[].feasibility` (Capsule Protocol, canonical form). */
const CAPSULE_FLOATS: FloatPaths = new Map([
  [
    'reasoning',
    new Map<string, FloatPaths | 'float'>([
      ['confidence', 'float'],
      ['options', new Map([[null, new Map([['feasibility', 'float']])]])],
    ]),
  ],
]);

const sha256 = {
  undefinedProperty: 'refuse',
  excluded: [],
  hash: 'sha256',
  domain: '',
  digestPrefix: '',
} as const;
const capsule = { ...sha256, family: 'cps', excluded: SEAL_FIELDS, hash: 'sha3-256' } as const;
const envelope = {
  ...sha256,
  family: 'envelope',
  keys: order.codePoint,
  numbers: numbers.safeInteger,
  strings: strings.minimal,
  excluded: ['metadata'],
} as const;
const khora = {
  ...sha256,
  family: 'khora',
  numbers: numbers.jsonStringify,
  strings: strings.jsonStringify,
  undefinedProperty: 'drop',
} as const;

export const profiles = {
  jcs: {
    ...sha256,
    id: 'jcs',
    family: 'jcs',
    use: 'manifests, and everything new (RFC 8785)',
    keys: order.utf16,
    numbers: numbers.ecmascript,
    strings: strings.minimal,
  },
  cps: {
    ...capsule,
    id: 'cps',
    use: 'capsules, as the Capsule Protocol says',
    keys: order.codePoint,
    numbers: numbers.python,
    floatPaths: CAPSULE_FLOATS,
    strings: strings.minimal,
  },
  'cps-python': {
    ...capsule,
    id: 'cps-python',
    use: 'verifying what the Python reference sealed',
    keys: order.codePoint,
    numbers: numbers.python,
    nonFiniteNumbers: numbers.pythonNonFinite,
    strings: strings.minimal,
  },
  'cps-ts': {
    ...capsule,
    id: 'cps-ts',
    use: 'verifying what the TypeScript reference sealed',
    keys: order.utf16,
    numbers: numbers.typescriptReference,
    floatPaths: CAPSULE_FLOATS,
    strings: strings.jsonStringify,
    members: CAPSULE_MEMBERS,
  },
  'envelope-v1': {
    ...envelope,
    id: 'envelope-v1',
    use: 'exec_hash, as the Execution Envelope v1 says',
    domain: 'EXEC:ENV:v1',
  },
  'envelope-v1-nul': {
    ...envelope,
    id: 'envelope-v1-nul',
    use: 'exec_hash of the later upstream draft',
    domain: 'CryptoCardia.ExecutionEnvelope.v1\u0000',
    digestPrefix: '0x',
  },
  'mcptrust-v1': {
    ...sha256,
    id: 'mcptrust-v1',
    family: 'mcptrust',
    use: 'locks, as the lock specification says',
    keys: order.codePoint,
    numbers: numbers.source,
    strings: strings.goHtml,
  },
  'mcptrust-v1-go': {
    ...sha256,
    id: 'mcptrust-v1-go',
    family: 'mcptrust',
    use: 'locks, as the released program computes its v1',
    keys: order.codePoint,
    numbers: numbers.goFloat64,
    strings: strings.goHtml,
  },
  'mcptrust-v2': {
    ...sha256,
    id: 'mcptrust-v2',
    family: 'mcptrust',
    use: 'locks, as the released program computes its v2',
    keys: order.utf16,
    numbers: numbers.goG,
    strings: strings.minimal,
  },
  khora: {
    ...khora,
    id: 'khora',
    use: 'capability hashes, as their specification says',
    keys: order.indexKeysFirst(order.utf16),
    names: order.utf16,
  },
  'khora-icu': {
    ...khora,
    id: 'khora-icu',
    use: 'capability hashes that the released package computed',
    keys: order.indexKeysFirst(order.collated),
    names: order.collated,
  },
} as const satisfies Record<string, Profile>;

export type ProfileId = keyof typeof profiles;
