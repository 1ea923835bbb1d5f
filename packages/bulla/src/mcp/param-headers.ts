import { JsonNumber, JsonObject, type JsonValue, memberAt } from '@bulla/core/json';
import { headerValue } from './http.ts';

// 2026-07-28, Streamable HTTP, Custom Headers from Tool Parameters.

/** A parameter of a tool that stands in a header too. */
export interface ParamHeader {
  /** In lower case, with the prefix. */
  readonly header: string;
  /** Where its value stands in the arguments. */
  readonly path: readonly string[];
}

const MARK = 'x-mcp-header';
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const TYPES: readonly JsonValue[] = ['string', 'integer', 'boolean'];
/** Keywords whose value is data and holds no schema. */
const DATA = new Set(['enum', 'const', 'default', 'examples']);

/**
 * The parameters that the input schema of a tool marks. Null where a mark is not as specified: then the tool must not be
 * used over HTTP.
 */
export function paramHeaders(inputSchema: JsonValue): readonly ParamHeader[] | null {
  const found: ParamHeader[] = [];
  /** `path` is null where a schema is not reached by properties alone. */
  const open: { schema: JsonValue; path: readonly string[] | null }[] = [{ schema: inputSchema, path: [] }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { schema, path } = next;
    if (Array.isArray(schema)) {
      for (const item of schema) open.push({ schema: item, path: null });
      continue;
    }
    if (!(schema instanceof JsonObject)) continue;
    if (schema.has(MARK)) {
      const name = schema.get(MARK);
      if (path === null || path.length === 0 || typeof name !== 'string' || !TOKEN.test(name)) return null;
      if (!TYPES.includes(schema.get('type') ?? null)) return null;
      found.push({ header: `mcp-param-${name.toLowerCase()}`, path });
    }
    for (const [keyword, value] of schema) {
      if (DATA.has(keyword)) continue;
      if (keyword !== 'properties' || !(value instanceof JsonObject)) {
        open.push({ schema: value, path: null });
        continue;
      }
      for (const [name, property] of value) open.push({ schema: property, path: path && [...path, name] });
    }
  }
  const isUnique = new Set(found.map(({ header }) => header)).size === found.length;
  return isUnique ? found : null;
}

/** What stands in a header, or null for one that must not be there. */
export type ParamValue = string | boolean | JsonNumber | null;

/** What each header must hold for these arguments. Null where a value is not of a type that a header can carry. */
export function paramValues(
  headers: readonly ParamHeader[],
  args: JsonValue,
): Readonly<Record<string, ParamValue>> | null {
  const values: Record<string, ParamValue> = {};
  for (const { header, path } of headers) {
    const value = memberAt(args, path) ?? null;
    if (Array.isArray(value) || value instanceof JsonObject) return null;
    if (value instanceof JsonNumber && !Number.isSafeInteger(value.toNumber())) return null;
    values[header] = value;
  }
  return values;
}

/** The headers of a request that mirror these values. */
export function headersFor(values: Readonly<Record<string, ParamValue>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([header, value]) => {
      if (value === null) return [];
      return [[header, headerValue(String(value instanceof JsonNumber ? value.toNumber() : value))]];
    }),
  );
}
