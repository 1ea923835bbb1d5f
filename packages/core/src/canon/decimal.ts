/**
 * Whether two number texts stand for the same decimal number, digit by digit: `1.50` and `15e-1` do, and a text and
 * the double that it was read as often do not. Takes linear time, also over hostile digits.
 */
export function sameDecimal(a: string, b: string): boolean {
  if (a === b) return true;
  const [x, y] = [decimal(a), decimal(b)];
  return x.digits === y.digits && x.power === y.power;
}

/** The number as digits without zeros at either end, times a power of ten; minus zero is zero. */
function decimal(text: string): { digits: string; power: bigint } {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(
    text,
  )!;
  const all = whole! + fraction;
  let start = 0;
  while (all.charCodeAt(start) === 48) start++;
  let end = all.length;
  while (end > start && all.charCodeAt(end - 1) === 48) end--;
  if (start === end) return { digits: '0', power: 0n };
  return {
    digits: sign! + all.slice(start, end),
    power: BigInt(exponent) - BigInt(fraction.length) + BigInt(all.length - end),
  };
}
