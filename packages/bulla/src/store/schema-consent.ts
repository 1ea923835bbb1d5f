import type { Dialect } from './schema.ts';

/** Agents with their manifests, grants, prompts and decisions. */
export function consentTables(_: Dialect): string {
  return '';
}
