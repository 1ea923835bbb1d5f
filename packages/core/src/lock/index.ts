/**
 * Locks: what a tool server offers, pinned whole in a file that the released lock program reads too; how
 * a server drifts from it; signatures over it; bundles. Everything works on bytes that the caller read, and
 * nothing here trusts them.
 * Errors are `BullaError` with a code that starts with `LOCK_`, `DSSE_` or `BUNDLE_`, or one of the modules
 * below.
 */

export { type Bundle, readBundle, type VerifiedBundle, verifyBundle, writeBundle } from './bundle/bundle.ts';

export { DRIFT_CODES, type DriftCode } from './drift/codes.ts';
export {
  type Drift,
  type DriftCounts,
  type DriftOptions,
  drift,
  verdict,
  withoutTools,
} from './drift/drift.ts';
export { type DriftChange, type DriftItem, type DriftKind, SEVERITIES, type Severity } from './drift/item.ts';
export { openDsse } from './file/dsse.ts';
export { DEFAULT_EXCLUSIONS, type Entry, type Exclusions, entryOf } from './file/entry.ts';
export {
  hashPrompt,
  hashTemplate,
  hashTool,
  LOCK_PROFILES,
  type LockProfile,
  type PromptHashes,
  type TemplateHashes,
  type ToolHashes,
} from './file/hashes.ts';
export { type Authorization, type Identity, NO_AUTHORIZATION } from './file/identity.ts';
export {
  type Lock,
  lockDigest,
  readLock,
} from './file/lock.ts';
export { type Flag, type Native, surfaceOf } from './file/native.ts';
export { openNoted, signLockNote } from './file/note.ts';
export { openWith } from './file/open.ts';
export type { Artifact, ArtifactType, Provenance, ProvenanceMethod } from './file/package.ts';
export {
  isExactVersion,
  isInstallPath,
  isPackageName,
  isSha512,
  isTarballPath,
  rootOf,
  type Tree,
  type TreePackage,
  treeOf,
} from './file/package-tree.ts';
export { type Pointed, pointedContent } from './file/pointed.ts';
export type { LockVersion, Released } from './file/released.ts';

export { type RiskLevel, riskKeywords, riskLevel, riskOf } from './file/risk.ts';
export { type LeftOut, lockedSurface, matchNames, narrowed } from './file/selection.ts';
export { openSigned, readSignature, signLock } from './file/signature.ts';
export { openAttested, signLockStatement } from './file/statement.ts';
export { type Content, type Era, LIST_KINDS, LISTS, type ListKind, type Surface } from './file/surface.ts';
export type { VerifiedLock } from './file/verified.ts';
export { type LockWarning, type WriteLockOptions, writeLock } from './file/write.ts';
export { driftJson } from './report/json.ts';
export { driftJunit } from './report/junit.ts';
export { driftMarkdown } from './report/markdown.ts';
export type { PolicyResult } from './report/report.ts';
export { driftSarif } from './report/sarif.ts';
export { driftText, type TextOptions } from './report/text.ts';
