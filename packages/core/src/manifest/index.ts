/**
 * Capability manifests: what an agent declares that it can do, and what it needs for it. They are validated from
 * their text, hashed, compared and drafted here; nothing is stored and nobody is asked.
 * Errors are `BullaError` with a code that starts with `MANIFEST_`, or one of the modules below.
 */
export { type Bindings, createBindings, declaredDigest, readBindings } from './bindings.ts';
export { diffManifests, type ManifestDiff } from './diff.ts';
export { CHANGE_CODES } from './diff-codes.ts';
export { draftFromLock, type ManifestDraft } from './draft.ts';
export { type Language, PRESET_SCOPES, scopeLabel } from './presets.ts';
export type { ManifestProblem } from './problems.ts';
export { changeJson, diffJson, diffText, type ReportTone } from './report.ts';
export { diffMarkdown } from './report-markdown.ts';
export { type Manifest, SENSITIVITIES, type Sensitivity } from './types.ts';
export { ManifestError, type ManifestReport, readManifest, validateManifest } from './validate.ts';
