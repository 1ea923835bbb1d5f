import type { JsonObject } from '../json/index.ts';

/** How much a person is asked: not at all, once in a while, at every call. From the mildest to the gravest. */
export const SENSITIVITIES = ['low', 'medium', 'high'] as const;
export type Sensitivity = (typeof SENSITIVITIES)[number];

/** Above, below or equal to zero as `a` is graver, milder or the same. */
export function compareSensitivity(a: Sensitivity, b: Sensitivity): number {
  return SENSITIVITIES.indexOf(a) - SENSITIVITIES.indexOf(b);
}

/** A permission that a person grants or not. */
export interface Scope {
  readonly id: string;
  readonly label_i18n_key: string;
  readonly description_i18n_key?: string;
  readonly sensitivity: Sensitivity;
}

/** A tool that the agent can have called. */
export interface Tool {
  readonly name: string;
  readonly description_i18n_key: string;
  /** A Draft 2020-12 schema of an object that takes no member it does not describe. */
  readonly input_schema: JsonObject;
  /** The `id` of one of the manifest's scopes. */
  readonly permission_scope: string;
  /** What the manifest says, or the default. */
  readonly timeout_ms: number;
  /** Whether the agent says that it cannot do without; false where the manifest does not say. */
  readonly required: boolean;
}

export const DEFAULT_TIMEOUT_MS = 10_000;

export const FLAGS = [
  'supports_streaming',
  'supports_artifacts',
  'supports_voice',
  'supports_group_chat',
] as const;
type Flag = (typeof FLAGS)[number];
export type CapabilityFlags = Readonly<Record<Flag, boolean>>;

/** A capability manifest that was validated; `readManifest` and `validateManifest` make it, and nothing else. */
export interface Manifest {
  readonly schema_version: '1.0';
  readonly agent_version: string;
  readonly tools: readonly Tool[];
  readonly permission_scopes: readonly Scope[];
  readonly capability_flags: CapabilityFlags;
  /** As it was written, losslessly. */
  readonly document: JsonObject;
  /** The canonical form (RFC 8785), and its length in UTF-8. */
  readonly canonical: string;
  readonly bytes: number;
  /** `capability_manifest_hash`: SHA-256 of the canonical form, in hex. */
  readonly hash: string;
}
