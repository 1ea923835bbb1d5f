/** What a keyring says of one key besides the key itself. */
export interface KeyFacts {
  /** The full id of the Ed25519 key. */
  readonly key: string;
  /** The full id of the ML-DSA-65 key that signs everything that this key signs; null if there is none. */
  readonly pqKey: string | null;
  /** RFC 3339; null for no limit. */
  readonly notBefore: string | null;
  readonly notAfter: string | null;
}

/**
 * Why a record is not one of the time in which its key was valid, or undefined. The time of the seal (`signed_at`)
 * counts, and the trigger (`trigger.timestamp`, which the signature covers) must not be later than the key's end:
 * `signed_at` alone could be changed by anybody. A record without a time that can be read is of no time.
 */
export function outsideValidity(
  { notBefore, notAfter }: KeyFacts,
  signedAt: string | null,
  timestamp: string | null,
): string | undefined {
  if (notBefore === null && notAfter === null) return undefined;
  const sealed = moment(signedAt ?? timestamp);
  const begun = moment(timestamp) ?? sealed;
  if (sealed === undefined || begun === undefined)
    return 'The key was valid for a limited time, and the record has no time that can be read.';
  if (notBefore !== null && sealed < Date.parse(notBefore))
    return `The key is valid from ${notBefore} on, and the record is of ${signedAt ?? timestamp}.`;
  if (notAfter !== null && Math.max(sealed, begun) > Date.parse(notAfter))
    return `The key was valid until ${notAfter}, and the record is of ${sealed >= begun ? (signedAt ?? timestamp) : timestamp}.`;
  return undefined;
}

/** Milliseconds since 1970. A time without an offset would be another one in every place. */
function moment(text: string | null): number | undefined {
  if (text === null || !/^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/.test(text))
    return undefined;
  const found = Date.parse(text);
  return Number.isNaN(found) ? undefined : found;
}
