import { BullaError } from '../error.ts';
import { type JsonNumber, significand } from '../json/index.ts';

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;

/**
 * A JSON number as CEL sees it: a whole number that fits in 64 bits is an int, however it is written (`100`, `100.0`,
 * `1e2`); any other is the nearest double. Throws `POLICY_INPUT` for one beyond the range of doubles.
 */
export function celNumber({ lexeme }: JsonNumber, path: string): bigint | number {
  const whole = wholeNumber(lexeme);
  if (whole !== null && whole >= MIN && whole <= MAX) return whole;
  const double = Number(lexeme);
  if (Number.isFinite(double)) return double;
  throw new BullaError('POLICY_INPUT', 'A number is beyond what a rule can compare.', { path });
}

/** The value of a lexeme that is a whole number of at most 19 digits. */
function wholeNumber(lexeme: string): bigint | null {
  const { negative, digits, shift, exponent } = significand(lexeme)!;
  if (digits === '0') return 0n;
  const zeros = Number(exponent) + shift;
  if (zeros < 0 || digits.length + zeros > 19) return null;
  return BigInt(`${negative ? '-' : ''}${digits}${'0'.repeat(zeros)}`);
}
