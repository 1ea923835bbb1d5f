import { JsonObject } from '../../json/index.ts';
import { entryOf } from '../file/entry.ts';
import type { DriftCode } from './codes.ts';
import { asObject, type DriftItem, isText, itemOf, quoted, type Severity, sides } from './item.ts';
import { type Changed, textItem } from './text.ts';

interface Argument {
  readonly index: number;
  readonly definition: JsonObject;
}

/** What changed in the arguments of a prompt, argument by argument. The released program calls all of it critical. */
export function argumentItems(changed: Changed): DriftItem[] {
  const { subject, before, after } = changed;
  const [was, is] = [argumentsOf(before), argumentsOf(after)];
  const whole = sides(before.get('arguments'), after.get('arguments'));
  const tell = (code: DriftCode, severity: Severity, index: number | null, sentence: string, more = {}) => {
    const path = index === null ? ['arguments'] : ['arguments', index];
    return itemOf(subject, 'changed', code, severity, path, sentence, more);
  };
  if (was === null || is === null)
    return [tell('arguments-changed', 'critical', null, 'The arguments changed.', whole)];
  const items: DriftItem[] = [];
  for (const [name, { index, definition }] of is) {
    const old = was.get(name);
    if (old === undefined) {
      const needed = isRequired(definition) ? 'must be given' : 'may be left out';
      const sentence = `The argument ${quoted(name)} is new: it ${needed}.`;
      items.push(tell('argument-added', 'critical', index, sentence, { after: definition }));
      continue;
    }
    const [needed, needs] = [isRequired(old.definition), isRequired(definition)];
    if (needed !== needs) {
      const code = needs ? 'argument-required' : 'argument-optional';
      const sentence = `The argument ${quoted(name)} ${needs ? 'must now be given' : 'may now be left out'}.`;
      items.push(tell(code, 'critical', index, sentence, { before: needed, after: needs }));
    }
    for (const item of textItems(changed, old, { index, definition })) items.push(item);
    const rest = (argument: JsonObject) =>
      entryOf(JsonObject.from([...argument].filter(([key]) => !KNOWN.includes(key)))).digest;
    if (rest(old.definition) !== rest(definition)) {
      const sentence = `The argument ${quoted(name)} differs in members whose meaning is not known here.`;
      const both = sides(old.definition, definition);
      items.push(tell('argument-changed', 'critical', index, sentence, both));
    }
  }
  for (const [name, { definition, index }] of was) {
    if (is.has(name)) continue;
    const sentence = `The argument ${quoted(name)} is gone.`;
    items.push(tell('argument-removed', 'critical', index, sentence, { before: definition }));
  }
  if (items.length > 0) return items;
  return [tell('arguments-reordered', 'info', null, 'The arguments stand in another order.', whole)];
}

const KNOWN: readonly string[] = ['name', 'required', 'description', 'title'];

function textItems(changed: Changed, old: Argument, now: Argument): DriftItem[] {
  return (['description', 'title'] as const).flatMap((key) => {
    const [was, is] = [old.definition.get(key), now.definition.get(key)];
    if (was === is || !isText(was) || !isText(is)) return [];
    const index = is === undefined ? old.index : now.index;
    return [textItem(changed, `${key}-changed`, ['arguments', index, key], was, is)];
  });
}

function isRequired(argument: JsonObject): boolean {
  return argument.get('required') === true;
}

/** The arguments by name, or null when they cannot be told apart by it. */
function argumentsOf(prompt: JsonObject): Map<string, Argument> | null {
  const list = prompt.get('arguments') ?? [];
  if (!Array.isArray(list)) return null;
  const found = new Map<string, Argument>();
  for (const [index, value] of list.entries()) {
    const name = asObject(value).get('name');
    if (typeof name !== 'string' || found.has(name)) return null;
    found.set(name, { index, definition: asObject(value) });
  }
  return found;
}
