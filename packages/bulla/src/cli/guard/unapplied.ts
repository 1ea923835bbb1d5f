import { BullaError } from '@bulla/core/error';
import type { LoadedConfig } from '../../app/index.ts';

/**
 * Refuses what the configuration can say and the guard does not apply yet: whoever wrote it relies on it. Throws
 * `CONFIG_UNSOUND` with the path.
 */
export function refuseUnapplied({ witnesses }: LoadedConfig): void {
  if (witnesses === undefined) return;
  const message = 'The guard does not apply "witnesses" yet; leave it out.';
  throw new BullaError('CONFIG_UNSOUND', message, { path: '/witnesses' });
}
