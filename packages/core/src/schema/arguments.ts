import { JsonObject, type JsonValue } from '../json/index.ts';
import { type Part, SchemaDocument } from './document.ts';
import { Prover } from './prover.ts';
import { quote } from './sentence.ts';
import { ANY, typeWords } from './value.ts';

/** One argument at the top of a schema. */
interface SchemaArgument {
  readonly name: string;
  /** In words: `string`, `integer or null`, `list of string`, `one of "a", "b"`, `anything`, `nothing`. */
  readonly type: string;
  readonly required: boolean;
  readonly description?: string;
}

const MAX_VALUES = 8;

/**
 * The arguments that a schema describes, in its order, those that are only required last; also where it describes them
 * through `allOf` or a local `$ref`. For people to read: what it leaves out (alternatives, conditions) may still count.
 * Names, descriptions and values are as the schema has them: show them through `visible`.
 */
export function schemaArguments(schema: JsonValue): SchemaArgument[] {
  const prover = new Prover(20_000);
  const whole = prover.together([new SchemaDocument('s', schema).root]);
  if (whole === undefined) return [];
  const parts = new Map<string, Part[]>([...whole.required].map((name) => [name, []]));
  const order = new Set<string>();
  for (const { properties } of whole.views) {
    for (const [name, part] of properties) {
      order.add(name);
      parts.set(name, [...(parts.get(name) ?? []), part]);
    }
  }
  return [...new Set([...order, ...whole.required])].map((name) => {
    const own = parts.get(name)!;
    const description = own.flatMap((part) => descriptionOf(prover, part))[0];
    return {
      name,
      type: wordsFor(prover, own),
      required: whole.required.has(name),
      ...(description === undefined ? {} : { description }),
    };
  });
}

/** The nearest description: of the schema itself, else of what it refers to. */
function descriptionOf(prover: Prover, part: Part): string[] {
  return (prover.together([part])?.parts ?? [part]).flatMap(({ node }) => {
    const text = node instanceof JsonObject ? node.get('description') : undefined;
    return typeof text === 'string' ? [text] : [];
  });
}

function wordsFor(prover: Prover, parts: readonly Part[]): string {
  const have = prover.together(parts);
  if (have === undefined || have.views.some(({ opaque }) => opaque)) return 'not understood';
  if (have.values !== undefined && have.views.some(({ values }) => values !== undefined)) {
    const values = [...have.values.values()];
    const shown = values.slice(0, MAX_VALUES).map(quote);
    if (values.length > MAX_VALUES) shown.push(`${values.length - MAX_VALUES} more`);
    return values.length === 1 ? shown[0]! : `one of ${shown.join(', ')}`;
  }
  if (have.types === ANY) return 'anything';
  if (have.types === 0) return 'nothing';
  const words = typeWords(have.types).map((word) => {
    const items = word === 'array' ? have.views.flatMap((view) => view.items ?? []) : [];
    return items.length === 0 ? (word === 'array' ? 'list' : word) : `list of ${plain(prover, items)}`;
  });
  return words.join(' or ');
}

/** The words for elements, one level deep. */
function plain(prover: Prover, parts: readonly Part[]): string {
  const have = prover.together(parts);
  if (have === undefined || have.types === ANY || have.views.some(({ opaque }) => opaque)) return 'anything';
  const words = typeWords(have.types).map((word) => (word === 'array' ? 'list' : word));
  return words.length === 0 ? 'nothing' : words.join(' or ');
}
