import { BullaError } from '../../error.ts';
import type { JsonObject } from '../../json/index.ts';
import type { Entry } from './entry.ts';
import type { Lock } from './lock.ts';
import { pointedContent } from './pointed.ts';
import { LIST_KINDS, LISTS, type Surface } from './surface.ts';

/** A tool that a lock leaves out on purpose is known by its digests alone: nobody approved its definition. */
export type LeftOut = Pick<Entry, 'digest' | 'sourceDigest'>;

/**
 * The names that any of the patterns matches: a name itself, or one with `*` for any text. Throws `LOCK_SELECTION` for
 * a pattern that matches none, because somebody mistyped it.
 */
export function matchNames(patterns: readonly string[], names: Iterable<string>): Set<string> {
  const all = [...names];
  const found = new Set<string>();
  for (const pattern of patterns) {
    const own = all.filter((name) => isMatch(pattern, name));
    if (own.length === 0)
      throw new BullaError('LOCK_SELECTION', `No tool is called ${JSON.stringify(pattern)}.`);
    for (const name of own) found.add(name);
  }
  return found;
}

/** In one pass: the first place where each part fits leaves the most for those behind it. */
function isMatch(pattern: string, name: string): boolean {
  const [first, ...parts] = pattern.split('*');
  const last = parts.pop();
  if (last === undefined) return pattern === name;
  if (!name.startsWith(first!)) return false;
  let at = first!.length;
  for (const part of parts) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}

/** What of a surface is locked: without the tools that are left out, and what only they point to. */
export function lockedSurface<Whole extends Surface>(surface: Whole, leftOut: ReadonlySet<string>): Whole {
  if (leftOut.size === 0) return surface;
  const isOut = (tool: JsonObject) => leftOut.has(tool.get(LISTS.tools) as string);
  const tools = surface.tools.filter((tool) => !isOut(tool));
  const addresses = (definitions: readonly JsonObject[]) =>
    definitions.flatMap((definition) => pointedContent(definition, []).map(({ uri }) => uri));
  const orphans = new Set(addresses(surface.tools.filter(isOut)));
  const locked = { ...surface, tools };
  for (const uri of addresses([surface.serverInfo, ...LIST_KINDS.flatMap((kind) => locked[kind])]))
    orphans.delete(uri);
  return { ...locked, contents: surface.contents.filter(({ uri }) => !orphans.has(uri)) };
}

/** The lock without the tools that no pattern matches. Its digest stays that of the file. Throws `LOCK_SELECTION`. */
export function narrowed(lock: Lock, patterns: readonly string[]): Lock {
  const names = matchNames(patterns, lock.tools.keys());
  const only = <Value>(map: ReadonlyMap<string, Value>) =>
    new Map([...map].filter(([name]) => names.has(name)));
  const { native } = lock;
  return { ...lock, tools: only(lock.tools), native: native && { ...native, tools: only(native.tools) } };
}
