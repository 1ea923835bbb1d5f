import type { Dialect } from './schema.ts';

/** Registered agents, capability links, envelopes and the turns of sessions. */
export function capabilityTables(_: Dialect): string {
  return '';
}
