export { type DiffPart, lineDiff, wordDiff } from './diff.ts';
export { DURATION_FORM, parseDuration } from './duration.ts';
export { inspectText, type TextFinding } from './inspect.ts';
export { markdownBlock, markdownCell, markdownCode, markdownReferences } from './markdown.ts';
export { normalized } from './normalize.ts';
export { references } from './references.ts';
export { mixedScript, scripts } from './scripts.ts';
export { confusable, skeleton } from './skeleton.ts';
export { safeText, visible } from './visible.ts';
