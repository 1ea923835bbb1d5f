export { schemaArguments } from './arguments.ts';
export { compareSchemas, type SchemaComparison, type SchemaRelation } from './compare.ts';

export { DIALECT_2020_12, PatternBudget, type SchemaFault, schemaFaults } from './faults.ts';
export { KEYWORD_FORMS } from './keyword-forms.ts';
export { accepts } from './prover.ts';
export type { ChangeKind, SchemaChange } from './sentence.ts';
export { type Validator, validator } from './validator.ts';
