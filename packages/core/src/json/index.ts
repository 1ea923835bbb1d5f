export {
  type AnyObject,
  isInteger,
  isObject,
  keysOf,
  member,
  memberAt,
  textAt,
  toNumber,
  valuesOf,
} from './access.ts';
export {
  anyObject,
  anyText,
  type Check,
  type Fault,
  integer,
  list,
  optional,
  orNull,
  type Report,
  record,
  text,
  word,
} from './check.ts';
export { isDouble, powerOf, sameDecimal, significand } from './decimal.ts';
export { escapeString, isPlainString } from './escape.ts';
export { joined, lineBatches, lines } from './lines.ts';
export { spanIn } from './locate.ts';
export {
  checkMembers,
  type Fields,
  isCaseTwin,
  Member,
  oneCode,
  quoted,
  TYPE_NAMES,
  type TypeName,
  typeOf,
} from './members.ts';
export {
  DEFAULT_MAX_DEPTH,
  type Leniency,
  type ParseOptions,
  parse,
  parseWithSpans,
  type Span,
} from './parse.ts';
export { toPlain } from './plain.ts';
export {
  type Path,
  parsePointer,
  pointer,
  positionOf,
  spanAt,
  type Trail,
  trailPointer,
  valueAt,
} from './pointer.ts';
export { sameValue } from './same.ts';
export { type Limits, parseStrictly } from './strict.ts';
export { DEFAULT_MAX_BYTES } from './text.ts';
export { float, JsonNumber, JsonObject, type JsonValue, number } from './value.ts';
export { createWriter, type FloatPaths, isPlain, stringify, type WriteRules, type Writer } from './write.ts';
