/**
 * Capability manifests: what an agent declares that it can do, and what it needs for it. They are validated from
 * their text, hashed, compared and drafted here; nothing is stored and nobody is asked.
 * Errors are `BullaError` with a code that starts with `MANIFEST_`, or one of the modules below.
 */
export { type Bindings, createBindings, readBindings, type ServerTool } from './bindings.ts';
export { declaredDigest } from './declared.ts';
export { type DiffOptions, diffManifests } from './diff.ts';
export { CHANGE_CODES, type ChangeCode, type ChangeRule } from './diff-codes.ts';
export type { ManifestChange, ManifestDiff, SubjectKind } from './diff-types.ts';
export { type DraftNote, draftFromLock, type ManifestDraft } from './draft.ts';
export { type Language, PRESET_SCOPES, type PresetScope, scopeLabel } from './presets.ts';
export type { ManifestProblem } from './problems.ts';
export type { ReportPaint, ReportTone } from './report.ts';
export { changeJson, diffJson } from './report-json.ts';
export { diffMarkdown, type ManifestMarkdownOptions } from './report-markdown.ts';
export { diffText, type ManifestTextOptions } from './report-text.ts';
export {
  type CapabilityFlags,
  compareSensitivity,
  DEFAULT_TIMEOUT_MS,
  FLAGS,
  type Flag as CapabilityFlag,
  type Manifest,
  type Scope,
  SENSITIVITIES,
  type Sensitivity,
  type Tool,
} from './types.ts';
export {
  LARGE_MANIFEST_BYTES,
  MAX_MANIFEST_BYTES,
  MAX_MANIFEST_TEXT_BYTES,
  ManifestError,
  type ManifestReport,
  readManifest,
  validateManifest,
} from './validate.ts';
export { nextVersion } from './version.ts';
