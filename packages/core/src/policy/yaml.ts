import { CST, isMap, isScalar, isSeq, Lexer, LineCounter, type Node, parseDocument, type Scalar } from 'yaml';
import { pointer } from '../json/index.ts';
import type { PolicyProblem } from './problem.ts';

// YAML is read as a plain notation for text, lists and maps. What makes it more than that (anchors, aliases, tags,
// merge keys, directives, several documents) can make a file mean something else than it seems to, and is refused.

/** A value of a YAML file. A scalar is text with the mark whether it was meant as text. */
export type YamlValue = YamlText | YamlList | YamlMap;

interface Located {
  readonly path: string;
  readonly offset: number;
}
export interface YamlText extends Located {
  readonly kind: 'text';
  /** Undefined for what YAML reads as a number, true, false or nothing. */
  readonly text: string | undefined;
  /** The offset in the file of a place in the text; that of its beginning where the two cannot be matched. */
  at(offset: number): number;
}
interface YamlList extends Located {
  readonly kind: 'list';
  readonly items: readonly YamlValue[];
}
export interface YamlMap extends Located {
  readonly kind: 'map';
  readonly entries: ReadonlyMap<string, YamlValue>;
  /** Where each key stands. */
  readonly keys: ReadonlyMap<string, number>;
}

/** What is wrong, before its line is counted. */
export type Complaint = Omit<PolicyProblem, 'line' | 'column'> & { readonly offset: number };

/** Deeper than a policy is, and far from what the composer's recursion could not bear. */
const MAX_FLOW = 8;
const MAX_ITEMS_A_LINE = 8;

const REFUSED: Readonly<Record<string, string>> = {
  anchor: 'Anchors are not used in policies.',
  alias: 'Aliases are not used in policies.',
  tag: 'Tags are not used in policies.',
  'directive-line': 'Directives are not used in policies.',
  'explicit-key-ind': 'Keys are written without a question mark.',
  'byte-order-mark': 'The file begins with a byte order mark.',
};

/** Reads YAML strictly, and tells every complaint at once. Null when there is one. */
export function readYaml(text: string, complain: (complaint: Complaint) => void): YamlValue | null {
  let isClean = true;
  const refuse: Refuse = (message, offset, path = '') => {
    isClean = false;
    complain({ code: 'POLICY_YAML', message, path, offset });
  };
  for (const { offset, message } of features(text)) refuse(message, offset);
  if (!isClean) return null;
  const document = parseDocument(text, {
    version: '1.2',
    schema: 'core',
    merge: false,
    // Ours, below, takes no time in proportion to the square of their number.
    uniqueKeys: false,
    stringKeys: false,
    prettyErrors: false,
    lineCounter: new LineCounter(),
  });
  for (const { code, message, pos } of [...document.errors, ...document.warnings]) {
    const several = code === 'MULTIPLE_DOCS';
    const what = several ? 'A policy is one document' : `This is not YAML: ${message.replace(/[.\s]*$/, '')}`;
    refuse(`${what}.`, pos[0]);
  }
  if (!isClean) return null;
  const value = convert(document.contents, [], text, refuse);
  return isClean ? value : null;
}

/** What YAML can do and a policy may not, with its place, found before anything is composed. */
function features(text: string): { offset: number; message: string }[] {
  const found: { offset: number; message: string }[] = [];
  let [offset, flow, items] = [0, 0, 0];
  let isScalarNext = false;
  for (const lexeme of new Lexer().lex(text)) {
    if (isScalarNext) {
      isScalarNext = false;
      offset += lexeme.length;
      continue;
    }
    const type = CST.tokenType(lexeme);
    if (type === 'scalar') {
      isScalarNext = true;
      continue;
    }
    if (type === 'doc-mode' || type === 'flow-error-end') continue;
    const message = type === null ? undefined : REFUSED[type];
    if (message !== undefined) found.push({ offset, message });
    if (type === 'flow-map-start' || type === 'flow-seq-start') flow++;
    if (type === 'flow-map-end' || type === 'flow-seq-end') flow--;
    if (type === 'seq-item-ind') items++;
    if (type === 'newline') items = 0;
    if (flow > MAX_FLOW || items > MAX_ITEMS_A_LINE) {
      found.push({ offset, message: 'This is nested deeper than a policy is.' });
      break;
    }
    offset += lexeme.length;
  }
  return found;
}

type Refuse = (message: string, offset: number, path?: string) => void;

/** Bounded by the indentation that a file of limited size can hold. */
function convert(
  node: Node | null,
  at: readonly (string | number)[],
  text: string,
  refuse: Refuse,
): YamlValue {
  const path = pointer(at);
  const offset = node?.range?.[0] ?? 0;
  if (isMap(node)) {
    const entries = new Map<string, YamlValue>();
    const keys = new Map<string, number>();
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? key.value : undefined;
      const place = (key as Node | null)?.range?.[0] ?? offset;
      if (typeof name !== 'string') {
        refuse('A key must be text.', place, path);
        continue;
      }
      if (entries.has(name)) {
        const message = `The key ${JSON.stringify(name)} stands here twice.`;
        refuse(message, place, pointer([...at, name]));
        continue;
      }
      keys.set(name, place);
      entries.set(name, convert(value as Node | null, [...at, name], text, refuse));
    }
    return { kind: 'map', path, offset, entries, keys };
  }
  if (isSeq(node)) {
    const items = node.items.map((item, i) => convert(item as Node | null, [...at, i], text, refuse));
    return { kind: 'list', path, offset, items };
  }
  const value = isScalar(node) ? node.value : undefined;
  const content = typeof value === 'string' ? value : undefined;
  return {
    kind: 'text',
    path,
    offset,
    text: content,
    at: (place) => (content === undefined ? offset : offsetIn(text, node as Scalar, content, place)),
  };
}

/**
 * Where in the file a place of a scalar stands. Folding and indentation change only white space, so the characters
 * that are none are counted; where an escape makes them differ, the scalar's beginning is told.
 */
function offsetIn(file: string, { range, type }: Scalar, text: string, place: number): number {
  const start = range![0];
  let at = start;
  if (type === 'BLOCK_LITERAL' || type === 'BLOCK_FOLDED') at = file.indexOf('\n', start) + 1;
  else if (type === 'QUOTE_DOUBLE' || type === 'QUOTE_SINGLE') at++;
  const skip = () => {
    while (at < range![1] && isSpace(file[at]!)) at++;
  };
  skip();
  for (let i = 0; i < place; i++) {
    if (isSpace(text[i]!)) continue;
    if (file[at] !== text[i]) return start;
    at++;
    skip();
  }
  return at;
}

function isSpace(character: string): boolean {
  return character === ' ' || character === '\n' || character === '\r' || character === '\t';
}
