import type { JsonValue } from '../json/index.ts';
import { SchemaDocument } from './document.ts';
import { Prover } from './prover.ts';

/** Enough for arguments of some megabytes under the schemas that a manifest may hold. */
const MAX_STEPS = 2_000_000;

/**
 * Whether a JSON Schema (2020-12; 2019-09 and draft 7 where `$schema` says so) accepts a value; undefined where that
 * cannot be told, or not within the steps. `format` is an annotation. Values are exact. Never throws for a value that
 * was parsed, and never recurses.
 */
export function accepts(schema: JsonValue, value: JsonValue, maxSteps = MAX_STEPS): boolean | undefined {
  return new Prover(maxSteps).accepts([new SchemaDocument('s', schema).root], value);
}
