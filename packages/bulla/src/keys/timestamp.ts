import { BullaError } from '@bulla/core/error';

const DAY_AND_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;
const WRITTEN = /^.{19}(?:\.\d{6})?\+00:00$/;
const GIVEN = /^.{19}(?:\.\d{1,6})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/**
 * Whether a text is a time as the capsule references write it: UTC as `+00:00`, with no fraction or six digits.
 * Such texts sort by time, because `+` comes before `.`.
 */
export function isTimestamp(text: string): boolean {
  return WRITTEN.test(text) && isReal(text);
}

/** Whether day and time exist: Date would turn 30 February into 2 March. */
function isReal(text: string): boolean {
  if (!DAY_AND_TIME.test(text)) return false;
  const date = new Date(`${text.slice(0, 19)}Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text.slice(0, 19));
}

/** Writes a time as the references do. Throws `KEYRING_TIME` for one that has no such form. */
export function timestamp(date: Date): string {
  const text = Number.isNaN(date.getTime()) ? '' : date.toISOString();
  if (text.length !== 24) throw new BullaError('KEYRING_TIME', 'The time lies outside the years 0 to 9999.');
  return text.endsWith('.000Z') ? `${text.slice(0, 19)}+00:00` : `${text.slice(0, 23)}000+00:00`;
}

/** Reads a time that a person gave (RFC 3339, any offset), to the millisecond. Throws `KEYRING_TIME`. */
export function readTime(text: string): Date {
  if (GIVEN.test(text) && isReal(text)) return new Date(text);
  throw new BullaError(
    'KEYRING_TIME',
    `${JSON.stringify(text)} is not a time such as 2026-01-31T12:00:00Z (RFC 3339).`,
  );
}
