import { JsonNumber, JsonObject, type JsonValue } from '../json/index.ts';

export type Path = readonly (string | number)[];

/** What is wrong with a document: a value, a field that it must not have, or a field that it lacks. */
export type Fault = 'invalid' | 'unknown' | 'missing';

/** Is told of every fault in the order of the checks; it may throw, to stop at the first. */
export type Report = (fault: Fault, at: Path, sentence: string) => void;

/** One rule of a document's shape. The parser has already held the text to strict JSON. */
export interface Check {
  /** What the value must be, to go after `This must be`. */
  readonly what: string;
  /** Whether null may stand here. */
  readonly nullable: boolean;
  /** Whether a record may lack the field. */
  readonly optional?: true;
  run(value: JsonValue, at: Path, report: Report): void;
}

function check(what: string, accepts: (value: JsonValue) => boolean): Check {
  return {
    what,
    nullable: false,
    run(value, at, report) {
      if (!accepts(value)) report('invalid', at, `This must be ${what}.`);
    },
  };
}

/** A string of so many characters (code points, as JSON Schema counts) that fits the pattern. */
export function text(min: number, max: number, of?: { pattern: RegExp; what: string }): Check {
  const what = `a string of ${min} to ${max} ${of?.what ?? 'characters'}`;
  return check(
    what,
    (value) => typeof value === 'string' && hasLength(value, min, max) && (of?.pattern.test(value) ?? true),
  );
}

function hasLength(value: string, min: number, max: number): boolean {
  if (value.length > 2 * max) return false;
  let count = 0;
  for (const _ of value) count++;
  return count >= min && count <= max;
}

/** One of a few strings. */
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
      if (!(value instanceof JsonNumber)) return report('invalid', at, `This must be ${what}.`);
      if (!PLAIN_INTEGER.test(value.lexeme)) {
        return report('invalid', at, 'A number here has plain digits, without a point or an exponent.');
      }
      const number = Number(value.lexeme);
      if (!(number >= min && number <= max)) report('invalid', at, `This must be ${what}.`);
    },
  };
}

/** An object with any members. */
export const anyObject: Check = check('an object', (value) => value instanceof JsonObject);

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

/** A field that a record may lack. */
export function optional(inner: Check): Check {
  return { ...inner, optional: true };
}

/** A list of so many elements. */
export function list(element: Check, min: number, max: number): Check {
  const what = min === max ? `a list of exactly ${min}` : `a list of ${min} to ${max} elements`;
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
 * An object with exactly these fields, where only those marked so may be missing: first the unknown ones are told in the order of the document, then the
 * missing ones and then what is wrong inside each field in the order of the table. An open one may have others.
 */
export function record(fields: Readonly<Record<string, Check>>, form: 'closed' | 'open' = 'closed'): Check {
  const table = new Map(Object.entries(fields));
  return {
    what: 'an object',
    nullable: false,
    run(value, at, report) {
      if (!(value instanceof JsonObject)) return report('invalid', at, 'This must be an object.');
      if (form === 'closed') {
        for (const key of value.keys) {
          if (!table.has(key)) report('unknown', [...at, key], `There is no field ${quoted(key)} here.`);
        }
      }
      for (const [key, { nullable, optional }] of table) {
        if (optional || value.has(key)) continue;
        const hint = nullable ? '; where it does not apply it must be null' : '';
        report('missing', [...at, key], `The field ${quoted(key)} is missing${hint}.`);
      }
      for (const [key, field] of table) {
        const member = value.get(key);
        if (member !== undefined) field.run(member, [...at, key], report);
      }
    },
  };
}

/** A key as it may stand in a sentence; whoever wrote the document chose its length. */
function quoted(key: string): string {
  return JSON.stringify(key.length > 64 ? `${key.slice(0, 64).toWellFormed()}…` : key);
}
