export type { Character, CharacterClass } from './characters.ts';
export { type DiffPart, lineDiff, wordDiff } from './diff.ts';
export { inspectText, type TextFinding } from './inspect.ts';
export { markdownBlock, markdownCell, markdownCode, markdownReferences } from './markdown.ts';
export { type Form, normalized } from './normalize.ts';
export { type Reference, type References, references } from './references.ts';
export { mixedScript, scripts } from './scripts.ts';
export { confusable, skeleton } from './skeleton.ts';
export { safeText, type VisibleOptions, visible } from './visible.ts';
