import { BullaError } from '@bulla/core/error';
import { nodeTooOld } from '../node-version.ts';

/**
 * To be called before SQLite is loaded: its compiled module, made for the Node that Bulla needs, ends an older one
 * without a word. Throws `RUNTIME_TOO_OLD`.
 */
export function refuseOldNode(version: string = process.versions.node): void {
  const fault = nodeTooOld(version);
  if (fault !== null) throw new BullaError('RUNTIME_TOO_OLD', `Bulla ${fault}.`);
}
