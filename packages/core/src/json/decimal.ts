const NUMBER = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/**
 * A number text taken apart: `digits` without zeros at either end, times ten to the power of `exponent` and `shift`.
 * Zero has the digit `0`, and is never negative. The exponent is as long as its writer made it.
 */
interface Significand {
  readonly negative: boolean;
  readonly digits: string;
  readonly shift: number;
  readonly exponent: string;
}

/** Takes a number text apart; undefined for a text that is none. Takes linear time, also over hostile digits. */
export function significand(lexeme: string): Significand | undefined {
  const match = NUMBER.exec(lexeme);
  if (match === null) return undefined;
  const [, sign, whole, fraction = '', exponent = '0'] = match;
  const all = whole! + fraction;
  let start = 0;
  while (all.charCodeAt(start) === 48) start++;
  let end = all.length;
  while (end > start && all.charCodeAt(end - 1) === 48) end--;
  if (start === end) return { negative: false, digits: '0', shift: 0, exponent: '0' };
  return {
    negative: sign === '-',
    digits: all.slice(start, end),
    shift: all.length - end - fraction.length,
    exponent: exponent.replace('+', ''),
  };
}

/** Whether two number texts stand for the same number, digit by digit: `1.50` and `15e-1` do. */
export function sameDecimal(a: string, b: string): boolean {
  if (a === b) return true;
  const [x, y] = [significand(a), significand(b)];
  if (x === undefined || y === undefined) return false;
  return x.digits === y.digits && x.negative === y.negative && powerOf(x) === powerOf(y);
}

/** The power of ten, however long the exponent is. */
export function powerOf({ exponent, shift }: Significand): bigint {
  return BigInt(exponent) + BigInt(shift);
}

/** Of up to 15 digits, every integer is a double. */
const SHORT = /^-?[0-9]{1,15}(?:\.0+)?$/;

/** Whether the nearest double is, digit by digit, the number that is written. */
export function isDouble(lexeme: string): boolean {
  return SHORT.test(lexeme) || sameDecimal(lexeme, `${Number(lexeme)}`);
}
