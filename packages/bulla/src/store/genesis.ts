import type { Capsule, DataObject } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import { JsonObject } from '@bulla/core/json';

/**
 * The first record of a chain also says under which name the chain's checkpoints are signed, so that a checkpoint
 * cannot be passed off as one of another chain. Throws `STORE_GENESIS` when its place is taken by something else.
 */
export function withOrigin(capsule: Capsule, origin: string): Capsule {
  const environment = members(capsule.context.environment, '/context/environment');
  const bulla = members(environment.bulla ?? {}, '/context/environment/bulla');
  const merged = { ...environment, bulla: { v: 1, ...bulla, origin } };
  return { ...capsule, context: { ...capsule.context, environment: merged } };
}

function members(value: unknown, path: string): DataObject {
  if (value instanceof JsonObject) return Object.fromEntries(value) as DataObject;
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as DataObject;
  throw new BullaError('STORE_GENESIS', 'The first record of a chain names its origin here.', { path });
}
