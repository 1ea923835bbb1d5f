import { BullaError } from '../error.ts';

export interface NumberRule {
  /** The rule in a few words, for the profile table. */
  readonly text: string;
  /** Writes a JavaScript number; `float` tells that it stands where a float is demanded. */
  double(value: number, float: boolean): string;
  /** Writes a number from the digits of its source. */
  lexeme(lexeme: string, float: boolean): string;
  /** Writes a BigInt. Default: by its digits, as `lexeme` does. */
  bigint?(value: bigint, float: boolean): string;
}

function notFinite(value: number | string): never {
  throw new BullaError('CANON_NOT_FINITE', `${value} is not a finite number.`);
}

function finite(lexeme: string): number {
  const value = Number(lexeme);
  return Number.isFinite(value) ? value : notFinite(lexeme);
}

/** A short integer is written the same in every form but `-0`. */
const SHORT_INTEGER = /^(?:0|-?[1-9][0-9]{0,14})$/;

/** RFC 8785 §3.2.2.3: the shortest form that ECMAScript prints; minus zero is zero. */
export const ecmascript: NumberRule = {
  text: 'ECMAScript',
  double: (value) => (Number.isFinite(value) ? `${value}` : notFinite(value)),
  lexeme: (lexeme) => (SHORT_INTEGER.test(lexeme) ? lexeme : `${finite(lexeme)}`),
};

/** What `JSON.stringify` makes of numbers: it throws for a BigInt, which has no form there. */
export const jsonStringify: NumberRule = {
  ...ecmascript,
  bigint() {
    throw new BullaError('CANON_BIGINT', 'JSON.stringify, which the profile applies, refuses a BigInt.');
  },
};

/** `repr(float)` of Python: shortest digits, positional for −4 ≤ exponent < 16, else with a two-digit exponent. */
export function pythonFloat(value: number): string {
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0';
  const size = Math.abs(value);
  // In this range JavaScript prints the same digits, without the point of a whole number.
  if (size >= 1e-4 && size < 1e16) return Number.isInteger(value) ? `${value}.0` : `${value}`;
  const [mantissa, exponent] = value.toExponential().split('e') as [string, string];
  return `${mantissa}e${exponentSuffix(Number(exponent))}`;
}

/** The exponent with its sign and at least two digits, as C, Python and Go print it. */
function exponentSuffix(exponent: number): string {
  return `${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

const FRACTION = /[.eE]/;

/** Python's json reads a lexeme with a point or an exponent as a float, all others as an integer of any size. */
function pythonNumber(text: string, nonFinite: (value: number | string) => string): NumberRule {
  const repr = (value: number) => (Number.isFinite(value) ? pythonFloat(value) : nonFinite(value));
  return {
    text,
    // A plain integer could have been either; its JavaScript digits survive a Python re-parse at every size.
    double: (value, float) => (float || !Number.isInteger(value) ? repr(value) : `${value}`),
    lexeme(lexeme, float) {
      if (FRACTION.test(lexeme) || /[NI]/.test(lexeme)) return repr(Number(lexeme));
      // The integer -0 is 0, also where it becomes a float; adding 0 makes it so.
      if (float) return repr(Number(lexeme) + 0);
      return lexeme === '-0' ? '0' : lexeme;
    },
  };
}

export const python = pythonNumber("Python's rule by lexeme", notFinite);

/** As Python prints it with `allow_nan`, which is its default. */
export const pythonNonFinite = pythonNumber(
  "Python's rule by lexeme, NaN and Infinity printed",
  (value) => `${value}`,
);

/** The TypeScript reference: ECMAScript numbers, with a decimal point forced at the float paths. */
export const typescriptReference: NumberRule = {
  text: 'ECMAScript, exactly as JavaScript prints it',
  double(value, float) {
    const text = ecmascript.double(value, float);
    return float && !FRACTION.test(text) ? `${text}.0` : text;
  },
  // It reads numbers as doubles, so a digit that does not survive could be altered unnoticed: refused.
  lexeme(lexeme, float) {
    const value = finite(lexeme);
    const text = typescriptReference.double(value, float);
    if (lexeme !== text && lexeme !== `${value}`) {
      throw new BullaError('CANON_NUMBER', `${lexeme} is not what JavaScript prints for this number.`);
    }
    return text;
  },
};

/** Execution Envelope v1 §3.5: base-10 integers, no leading zeros, no exponent, no fraction. */
export const safeInteger: NumberRule = {
  text: 'base-10 integers within ±(2⁵³−1)',
  double(value) {
    if (!Number.isInteger(value) || Object.is(value, -0)) notInteger(value);
    return Number.isSafeInteger(value) ? `${value}` : outOfRange(value);
  },
  lexeme(lexeme) {
    if (!/^(?:0|-?[1-9][0-9]*)$/.test(lexeme)) notInteger(lexeme);
    return Number.isSafeInteger(Number(lexeme)) ? lexeme : outOfRange(lexeme);
  },
};

function notInteger(value: number | string): never {
  const text = Object.is(value, -0) ? '-0' : value;
  throw new BullaError('CANON_NUMBER', `${text} is not a base-10 integer.`);
}

function outOfRange(value: number | string): never {
  throw new BullaError('CANON_NUMBER', `${value} lies outside ±(2^53-1).`);
}

const signedZero = (value: number) => (Object.is(value, -0) ? '-0' : ecmascript.double(value, false));

/** "Numbers preserved as-is from source." */
export const source: NumberRule = {
  text: 'as in the source',
  double: signedZero,
  lexeme: (lexeme) => (/[NI]/.test(lexeme) ? notFinite(lexeme) : lexeme),
};

/** Go's encoding/json for a float64: ECMAScript's form, but minus zero keeps its sign. */
export const goFloat64: NumberRule = {
  text: 'float64 in ECMAScript form, -0 kept',
  double: signedZero,
  lexeme: (lexeme) => signedZero(finite(lexeme)),
};

/**
 * The released program's v2: integers within ±(2⁵³−1) plain, everything else as Go's `%g` with the shortest
 * digits, which is positional for −4 ≤ exponent < 6. In that range JavaScript prints the same.
 */
export const goG: NumberRule = {
  text: 'float64; integers within ±(2⁵³−1) plain, else Go %g',
  double(value) {
    if (!Number.isFinite(value)) notFinite(value);
    if (Number.isSafeInteger(value)) return `${value}`;
    const [mantissa, exponentText] = value.toExponential().split('e') as [string, string];
    const exponent = Number(exponentText);
    return exponent < -4 || exponent >= 6 ? `${mantissa}e${exponentSuffix(exponent)}` : `${value}`;
  },
  lexeme: (lexeme, float) => goG.double(finite(lexeme), float),
};
