import { powerOf, significand } from '../json/index.ts';

/** An exact decimal: `digits` without zeros at either end, times ten to the `power`. Zero is `0`, never negative. */
export interface Decimal {
  readonly negative: boolean;
  readonly digits: string;
  readonly power: number;
}

/** Numbers with a longer exponent or more digits than this are not understood: arithmetic on them would be slow. */
const MAX_EXPONENT_DIGITS = 9;
const MAX_DIGITS = 1000;

export const ONE: Decimal = { negative: false, digits: '1', power: 0 };

/** Reads the text of a JSON number; undefined when it is beyond reason or not finite. */
export function decimal(lexeme: string): Decimal | undefined {
  const parts = significand(lexeme);
  if (parts === undefined || parts.digits.length > MAX_DIGITS || parts.exponent.length > MAX_EXPONENT_DIGITS)
    return undefined;
  const { negative, digits, shift, exponent } = parts;
  return { negative, digits, power: digits === '0' ? 0 : Number(exponent) + shift };
}

/** The same text for the same number, also for one beyond reason. */
export function numberKey(lexeme: string): string {
  const number = decimal(lexeme);
  if (number !== undefined) return decimalText(number);
  const parts = significand(lexeme);
  if (parts === undefined) return lexeme;
  return `${parts.negative ? '-' : ''}${parts.digits}e${powerOf(parts)}`;
}

/** The number as JSON, the same text for the same number. */
export function decimalText({ negative, digits, power }: Decimal): string {
  const sign = negative ? '-' : '';
  if (power >= 0 && power < 20) return sign + digits + (digits === '0' ? '' : '0'.repeat(power));
  if (power < 0 && power >= -20) {
    const padded = digits.padStart(1 - power, '0');
    return `${sign}${padded.slice(0, power)}.${padded.slice(power)}`;
  }
  return `${sign}${digits}e${power}`;
}

/** Negative, zero or positive, as `a` is below, equal to or above `b`. */
export function compare(a: Decimal, b: Decimal): number {
  if (a.negative !== b.negative) return a.negative ? -1 : 1;
  return a.negative ? compareSize(b, a) : compareSize(a, b);
}

function compareSize(a: Decimal, b: Decimal): number {
  if (a.digits === '0' || b.digits === '0') return Number(a.digits !== '0') - Number(b.digits !== '0');
  const order = a.digits.length + a.power - b.digits.length - b.power;
  if (order !== 0) return order;
  return a.digits < b.digits ? -1 : a.digits > b.digits ? 1 : 0;
}

export function isInteger(value: Decimal): boolean {
  return value.power >= 0;
}

/** Whether `value` is a whole multiple of `unit`; undefined when it would take too long to tell. */
export function isMultiple(value: Decimal, unit: Decimal): boolean | undefined {
  if (unit.digits === '0') return undefined;
  if (value.digits === '0') return true;
  const shift = value.power - unit.power;
  if (Math.abs(shift) > MAX_DIGITS) return undefined;
  const [top, bottom] = [BigInt(value.digits), BigInt(unit.digits)];
  return shift >= 0
    ? (top * 10n ** BigInt(shift)) % bottom === 0n
    : top % (bottom * 10n ** BigInt(-shift)) === 0n;
}

/** The whole numbers next to a value: the greatest not above it and the least not below it. */
export function wholesAround(value: Decimal): { floor: Decimal; ceiling: Decimal } {
  if (isInteger(value)) return { floor: value, ceiling: value };
  const whole = value.digits.slice(0, Math.max(0, value.digits.length + value.power));
  const inner = BigInt(whole === '' ? '0' : whole) * (value.negative ? -1n : 1n);
  const [floor, ceiling] = value.negative ? [inner - 1n, inner] : [inner, inner + 1n];
  return { floor: decimal(String(floor))!, ceiling: decimal(String(ceiling))! };
}

/** The value plus a small whole number; undefined when it is too large to be written out. */
export function plus(value: Decimal, step: bigint): Decimal | undefined {
  if (!isInteger(value) || value.power > MAX_DIGITS) return undefined;
  const whole = BigInt(value.digits) * 10n ** BigInt(value.power) * (value.negative ? -1n : 1n);
  return decimal(String(whole + step));
}
