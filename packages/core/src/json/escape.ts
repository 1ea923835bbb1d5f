const PLAIN = /^[^"\\\u0000-\u001f\ud800-\udfff]*$/;

/**
 * Whether a string stands between quotes as it is: no quote, backslash or control character, and no surrogate,
 * so that only strings with one pay for the check whether it is alone.
 */
export function isPlainString(value: string): boolean {
  const { length } = value;
  // Below this length the loop beats the call into the regular expression.
  if (length > 16) return PLAIN.test(value);
  for (let i = 0; i < length; i++) {
    const c = value.charCodeAt(i);
    if (c < 35 ? c !== 32 && c !== 33 : c === 92 || (c & 0xf800) === 0xd800) return false;
  }
  return true;
}

/** The characters of a string as `JSON.stringify` writes them between the quotes; lone surrogates are escaped. */
export function escapeString(value: string): string {
  return isPlainString(value) ? value : JSON.stringify(value).slice(1, -1);
}
