export { escapeString, isPlainString } from './escape.ts';
export { joined, lineBatches, lines } from './lines.ts';
export {
  DEFAULT_MAX_DEPTH,
  type Leniency,
  type ParseOptions,
  parse,
  parseWithSpans,
  type Span,
} from './parse.ts';
export { type Plain, toPlain } from './plain.ts';
export { sameValue } from './same.ts';
export { stringify } from './stringify.ts';
export { DEFAULT_MAX_BYTES } from './text.ts';
export { float, JsonNumber, JsonObject, type JsonValue, number } from './value.ts';
export { createWriter, type FloatPaths, isPlain, type WriteRules, type Writer } from './write.ts';
