const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const PART = /([0-9]{1,15})(?:\.([0-9]{1,3}))?(ms|s|m|h|d)/y;

/** The longest time that a timer can be set to: 24 days and some hours. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1;

/** How a duration is written, for help texts and refusals. */
export const DURATION_FORM = 'such as 30s, 10m, 1h30m or 7d';

/**
 * A duration in milliseconds: numbers with a unit (`ms`, `s`, `m`, `h`, `d`), each unit at most once and the longest
 * first, such as `90s`, `1h30m` or `1.5s`. A number without a unit means seconds to some programs and milliseconds to
 * others, so it is none. Returns null for what is no duration, and for one that is no whole number of milliseconds
 * within ±(2⁵³−1).
 */
export function parseDuration(text: string): number | null {
  let total = 0;
  let longer: number = Number.POSITIVE_INFINITY;
  PART.lastIndex = 0;
  for (let end = 0; end < text.length || end === 0; end = PART.lastIndex) {
    const [, whole, fraction = '', unit] = PART.exec(text) ?? [];
    const length = UNITS[unit as keyof typeof UNITS];
    if (length === undefined || length >= longer) return null;
    // In thousandths, so that 0.3s is exactly 300 ms.
    const thousandths = Number(`${whole}${fraction.padEnd(3, '0')}`) * length;
    total += thousandths / 1000;
    longer = length;
  }
  return Number.isSafeInteger(total) ? total : null;
}
