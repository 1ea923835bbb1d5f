import type { Kind, Verdict } from '@bulla/core/verify';

/** How a missing key is named on the command line. */
export const NAME_KEYS = 'Name the key with --public-key or --keyring.';
/** The same for the keys of records. */
export const NAME_RECORD_KEYS = `${NAME_KEYS} "bulla keys export-public --all" writes those of a keyring.`;

const HINTS: Readonly<Partial<Record<Kind, string>>> = {
  capsules: NAME_RECORD_KEYS,
  'signed note': 'Name the key with --vkey.',
  lockfile: 'Name the key with -k, --vkey or --keyring.',
  'lock signature': 'Name the key with -k, --vkey or --keyring.',
  bundle: 'Name the key with -k or --keyring.',
};

/** The message of a verdict, with what to type where a key is missing. */
export function messageOf({ kind, message, missing }: Verdict): string {
  if (missing === undefined) return message;
  return `${message} ${HINTS[kind] ?? NAME_KEYS}`;
}
