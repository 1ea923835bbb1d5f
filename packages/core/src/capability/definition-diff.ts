import { type JsonValue, parse, stringify } from '../json/index.ts';
import { compareSchemas, type SchemaComparison } from '../schema/index.ts';
import { type DiffPart, wordDiff } from '../text/index.ts';
import { everyNode } from './fold.ts';
import type { PolicyBinding } from './payloads.ts';
import { defined } from './plain.ts';
import type { RegisteredAgentWire } from './snapshot.ts';
import { hashToolSpecWire, membersOfWire, type StaticWire, type ToolSpecWire } from './wire.ts';

/** What became of a tool. Only what differs is there. */
export interface ToolChange {
  readonly description?: readonly DiffPart[];
  readonly instructions?: readonly DiffPart[];
  /** How the new schema stands to the old one; not there where one of the two is opaque. */
  readonly schema?: SchemaComparison;
  /** The schema changed, and of one of the two only its maker is known. */
  readonly opaque?: true;
  readonly policiesAdded?: readonly PolicyBinding[];
  readonly policiesRemoved?: readonly PolicyBinding[];
  readonly runtimeBinding?: { readonly first?: string; readonly second?: string };
}

/** What differs between two versions of a tool. */
export function toolChange(first: ToolSpecWire, second: ToolSpecWire): ToolChange {
  const [old, now] = [jsonOf(first.inputSchema), jsonOf(second.inputSchema)];
  const changed = stringify(old) !== stringify(now);
  const opaque = changed && (first.opaque || second.opaque);
  const [before, after] = [first.runtimeBinding, second.runtimeBinding];
  return defined<ToolChange>({
    description:
      first.description === second.description
        ? undefined
        : wordDiff(first.description ?? '', second.description ?? ''),
    instructions: textDiff(text(first.instructions), text(second.instructions)),
    schema: changed && !opaque ? compareSchemas(old, now) : undefined,
    opaque: opaque ? true : undefined,
    policiesAdded: missingFrom(first.policyBindings, second.policyBindings),
    policiesRemoved: missingFrom(second.policyBindings, first.policyBindings),
    runtimeBinding: before === after ? undefined : defined({ first: before, second: after }),
  });
}

/** What differs between two definitions. Places are the names that lead to a thing, as JSON Pointers. */
export interface DefinitionDiff {
  readonly onlyInFirst: readonly string[];
  readonly onlyInSecond: readonly string[];
  readonly changed: readonly (DefinitionChange & { readonly place: string })[];
  /** The agent's own lines. */
  readonly agentInstructions?: readonly DiffPart[];
}

type DefinitionChange =
  | ({ readonly kind: 'tool' } & ToolChange)
  | { readonly kind: 'toolkit'; readonly instructions: readonly DiffPart[] }
  | {
      readonly kind: 'dynamicToolkit';
      readonly instructions?: readonly DiffPart[];
      readonly policiesAdded?: readonly string[];
      readonly policiesRemoved?: readonly string[];
    };

/** Compares two definitions, tool by tool and toolkit by toolkit; undefined when nothing differs. */
export function diffDefinitions(
  first: RegisteredAgentWire,
  second: RegisteredAgentWire,
): DefinitionDiff | undefined {
  const [before, after] = [byPlace(first.root), byPlace(second.root)];
  const changed: (DefinitionChange & { readonly place: string })[] = [];
  for (const [place, node] of before) {
    const twin = after.get(place);
    const change = twin === undefined ? undefined : nodeChange(node, twin);
    if (change !== undefined) changed.push({ place: place.slice(place.indexOf('/')), ...change });
  }
  const only = (these: ReadonlyMap<string, StaticWire>, those: ReadonlyMap<string, StaticWire>) =>
    [...these.keys()].filter((place) => !those.has(place)).map((place) => place.slice(place.indexOf('/')));
  const found = defined<DefinitionDiff>({
    onlyInFirst: only(before, after),
    onlyInSecond: only(after, before),
    changed,
    agentInstructions: textDiff(text(first.staticInstructions), text(second.staticInstructions)),
  });
  const lists = [found.onlyInFirst, found.onlyInSecond, found.changed, found.agentInstructions ?? []];
  return lists.every((list) => list.length === 0) ? undefined : found;
}

/** Everything of a definition, by its kind and place. */
function byPlace(root: StaticWire): ReadonlyMap<string, StaticWire> {
  return new Map(everyNode(root, membersOfWire).map(({ node, place }) => [node.kind + place, node]));
}

function nodeChange(first: StaticWire, second: StaticWire): DefinitionChange | undefined {
  if (first.kind === 'tool' && second.kind === 'tool') {
    const same = hashToolSpecWire(first, 'khora') === hashToolSpecWire(second, 'khora');
    return same ? undefined : { kind: 'tool', ...toolChange(first, second) };
  }
  const instructions = sameLines(first.instructions, second.instructions)
    ? undefined
    : wordDiff(text(first.instructions), text(second.instructions));
  if (first.kind !== 'dynamicToolkit' || second.kind !== 'dynamicToolkit')
    return instructions && { kind: 'toolkit', instructions };
  const change = defined<Omit<Extract<DefinitionChange, { kind: 'dynamicToolkit' }>, 'kind'>>({
    instructions,
    policiesAdded: missingFrom(first.policies, second.policies),
    policiesRemoved: missingFrom(second.policies, first.policies),
  });
  return Object.keys(change).length === 0 ? undefined : { kind: 'dynamicToolkit', ...change };
}

type Lines = string | readonly string[] | null;

function text(lines: Lines): string {
  return typeof lines === 'string' ? lines : (lines ?? []).join('\n\n');
}

/** As the hash sees it: a text is not a list of one line, and no list is not an empty one. */
function sameLines(first: Lines, second: Lines): boolean {
  return JSON.stringify(first) === JSON.stringify(second);
}

/** What changed between two texts, or undefined. */
export function textDiff(before: string, after: string): readonly DiffPart[] | undefined {
  return before === after ? undefined : wordDiff(before, after);
}

function jsonOf(value: unknown): JsonValue {
  return parse(stringify(value));
}

/** What of the second list the first one lacks; undefined if nothing. */
function missingFrom<T extends string | PolicyBinding>(
  first: readonly T[],
  second: readonly T[],
): readonly T[] | undefined {
  const rest = first.map((one) => JSON.stringify(one));
  const missing = second.filter((one) => {
    const place = rest.indexOf(JSON.stringify(one));
    if (place >= 0) rest.splice(place, 1);
    return place < 0;
  });
  return missing.length > 0 ? missing : undefined;
}
