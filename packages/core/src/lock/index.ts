/**
 * Locks: what a tool server offers, pinned whole in a file that the released lock program reads too; how
 * a server drifts from it; signatures over it; bundles. Everything works on bytes that the caller read, and
 * nothing here trusts them.
 * Errors are `BullaError` with a code that starts with `LOCK_`, `DSSE_` or `BUNDLE_`, or one of the modules
 * below.
 */

export {
  type Bundle,
  type BundleFiles,
  readBundle,
  type VerifiedBundle,
  verifyBundle,
  writeBundle,
} from './bundle/bundle.ts';
export type { BundleManifest } from './bundle/manifest.ts';
export { DEFAULT_ZIP_LIMITS, type ZipLimits } from './bundle/unzip.ts';
export { DRIFT_CODES, type DriftCode } from './drift/codes.ts';
export {
  type Drift,
  type DriftCounts,
  type DriftOptions,
  type DriftVerdict,
  drift,
  verdict,
  withoutTools,
} from './drift/drift.ts';
export {
  type DriftChange,
  type DriftItem,
  type DriftKind,
  SEVERITIES,
  type Severity,
} from './drift/item.ts';
export { openDsse, preAuthEncoding, signDsse } from './file/dsse.ts';
export { DEFAULT_EXCLUSIONS, type Entry, type Exclusions, entryOf } from './file/entry.ts';
export {
  hashNormalized,
  hashPrompt,
  hashSchema,
  hashTemplate,
  hashText,
  hashTool,
  LOCK_PROFILES,
  type LockProfile,
  type PromptHashes,
  type TemplateHashes,
  type ToolHashes,
} from './file/hashes.ts';
export { type Authorization, type Identity, NO_AUTHORIZATION } from './file/identity.ts';
export {
  type Coverage,
  type Hold,
  type Lock,
  lockDigest,
  type ReadLockOptions,
  readLock,
} from './file/lock.ts';
export { type Flag, type Native, nativeOf, surfaceOf } from './file/native.ts';
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
export { type LockVersion, NATIVE_KEY, type Released } from './file/released.ts';
export { refuseRemoteRefs } from './file/remote-ref.ts';
export { type Risk, type RiskLevel, riskKeywords, riskLevel, riskOf } from './file/risk.ts';
export { keptOf, type LeftOut, matchNames, narrowed } from './file/selection.ts';
export {
  type LockSignature,
  openSigned,
  readSignature,
  type SignatureForm,
  signLock,
  writeSignature,
} from './file/signature.ts';
export {
  type AssertedBy,
  LOCK_PREDICATE_TYPE,
  lockStatement,
  openAttested,
  type StatementOptions,
  signLockStatement,
} from './file/statement.ts';
export {
  byKey,
  type Content,
  type Era,
  LIST_KINDS,
  LISTS,
  type ListKind,
  type Surface,
} from './file/surface.ts';
export type { Verification, VerifiedLock } from './file/verified.ts';
export { type LockWarning, type WriteLockOptions, writeLock } from './file/write.ts';
export { driftJson, type JsonOptions } from './report/json.ts';
export { driftJunit } from './report/junit.ts';
export { driftMarkdown, type MarkdownOptions } from './report/markdown.ts';
export type { Paint, ReportOptions, Tone } from './report/report.ts';
export { driftSarif, type SarifOptions } from './report/sarif.ts';
export { driftText, type TextOptions } from './report/text.ts';
