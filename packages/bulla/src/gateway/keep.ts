import { type JsonValue, parsePointer, valueAt } from '@bulla/core/json';
import type { Keep, Removed } from '../record/index.ts';
import { findSecrets, redact, TOO_LARGE } from './secrets/index.ts';

/**
 * What of a value may be kept: all of it where no pointer leads into it and nothing in it looks like a secret; else a copy
 * without that; nothing where it cannot be searched, or has more than 1 MiB of strings and names behind the pointers.
 * Never rejects: a call does not depend on what is kept of it.
 */
export async function keepOf(value: JsonValue, pointers: readonly string[]): Promise<Keep> {
  try {
    const rules = pointers.filter((pointer) => valueAt(value, parsePointer(pointer)!) !== undefined);
    // First, so that what a rule removes is neither searched nor counted.
    const searched = redact(value, rules, []);
    const found = await findSecrets(searched);
    if (found.some(({ kind }) => kind === TOO_LARGE)) return { unkept: 'RECORD_REDACTION_TOO_LARGE' };
    if (rules.length + found.length === 0) return 'whole';
    const removed: Removed[] = [
      ...rules.map((pointer) => ({ pointer, by: 'rule' }) as const),
      ...found.map((secret) => ({ ...secret, by: 'secret' }) as const),
    ];
    return { removed, value: redact(searched, [], found) };
  } catch {
    return { unkept: 'RECORD_REDACTION_FAILED' };
  }
}
