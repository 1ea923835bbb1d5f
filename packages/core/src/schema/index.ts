export { type SchemaArgument, schemaArguments } from './arguments.ts';
export {
  type CompareOptions,
  compareSchemas,
  type SchemaComparison,
  type SchemaRelation,
} from './compare.ts';
export { remoteReferences } from './document.ts';
export type { ChangeKind, Direction, SchemaChange } from './sentence.ts';
