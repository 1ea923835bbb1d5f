import type { Snapshot } from '../capability/index.ts';
import type { Code } from '../codes.ts';
import type { Checkpoint } from '../crypto/index.ts';
import type { Authorization, Envelope, Policy } from '../envelope/index.ts';
import type { BullaError } from '../error.ts';
import type { JsonObject } from '../json/index.ts';
import type { Bundle, Lock } from '../lock/index.ts';
import type { LogProof } from '../log/index.ts';
import type { Bindings, ManifestReport } from '../manifest/index.ts';
import type { ChainSource } from './source.ts';

/** What was read of an artifact, or why that cannot be read; the verdict tells. */
export type Read<Value> = Value | BullaError;

/** Each kind of artifact, and what was read of it. Nothing here is verified. */
interface Contents {
  'log proof': { readonly proof: Read<LogProof> };
  checkpoint: { readonly note: string; readonly checkpoint: Checkpoint };
  'signed note': { readonly note: string };
  bundle: { readonly bundle: Read<Bundle> };
  lockfile: {
    readonly bytes: Uint8Array;
    readonly lock: Read<Lock>;
    /** The signature that belongs to it, where the caller says so; else it is looked for among the artifacts. */
    readonly signature?: { readonly name: string; readonly bytes: Uint8Array } | undefined;
  };
  /** A detached signature on a lock, as the released program writes it or as a DSSE envelope. */
  'lock signature': { readonly bytes: Uint8Array };
  'execution envelope': { readonly envelope: Read<Envelope> };
  authorization: { readonly bytes: Uint8Array; readonly claims: Read<Authorization> };
  'capability envelope': { readonly snapshot: Snapshot };
  manifest: { readonly report: ManifestReport };
  /** Which tools of servers the tools of a manifest are. */
  bindings: { readonly bindings: Read<Bindings> };
  /** A policy of rules over tools and calls, in YAML. */
  rules: { readonly bytes: Uint8Array };
  /** A policy that envelopes are bound to. */
  'execution policy': { readonly policy: Read<Policy> };
  /** One capsule, or a chain of them in any of the formats that are read. */
  capsules: {
    readonly source: ChainSource;
    /** The record, where the source is one capsule by itself; its bytes where they are not strict JSON. */
    readonly capsule: JsonObject | Uint8Array | null;
  };
}

export type Kind = keyof Contents;

/** One recognised artifact. `name` is a label for reports and decides nothing. */
export type Artifact<K extends Kind = Kind> = {
  [Each in K]: { readonly kind: Each; readonly name: string } & Contents[Each];
}[K];

/** Whether a good one proves that somebody signed it. */
export const SIGNED: Readonly<Record<Kind, boolean>> = {
  'log proof': true,
  checkpoint: true,
  'signed note': true,
  bundle: true,
  lockfile: true,
  'lock signature': true,
  'execution envelope': true,
  authorization: true,
  'capability envelope': false,
  manifest: false,
  bindings: false,
  rules: false,
  'execution policy': false,
  capsules: true,
};

export const KINDS = Object.keys(SIGNED) as readonly Kind[];

export interface Verdict {
  readonly name: string;
  readonly kind: Kind;
  /**
   * `undecided`: it is well formed, but what would prove it is not at hand. `unreadable`: it, or what belongs to it,
   * cannot be read as what it claims to be.
   */
  readonly result: 'good' | 'bad' | 'undecided' | 'unreadable';
  /** The code of what is wrong or missing; `ok` when nothing is. */
  readonly code: Code | 'ok';
  readonly message: string;
  /** Of what is undecided: whether a key that is not at hand would decide. */
  readonly missing?: 'key';
  /** The checks in their order, where the result is more than one; what was not reached is `skipped`. */
  readonly steps?: readonly Step[];
  /** What else people are told, a line each; `details` holds the same for programs. */
  readonly lines?: readonly string[];
  readonly details: Readonly<Record<string, unknown>>;
  /** What a pass does not prove. */
  readonly notProven: readonly string[];
}

export interface Step {
  readonly step: string;
  readonly status: 'passed' | 'failed' | 'skipped';
}

/** A verdict before it is known whose it is. */
export type Finding = Omit<Verdict, 'name' | 'kind'>;

export function findings(notProven: readonly string[]) {
  const finding =
    (result: Finding['result']) =>
    (code: Finding['code'], message: string, details: Finding['details'] = {}): Finding => ({
      ...{ result, code, message, details, notProven },
    });
  return {
    good: (message: string, details: Finding['details']) => finding('good')('ok', message, details),
    bad: finding('bad'),
    undecided: finding('undecided'),
    /** Undecided for want of a key. */
    keyless: (code: Code, message: string, details?: Finding['details']): Finding => ({
      ...finding('undecided')(code, message, details),
      missing: 'key',
    }),
  };
}

/** Ordered checks: all before `failed` passed, all behind it were not reached. */
export function steps(names: readonly string[], failed?: string): Step[] {
  const at = failed === undefined ? names.length : names.indexOf(failed);
  return names.map((step, i) => ({ step, status: i < at ? 'passed' : i === at ? 'failed' : 'skipped' }));
}
