import type { serverPolicy } from './policy.ts';

/**
 * Loads the policy of a gateway: a preset or a file. The engine of rules is loaded only here, since most sessions have
 * none. Rejects as `loadPolicy` throws.
 */
export async function loadServerPolicy(word: string): Promise<ReturnType<typeof serverPolicy>> {
  return (await import('./policy.ts')).serverPolicy(word);
}
