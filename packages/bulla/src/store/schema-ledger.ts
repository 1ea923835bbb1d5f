import type { Dialect } from './schema.ts';

/** Envelopes: used nonces, what is reserved of limits, policies and decisions. */
export function ledgerTables(_: Dialect): string {
  return '';
}
