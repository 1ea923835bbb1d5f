import { fromUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { JsonNumber, JsonObject, parse } from '@bulla/core/json';
import { createScanner, type Node, type ParseError, parseTree } from 'jsonc-parser';
import { parse as parseToml, TomlError } from 'smol-toml';
import { type Document, isScalar, parseDocument, visit } from 'yaml';

/** What a configuration holds, whatever it was written in. Numbers and dates are not used here and may be rounded. */
export type Value = null | boolean | number | string | readonly Value[] | ValueMap;
export type ValueMap = ReadonlyMap<string, Value>;

/** The four ways in which clients write their configurations. */
export type Syntax = 'json' | 'jsonc' | 'toml' | 'yaml';

const MAX_DEPTH = 1000;
const MAX_ALIASES = 100;

/**
 * Reads a configuration. Plain JSON is read strictly; JSONC may have comments and commas at the end. An empty file holds
 * nothing where the format allows that. Throws the `JSON_…` codes, `CRYPTO_ENCODING` and `DISCOVER_SYNTAX`. No message
 * quotes the text, which may hold secrets.
 */
export function readDocument(bytes: Uint8Array, syntax: Syntax): Value {
  if (syntax === 'json') return converted(parse(bytes), 0);
  // Editors on Windows write a byte order mark, and read it over.
  const text = fromUtf8(bytes).replace(/^\ufeff/, '');
  return { jsonc: readJsonc, toml: readToml, yaml: readYaml }[syntax](text);
}

function wrong(what: string, text: string, at: number): BullaError {
  const offset = Buffer.byteLength(text.slice(0, at));
  return new BullaError('DISCOVER_SYNTAX', `The file is not ${what}.`, { offset });
}

function tooDeep(): BullaError {
  return new BullaError('DISCOVER_SYNTAX', `The file nests deeper than ${MAX_DEPTH} levels.`);
}

/** The scanner's `SyntaxKind`, which is there for the compiler only. */
const TOKENS = { openBrace: 1, closeBrace: 2, openBracket: 3, closeBracket: 4, end: 17 } as const;

function readJsonc(text: string): Value {
  // The parser recurses: the depth is bounded before it starts.
  const scanner = createScanner(text, true);
  for (let depth = 0, token = scanner.scan(); token !== TOKENS.end; token = scanner.scan()) {
    if (token === TOKENS.openBrace || token === TOKENS.openBracket) depth++;
    if (token === TOKENS.closeBrace || token === TOKENS.closeBracket) depth--;
    if (depth > MAX_DEPTH) throw tooDeep();
  }
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true, allowEmptyContent: true });
  if (errors[0] !== undefined) throw wrong('JSON with comments', text, errors[0].offset);
  return tree === undefined ? new Map() : nodeValue(tree, text);
}

function nodeValue(node: Node, text: string): Value {
  if (node.type === 'array') return (node.children ?? []).map((child) => nodeValue(child, text));
  if (node.type !== 'object') return node.value as Value;
  const map = new Map<string, Value>();
  for (const { children } of node.children ?? []) {
    const [key, value] = children!;
    if (map.has(key!.value)) throw wrong('JSON with comments: a key occurs twice', text, key!.offset);
    map.set(key!.value, nodeValue(value!, text));
  }
  return map;
}

function readToml(text: string): Value {
  try {
    return converted(parseToml(text, { maxDepth: MAX_DEPTH, integersAsBigInt: 'asNeeded' }), 0);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const lines = text.split('\n').slice(0, error.line - 1);
    throw wrong('TOML', text, lines.join('\n').length + (lines.length > 0 ? 1 : 0) + error.column - 1);
  }
}

function readYaml(text: string): Value {
  try {
    const document = parseDocument(text, {
      ...{ version: '1.2', schema: 'core', merge: false, prettyErrors: false, logLevel: 'error' },
      // The library's own checks, those of the tag !!omap too, take time in proportion to the square of the keys.
      ...{ uniqueKeys: false, resolveKnownTags: false },
    });
    const [error] = document.errors;
    if (error !== undefined) throw wrong('YAML', text, error.pos[0]);
    if (document.directives?.yaml.version !== '1.2') throw wrong('YAML 1.2', text, 0);
    checkNodes(document, text);
    return converted(document.toJS({ mapAsMap: true, maxAliasCount: MAX_ALIASES }) ?? new Map(), 0);
  } catch (error) {
    if (error instanceof BullaError) throw error;
    if (error instanceof RangeError) throw tooDeep();
    // An alias that leads nowhere, or too many of them.
    throw wrong('YAML', text, 0);
  }
}

/** Keys are scalars that differ as text, which is how they are read; each alias costs a walk over all anchors. */
function checkNodes(document: Document, text: string): void {
  let aliases = 0;
  visit(document, {
    Alias(_, { range }) {
      if (++aliases > MAX_ALIASES)
        throw wrong(`YAML with at most ${MAX_ALIASES} aliases`, text, range?.[0] ?? 0);
    },
    Map(_, { items }) {
      const keys = new Set<string>();
      for (const { key } of items) {
        const at = (key as { range?: [number] } | null)?.range?.[0] ?? 0;
        if (!isScalar(key)) throw wrong('YAML with scalars for keys', text, at);
        const name = String(key.value);
        if (keys.has(name)) throw wrong('YAML: a key occurs twice', text, at);
        keys.add(name);
      }
    },
  });
}

function converted(value: unknown, depth: number): Value {
  if (depth > MAX_DEPTH) throw tooDeep();
  if (value === null || value === undefined) return null;
  if (typeof value === 'string' || typeof value === 'boolean' || typeof value === 'number') return value;
  if (value instanceof JsonNumber) return Number(value.lexeme);
  if (Array.isArray(value)) return value.map((item) => converted(item, depth + 1));
  if (value instanceof JsonObject || value instanceof Map) return mapOf(value, depth);
  if (typeof value !== 'object' || value instanceof Date) return String(value);
  return mapOf(Object.entries(value), depth);
}

function mapOf(entries: Iterable<readonly [unknown, unknown]>, depth: number): ValueMap {
  const map = new Map<string, Value>();
  for (const [key, value] of entries) map.set(String(key), converted(value, depth + 1));
  return map;
}
