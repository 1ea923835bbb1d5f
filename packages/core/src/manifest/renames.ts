import { canonicalize } from '../canon/index.ts';
import { JsonObject } from '../json/index.ts';
import type { Manifest, Scope, Tool } from './types.ts';

/** What stands on one side only, and what stands on both under two names. */
export interface Moves<Item> {
  readonly removed: readonly Item[];
  readonly added: readonly Item[];
  readonly renamed: readonly (readonly [from: Item, to: Item])[];
}

/** By what a thing can be known again under another name, the surest first; null where that is too little. */
type Marks<Item> = readonly ((item: Item) => string | null)[];

/** Pairs what is gone with what came by its marks, wherever a mark fits one on each side and no more. */
function pairUp<Item>(removed: readonly Item[], added: readonly Item[], marks: Marks<Item>): Moves<Item> {
  let [gone, come] = [removed, added];
  const renamed: [Item, Item][] = [];
  for (const mark of marks) {
    if (gone.length === 0 || come.length === 0) break;
    const [old, now] = [Map.groupBy(gone, mark), Map.groupBy(come, mark)];
    const paired = new Set<Item>();
    for (const [key, items] of old) {
      const partners = now.get(key);
      if (key === null || items.length !== 1 || partners?.length !== 1) continue;
      renamed.push([items[0]!, partners[0]!]);
      paired.add(items[0]!).add(partners[0]!);
    }
    gone = gone.filter((item) => !paired.has(item));
    come = come.filter((item) => !paired.has(item));
  }
  return { removed: gone, added: come, renamed };
}

/**
 * The scopes that came and went. One is known again by its label's key, or by the tools that need it,
 * if all of them moved together.
 */
export function scopeMoves(before: Manifest, after: Manifest): Moves<Scope> {
  const [had, has] = [ids(before), ids(after)];
  const removed = before.permission_scopes.filter(({ id }) => !has.has(id));
  const added = after.permission_scopes.filter(({ id }) => !had.has(id));
  if (removed.length === 0 || added.length === 0) return { removed, added, renamed: [] };
  const [oldTools, newTools] = [byScope(before), byScope(after)];
  const isOld = new Set(removed);
  return pairUp(removed, added, [
    ({ label_i18n_key, sensitivity }) => `${sensitivity} ${label_i18n_key}`,
    ({ label_i18n_key }) => label_i18n_key,
    (scope) => (isOld.has(scope) ? oldTools : newTools).get(scope.id) ?? null,
  ]);
}

function ids({ permission_scopes }: Manifest): Set<string> {
  return new Set(permission_scopes.map(({ id }) => id));
}

function byScope({ tools }: Manifest): Map<string, string> {
  const groups = Map.groupBy(tools, ({ permission_scope }) => permission_scope);
  return new Map(
    [...groups].map(([id, own]) => [
      id,
      own
        .map(({ name }) => name)
        .sort()
        .join(' '),
    ]),
  );
}

/**
 * The tools that came and went. One is known again by its description's key, or by an input that takes something
 * together with its scope; `scopeNow` tells what an old scope is called now.
 */
export function toolMoves(before: Manifest, after: Manifest, scopeNow: (id: string) => string): Moves<Tool> {
  const [had, has] = [names(before), names(after)];
  const removed = before.tools.filter(({ name }) => !has.has(name));
  const added = after.tools.filter(({ name }) => !had.has(name));
  const isOld = new Set(removed);
  const schemas = new Map<Tool, string>();
  const input = (tool: Tool) => {
    const known = schemas.get(tool) ?? canonicalize(tool.input_schema, 'jcs');
    schemas.set(tool, known);
    return known;
  };
  const scope = (tool: Tool) => (isOld.has(tool) ? scopeNow(tool.permission_scope) : tool.permission_scope);
  return pairUp(removed, added, [
    (tool) => `${tool.description_i18n_key} ${input(tool)}`,
    (tool) => tool.description_i18n_key,
    (tool) => (takesSomething(tool) ? `${scope(tool)} ${input(tool)}` : null),
  ]);
}

function names({ tools }: Manifest): Set<string> {
  return new Set(tools.map(({ name }) => name));
}

function takesSomething({ input_schema }: Tool): boolean {
  const properties = input_schema.get('properties');
  return properties instanceof JsonObject && properties.size > 0;
}
