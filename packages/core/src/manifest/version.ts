import { BullaError } from '../error.ts';

/**
 * The `capability_manifest_version` of the manifest that follows: one more than the current one, also for the same
 * content, and 1 for the first. Throws `MANIFEST_VERSION` for what is no version.
 */
export function nextVersion(current: number | null): number {
  if (current === null) return 1;
  if (!Number.isSafeInteger(current) || current < 1 || !Number.isSafeInteger(current + 1))
    throw new BullaError('MANIFEST_VERSION', `${current} is no version of a manifest.`);
  return current + 1;
}
