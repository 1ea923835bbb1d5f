import { BullaError } from '../error.ts';

/**
 * Writes a moment as the protocol wants it, `YYYY-MM-DDTHH:MM:SS+00:00`, with six fraction digits unless the
 * fraction is zero (what Python's `isoformat` prints). Throws `CAPSULE_TIMESTAMP` for an invalid date and for years
 * outside 0001 to 9999.
 */
export function isoTimestamp(date: Date): string {
  const text = Number.isNaN(date.getTime()) ? '' : date.toISOString();
  // Years beyond four digits are written longer, with a sign.
  if (text.length !== 24 || text.startsWith('0000'))
    throw new BullaError('CAPSULE_TIMESTAMP', 'The moment lies outside the years 0001 to 9999, or is none.');
  const millis = text.slice(20, 23);
  return `${text.slice(0, 19)}${millis === '000' ? '' : `.${millis}000`}+00:00`;
}

const LOOSE =
  /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/**
 * Whether both references would read the text as a moment with a timezone. Python alone also reads basic and week
 * dates, comma fractions and offsets without a colon; JavaScript alone reads 30 February, hour 24 and year 0000.
 */
export function isMoment(text: string): boolean {
  const found = LOOSE.exec(text);
  return found !== null && isReal(found);
}

const STRICT = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(?!000000)\d{6})?\+00:00$/;

/**
 * Whether the text is exactly what `isoTimestamp` writes. A fraction of six zeros is refused too: Python drops it
 * when it loads the record, and then its hash differs.
 */
export function isIsoTimestamp(text: string): boolean {
  const found = STRICT.exec(text);
  return found !== null && isReal(found);
}

/** A calendar date and a time of day that exist; no leap second, since neither reference reads one. */
function isReal([, year, month, day, hour, minute, second = '0']: RegExpExecArray): boolean {
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return false;
  const [y, m, d] = [Number(year), Number(month), Number(day)];
  if (y < 1 || m < 1 || m > 12 || d < 1) return false;
  const leap = (y % 4 === 0 && y % 100 !== 0) || y % 400 === 0;
  return d <= (m === 2 ? (leap ? 29 : 28) : m === 4 || m === 6 || m === 9 || m === 11 ? 30 : 31);
}
