export { accepts } from './accepts.ts';
export { type SchemaArgument, schemaArguments } from './arguments.ts';
export {
  type CompareOptions,
  compareSchemas,
  type SchemaComparison,
  type SchemaRelation,
} from './compare.ts';
export { remoteReferences } from './document.ts';
export {
  DIALECT_2020_12,
  PatternBudget,
  type SchemaFault,
  type SchemaFaultKind,
  schemaFaults,
} from './faults.ts';
export { KEYWORD_FORMS, type KeywordForm } from './keyword-forms.ts';
export type { ChangeKind, Direction, SchemaChange } from './sentence.ts';
