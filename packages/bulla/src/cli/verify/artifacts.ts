import type { Code } from '@bulla/core/codes';
import type { NoteVerifier } from '@bulla/core/crypto';
import type { BullaError } from '@bulla/core/error';
import type { Anchor, Policy } from '@bulla/core/log';
import { bundle } from './artifact-bundle.ts';
import { capability } from './artifact-capability.ts';
import { chain } from './artifact-chain.ts';
import { checkpoint } from './artifact-checkpoint.ts';
import { authorization, envelope } from './artifact-envelope.ts';
import { lockfile } from './artifact-lock.ts';
import { manifest } from './artifact-manifest.ts';
import { signedNote } from './artifact-note.ts';
import { proof } from './artifact-proof.ts';
import type { Trust as KeyTrust } from './trust.ts';

/** What an artifact is verified with. */
export interface Trust extends KeyTrust {
  readonly vkeys: readonly NoteVerifier[];
  readonly requirePq: boolean;
  readonly allowNonFinite: boolean;
  readonly policy: Policy | undefined;
  /** All files that were named. */
  readonly files: readonly string[];
  /** Reads one of them, also one that can be read only once. Throws as `readInput`. */
  read(file: string): Uint8Array;
  /** The checkpoints among them and in the proofs among them. */
  anchors(): readonly NamedAnchor[];
}

/** A checkpoint that was named, and either what it vouches for or why it vouches for nothing. */
export type NamedAnchor = { readonly file: string } & (
  | { readonly anchor: Anchor }
  | { readonly error: BullaError }
);

/** The verdict on one artifact. */
export interface Verdict {
  /** `undecided`: it is well formed, but what would prove it is not at hand. */
  readonly result: 'good' | 'bad' | 'undecided';
  /** The code of what is wrong or missing; `ok` when nothing is. */
  readonly code: Code | 'ok';
  readonly message: string;
  /** What else people are told, a line each; `details` holds the same for programs. */
  readonly lines?: readonly string[];
  /** What was found, for the report. */
  readonly details: Readonly<Record<string, unknown>>;
  /** What a pass does not prove. */
  readonly notProven: readonly string[];
}

/** One kind of file that `bulla verify` knows. */
export interface Artifact {
  readonly kind: string;
  /** Whether a good one proves that somebody signed it. */
  readonly isSigned: boolean;
  /** Whether the file claims to be of this kind; it may still be bad. No file is of two kinds. */
  recognises(bytes: Uint8Array): boolean;
  verify(file: string, bytes: Uint8Array, trust: Trust): Promise<Verdict>;
}

/** Every kind. Each module adds its own. */
export const artifacts: readonly Artifact[] = [
  proof,
  checkpoint,
  signedNote,
  bundle,
  lockfile,
  envelope,
  authorization,
  capability,
  manifest,
  chain,
];
