import { JsonObject, type JsonValue, parsePointer, valueAt } from '../json/index.ts';
import { SCHEMA_MAPS } from './keyword-forms.ts';
import { readView } from './read.ts';
import type { View } from './view.ts';

/** The dialects whose keywords are known; a schema that names none is 2020-12, as MCP has it. */
type Dialect = '2020-12' | '2019-09' | 'draft-07';

const DIALECTS: ReadonlyMap<string, Dialect> = new Map([
  ['https://json-schema.org/draft/2020-12/schema', '2020-12'],
  ['https://json-schema.org/draft/2019-09/schema', '2019-09'],
  ['http://json-schema.org/draft-07/schema', 'draft-07'],
  ['https://json-schema.org/draft-07/schema', 'draft-07'],
]);

/** Keywords whose value is data and holds no schema. */
const DATA = new Set(['enum', 'const', 'default', 'examples', 'required', 'dependentRequired']);

/** A schema at its place in a document. There is one part for each node, so parts can be compared. */
export interface Part {
  readonly id: string;
  readonly document: SchemaDocument;
  readonly node: JsonValue;
  /** What its keywords say. */
  readonly view: View;
}

/** A schema as a whole: its dialect, and where its references lead. */
export class SchemaDocument {
  readonly name: string;
  readonly root: Part;
  /** Undefined for one that is not known: then nothing can be said of any part. */
  readonly dialect: Dialect | undefined;
  readonly #parts = new Map<JsonValue, Part>();
  readonly #types = new Map<string, Part>();
  readonly #negations = new Map<Part, Part>();
  /** The references in it, each once, and those of them that lead out of it. */
  readonly references: ReadonlySet<string>;
  readonly remote: readonly string[];
  readonly #anchors: ReadonlyMap<string, JsonValue | undefined>;
  readonly #embedded: boolean;
  readonly #id: string | undefined;

  constructor(name: string, schema: JsonValue) {
    this.name = name;
    this.dialect = dialectOf(schema);
    const { anchors, ids, references } = landmarks(schema);
    this.references = references;
    this.remote = remoteOnes(ids, references);
    this.#anchors = anchors;
    const id = schema instanceof JsonObject ? schema.get('$id') : undefined;
    this.#id = typeof id === 'string' && !id.startsWith('#') ? withoutFragment(id) : undefined;
    this.#embedded = ids.length > (this.#id === undefined ? 0 : 1);
    this.root = this.part(schema);
  }

  part(node: JsonValue): Part {
    const known = this.#parts.get(node);
    if (known !== undefined) return known;
    let view: View | undefined;
    const part: Part = {
      id: `${this.name}${this.#parts.size}`,
      document: this,
      node,
      get view() {
        view ??= readView(part);
        return view;
      },
    };
    this.#parts.set(node, part);
    return part;
  }

  /** The schema that accepts every value of a type and nothing else. */
  ofType(word: string): Part {
    const known = this.#types.get(word) ?? this.make({ type: word });
    this.#types.set(word, known);
    return known;
  }

  /** The schema that accepts what another refuses. */
  negation(part: Part): Part {
    const known = this.#negations.get(part) ?? this.make({ not: part.node });
    this.#negations.set(part, known);
    return known;
  }

  /** A schema of our own that stands in this document. */
  make(members: Readonly<Record<string, JsonValue>>): Part {
    return this.part(JsonObject.from(Object.entries(members)));
  }

  /**
   * Where a reference leads, or undefined: it leaves the document, names nothing, or cannot be followed safely because
   * the document embeds others under their own `$id`.
   */
  resolve(reference: string): Part | undefined {
    if (this.#embedded) return undefined;
    const local =
      this.#id !== undefined && withoutFragment(reference) === this.#id
        ? reference.slice(this.#id.length)
        : reference;
    if (local !== '' && !local.startsWith('#')) return undefined;
    let fragment: string;
    try {
      fragment = decodeURIComponent(local.slice(1));
    } catch {
      return undefined;
    }
    const steps = parsePointer(fragment);
    const node = steps === null ? this.#anchors.get(fragment) : valueAt(this.root.node, steps);
    return node instanceof JsonObject || typeof node === 'boolean' ? this.part(node) : undefined;
  }
}

function dialectOf(schema: JsonValue): Dialect | undefined {
  const named = schema instanceof JsonObject ? schema.get('$schema') : undefined;
  if (named === undefined) return '2020-12';
  return typeof named === 'string' ? DIALECTS.get(named.replace(/#$/, '')) : undefined;
}

function withoutFragment(uri: string): string {
  const hash = uri.indexOf('#');
  return hash < 0 ? uri : uri.slice(0, hash);
}

/** Every object in which keywords may stand, in no special order. Never recurses. */
export function* schemaObjects(schema: JsonValue): Generator<JsonObject> {
  const open: JsonValue[] = [schema];
  // One by one: a list can be longer than a call takes arguments.
  const enter = (values: readonly JsonValue[]) => {
    for (const value of values) if (value instanceof JsonObject || Array.isArray(value)) open.push(value);
  };
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (Array.isArray(node)) enter(node);
    if (!(node instanceof JsonObject)) continue;
    yield node;
    for (const [keyword, value] of node) {
      if (DATA.has(keyword)) continue;
      enter(SCHEMA_MAPS.has(keyword) && value instanceof JsonObject ? value.values : [value]);
    }
  }
}

/** The references, and the names that they can aim at; one that stands twice leads nowhere. */
function landmarks(schema: JsonValue) {
  const anchors = new Map<string, JsonValue | undefined>();
  const ids: string[] = [];
  const references = new Set<string>();
  const mark = (name: string, node: JsonObject) => anchors.set(name, anchors.has(name) ? undefined : node);
  for (const node of schemaObjects(schema)) {
    for (let i = 0; i < node.keys.length; i++) {
      const keyword = node.keys[i]!;
      const value = node.values[i]!;
      if (keyword.charCodeAt(0) !== DOLLAR || typeof value !== 'string') continue;
      if (keyword === '$anchor' || keyword === '$dynamicAnchor') mark(value, node);
      else if (keyword === '$ref' || keyword === '$dynamicRef' || keyword === '$recursiveRef')
        references.add(value);
      else if (keyword === '$id' && value.startsWith('#')) mark(value.slice(1), node);
      else if (keyword === '$id') ids.push(value);
    }
  }
  return { anchors, ids, references };
}
const DOLLAR = 36;

/**
 * The references of a schema that lead out of it, sorted, each once: to the network, to a file, to anything that is
 * neither `#…` nor the `$id` of a schema inside. What such a schema accepts depends on what the target says at that
 * moment; nothing here ever fetches it.
 */
function remoteOnes(ids: readonly string[], references: ReadonlySet<string>): string[] {
  const known = new Set(ids.map(withoutFragment));
  return [...references]
    .filter((text) => text !== '' && !text.startsWith('#') && !known.has(withoutFragment(text)))
    .sort();
}
