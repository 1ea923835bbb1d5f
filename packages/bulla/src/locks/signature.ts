import { findInput } from '../os/index.ts';

/** What carries a signature on a lock, with the end of the file's name where it lies beside the lock. */
export const SIGNATURE_KINDS = { sig: '.sig', note: '.note', dsse: '.dsse.json' } as const;
export type SignatureKind = keyof typeof SIGNATURE_KINDS;

/** The first of the signature files beside a lock that is there, or null. Throws `INPUT_UNREADABLE`. */
export function signatureBeside(lock: string): { path: string; bytes: Uint8Array } | null {
  for (const ending of Object.values(SIGNATURE_KINDS)) {
    const path = `${lock}${ending}`;
    const bytes = findInput(path, 'signature');
    if (bytes !== null) return { path, bytes };
  }
  return null;
}
