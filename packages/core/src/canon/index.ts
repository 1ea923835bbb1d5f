export {
  type CanonOptions,
  canonicalBytes,
  canonicalize,
  digest,
  digestText,
  profile,
  sortNames,
} from './canonicalize.ts';
export { type Commitment, type CommitmentKind, commit, exactText, opens, SALT_BYTES } from './commitment.ts';
export { type Finding, families, lint } from './lint.ts';

export { type Profile, type ProfileId, profiles } from './profiles.ts';
