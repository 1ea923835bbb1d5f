import type { JsonObject } from '../json/index.ts';
import type { SchemaComparison } from '../schema/index.ts';
import type { ChangeCode } from './diff-codes.ts';

/** What a change is about. */
export type SubjectKind = 'tool' | 'scope' | 'flag' | 'manifest';

/** One difference between two manifests. */
export interface ManifestChange {
  readonly code: ChangeCode;
  /** JSON Pointer into the new manifest; into the old one for what is gone. */
  readonly path: string;
  /** A sentence. What it quotes of the manifests is visible and cannot end a line. */
  readonly message: string;
  readonly kind: SubjectKind;
  /** The name of the tool, the id of the scope, or the flag; empty for the manifest. */
  readonly name: string;
  /** What the member was and is, if it is a text, a number or a word. */
  readonly before?: string;
  readonly after?: string;
  /** Of a new tool: what it takes. */
  readonly input?: JsonObject;
  /** Of an `input_schema`: what the change means to a caller. */
  readonly schema?: SchemaComparison;
}

/** What a new manifest changes, by whether people must review it. */
export interface ManifestDiff {
  readonly breaking: readonly ManifestChange[];
  readonly non_breaking: readonly ManifestChange[];
}
