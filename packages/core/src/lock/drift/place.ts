import { JsonObject, type JsonValue, type Path, pointer } from '../../json/index.ts';
import { quoted } from './item.ts';

const TEXTS: Readonly<Record<string, string>> = {
  description: 'The description',
  title: 'The title',
  name: 'The display name',
  instructions: 'The text of the instructions',
  $comment: 'The comment',
};

/**
 * A place in a definition in words, to begin a sentence with: `The description`, `The title of the argument "path"`,
 * `A text in "/_meta/x"`. `definition` is where the path leads through.
 */
export function placeWords(path: Path, definition: JsonValue): string {
  const last = path.at(-1);
  const text = typeof last === 'string' && Object.hasOwn(TEXTS, last) ? TEXTS[last]! : undefined;
  if (path.length === 1 && text !== undefined) return text;
  const [head] = path;
  if (head === 'inputSchema' || head === 'outputSchema') {
    const name = argumentIn(path.slice(1, -1));
    const whole = head === 'inputSchema' ? 'the input schema' : 'the output schema';
    const part = head === 'inputSchema' ? 'the argument' : 'the output';
    const of = name === '' ? whole : `${part} ${quoted(name)}`;
    return text === undefined ? `A text in ${of}` : `${text} of ${of}`;
  }
  if (head === 'arguments' && typeof path[1] === 'number') {
    const list = definition instanceof JsonObject ? definition.get('arguments') : undefined;
    const argument = Array.isArray(list) ? list[path[1]] : undefined;
    const name = argument instanceof JsonObject ? argument.get('name') : undefined;
    if (typeof name === 'string') {
      const of = `the argument ${quoted(name)}`;
      return path.length === 3 && text !== undefined ? `${text} of ${of}` : `A text in ${of}`;
    }
  }
  return path.length === 0 ? 'The definition' : `A text in ${quoted(pointer(path))}`;
}

/** The argument that a path into a schema speaks of, such as `options.depth[]`; empty for the whole. */
function argumentIn(path: Path): string {
  let name = '';
  for (let i = 0; i < path.length; i++) {
    if (path[i] === 'properties' && i + 1 < path.length) name += `${name === '' ? '' : '.'}${path[++i]}`;
    else if (path[i] === 'items') name += '[]';
  }
  return name;
}
