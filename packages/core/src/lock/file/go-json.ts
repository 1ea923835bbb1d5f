import { profile } from '../../canon/index.ts';
import { BullaError } from '../../error.ts';
import { DEFAULT_MAX_DEPTH, JsonNumber, JsonObject, type JsonValue } from '../../json/index.ts';

const { escape: escaped } = profile('mcptrust-v1').strings;

/**
 * Writes a value as Go's `json.MarshalIndent(v, "", "  ")` does: two spaces a level, `{}` and `[]` when
 * empty, the characters that HTML would trip over escaped, no newline at the end. Keys stay in their order
 * and numbers in their digits. Throws `VALUE_TOO_DEEP` beyond 1,000 levels, so that what is written can be
 * read again, and `CANON_LONE_SURROGATE`. Never recurses.
 */
export function goIndented(root: JsonValue): string {
  const open: { keys: readonly string[] | null; values: readonly JsonValue[]; next: number }[] = [];
  let out = '';
  let indent = '\n';
  let value: JsonValue = root;
  for (;;) {
    if (typeof value === 'string') out += `"${escaped(value)}"`;
    else if (value instanceof JsonNumber) out += value.lexeme;
    else if (typeof value !== 'object' || value === null) out += String(value);
    else {
      const keys: readonly string[] | null = value instanceof JsonObject ? value.keys : null;
      const values: readonly JsonValue[] = value instanceof JsonObject ? value.values : value;
      if (open.length === DEFAULT_MAX_DEPTH)
        throw new BullaError('VALUE_TOO_DEEP', `The nesting is deeper than ${DEFAULT_MAX_DEPTH}.`);
      if (values.length === 0) out += keys === null ? '[]' : '{}';
      else {
        open.push({ keys, values, next: 0 });
        out += keys === null ? '[' : '{';
        indent += '  ';
      }
    }
    for (;;) {
      const last = open.at(-1);
      if (last === undefined) return out;
      const { keys, values, next } = last;
      if (next < values.length) {
        out += next === 0 ? indent : `,${indent}`;
        if (keys !== null) out += `"${escaped(keys[next]!)}": `;
        value = values[next]!;
        last.next++;
        break;
      }
      open.pop();
      indent = indent.slice(0, -2);
      out += indent + (keys === null ? ']' : '}');
    }
  }
}
