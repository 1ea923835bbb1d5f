import { randomBytes } from 'node:crypto';
import { BullaError } from '@bulla/core/error';
import type { Keyring } from './epoch.ts';
import { loadKeyring } from './keyring.ts';
import { initKeyring, type NewKeyOptions } from './keyring-change.ts';

/**
 * The keyring of a directory; one is made where there is none. Safe when several processes do it at the same time:
 * one makes it, the others get that one. A keyring that cannot be read is never replaced: then this rejects as
 * {@link loadKeyring} throws. Rejects with `KEYRING_EXISTS` for a directory that holds private keys without their
 * keyring, and as {@link initKeyring} does.
 */
export async function ensureKeyring(
  dir: string,
  options: Partial<NewKeyOptions> = {},
): Promise<{ keyring: Keyring; made: boolean }> {
  const found = keyringIfThere(dir);
  if (found !== null) return { keyring: found, made: false };
  const fresh = { now: () => new Date(), randomBytes: (size: number) => new Uint8Array(randomBytes(size)) };
  try {
    return { keyring: await initKeyring(dir, { ...fresh, ...options }), made: true };
  } catch (error) {
    if (!(error instanceof BullaError) || error.code !== 'KEYRING_EXISTS') throw error;
    const other = keyringIfThere(dir);
    if (other === null) throw error;
    return { keyring: other, made: false };
  }
}

function keyringIfThere(dir: string): Keyring | null {
  try {
    return loadKeyring(dir);
  } catch (error) {
    if (error instanceof BullaError && error.code === 'KEYRING_MISSING') return null;
    throw error;
  }
}
