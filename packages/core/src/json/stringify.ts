import { BullaError } from '../error.ts';
import { escapeString } from './escape.ts';
import { createWriter } from './write.ts';

/**
 * Writes a parsed value back as compact JSON: keys in their order, numbers by their lexemes. Plain values are
 * accepted too. Throws a `BullaError` with a `VALUE_…` code and the path for what JSON cannot hold. Lone
 * surrogates, which only a lenient parse lets in, are written as escapes.
 */
export const stringify: (value: unknown, maxDepth?: number) => string = createWriter({
  double(value) {
    if (!Number.isFinite(value)) throw new BullaError('VALUE_NOT_FINITE', `${value} has no JSON form.`);
    return Object.is(value, -0) ? '-0' : `${value}`;
  },
  lexeme: (lexeme) => lexeme,
  escape: escapeString,
  order: (keys) => keys.map((_, position) => position),
  undefinedProperty: 'refuse',
});
