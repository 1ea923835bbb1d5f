import { isObject, keysOf, member } from './access.ts';
import { checkMembers, quoted, TYPE_NAMES } from './members.ts';
import type { Path } from './pointer.ts';
import { JsonNumber } from './value.ts';

/** What is wrong with a document: a value, a field that it must not have, or a field that it lacks. */
export type Fault = 'invalid' | 'unknown' | 'missing';

/** Is told of every fault in the order of the checks; it may throw, to stop at the first. */
export type Report = (fault: Fault, at: Path, sentence: string) => void;

/** One rule of the shape of a document, parsed or plain. The parser has already held a text to strict JSON. */
export interface Check {
  /** What the value must be, to go after `This must be`. */
  readonly what: string;
  readonly nullable: boolean;
  /** Whether a record may lack the field. */
  readonly optional?: true;
  run(value: unknown, at: Path, report: Report): void;
}

function check(what: string, accepts: (value: unknown) => boolean): Check {
  return {
    what,
    nullable: false,
    run(value, at, report) {
      if (!accepts(value)) report('invalid', at, `This must be ${what}.`);
    },
  };
}

/** A string of this length (in code points, as JSON Schema counts) that fits the pattern. */
export function text(min: number, max: number, of?: { pattern: RegExp; what: string }): Check {
  const what = `a string of ${min} to ${max} ${of?.what ?? 'characters'}`;
  return check(
    what,
    (value) => typeof value === 'string' && hasLength(value, min, max) && (of?.pattern.test(value) ?? true),
  );
}

/** A string that is not empty, of whole characters: a plain value may hold half of a surrogate pair. */
export const anyText: Check = check(
  'a string that is not empty',
  (value) => typeof value === 'string' && value !== '' && value.isWellFormed(),
);

function hasLength(value: string, min: number, max: number): boolean {
  if (value.length > 2 * max) return false;
  let count = 0;
  for (const _ of value) count++;
  return count >= min && count <= max;
}

export function word(...words: readonly string[]): Check {
  const what = words.length === 1 ? JSON.stringify(words[0]) : `one of ${words.join(', ')}`;
  return check(what, (value) => typeof value === 'string' && words.includes(value));
}

/** Execution Envelope v1 §3.5: base-10 digits, no leading zero, no point, no exponent. */
const PLAIN_INTEGER = /^(?:0|-?[1-9][0-9]*)$/;

/** An integer in plain digits, within ±(2⁵³−1) so that every reader sees the same number. */
export function integer(min: number, max: number = Number.MAX_SAFE_INTEGER): Check {
  const top = max === Number.MAX_SAFE_INTEGER ? '2^53-1' : `${max}`;
  const what = min === max ? `the number ${min}` : `an integer from ${min} to ${top}`;
  return {
    what,
    nullable: false,
    run(value, at, report) {
      if (value instanceof JsonNumber && !PLAIN_INTEGER.test(value.lexeme))
        return report('invalid', at, 'A number here has plain digits, without a point or an exponent.');
      const number = value instanceof JsonNumber ? value.toNumber() : value;
      if (!(Number.isInteger(number) && (number as number) >= min && (number as number) <= max))
        report('invalid', at, `This must be ${what}.`);
    },
  };
}

export const anyObject: Check = check(TYPE_NAMES.object, isObject);

/** What another check accepts, or null, which must then be written. */
export function orNull(inner: Check): Check {
  const what = `${inner.what} or null`;
  return {
    what,
    nullable: true,
    run(value, at, report) {
      if (value === null) return;
      inner.run(value, at, (fault, where, sentence) => {
        const own = where.length === at.length && sentence === `This must be ${inner.what}.`;
        report(fault, where, own ? `This must be ${what}.` : sentence);
      });
    },
  };
}

export function optional(inner: Check): Check {
  return { ...inner, optional: true };
}

export function list(element: Check, min = 0, max: number = Number.POSITIVE_INFINITY): Check {
  const what =
    max === Number.POSITIVE_INFINITY
      ? TYPE_NAMES.list
      : min === max
        ? `a list of exactly ${min}`
        : `a list of ${min} to ${max} elements`;
  return {
    what,
    nullable: false,
    run(value, at, report) {
      if (!Array.isArray(value) || value.length < min || value.length > max) {
        return report('invalid', at, `This must be ${what}.`);
      }
      for (const [i, member] of value.entries()) element.run(member, [...at, i], report);
    },
  };
}

/**
 * An object with exactly these fields, where only those marked so may be missing: the faults of `checkMembers`, then what
 * is wrong inside each field in the order of the table. An open one may have other fields.
 */
export function record(fields: Readonly<Record<string, Check>>, form: 'closed' | 'open' = 'closed'): Check {
  const table = Object.entries(fields);
  const names = {
    required: table.flatMap(([name, { optional }]) => (optional ? [] : [name])),
    optional: table.flatMap(([name, { optional }]) => (optional ? [name] : [])),
  };
  return {
    what: TYPE_NAMES.object,
    nullable: false,
    run(value, at, report) {
      if (!isObject(value)) return report('invalid', at, `This must be ${TYPE_NAMES.object}.`);
      checkMembers({ keys: keysOf(value) }, names, (fault, key) => {
        const where = [...at, key];
        const hint = fields[key]?.nullable ? '; where it does not apply it must be null' : '';
        if (fault === 'missing') report('missing', where, `The field ${quoted(key)} is missing${hint}.`);
        else if (form === 'closed') report('unknown', where, `There is no field ${quoted(key)} here.`);
      });
      for (const [key, field] of table) {
        const found = member(value, key);
        if (found !== undefined) field.run(found, [...at, key], report);
      }
    },
  };
}
