import { BullaError } from '../error.ts';
import type { CapabilityLink } from './link.ts';
import type { ToolRef } from './payloads.ts';
import type { PolicyEvaluationSnapshot } from './policy.ts';

/** The difference of two lists of tools, by name. */
export interface ToolRefsDiff {
  readonly onlyInFirst: readonly ToolRef[];
  readonly onlyInSecond: readonly ToolRef[];
  readonly hashChanged: readonly ToolHashChange[];
}

export interface ToolHashChange {
  readonly toolKey: string;
  readonly firstHash: string;
  readonly secondHash: string;
}

/** Compares two lists of tools, whatever their order. Throws `CAPABILITY_ENVELOPE_INVALID` for a name that is there twice. */
export function diffToolRefs(first: readonly ToolRef[], second: readonly ToolRef[]): ToolRefsDiff {
  const [before, after] = [byKey(first), byKey(second)];
  const hashChanged: ToolHashChange[] = [];
  for (const { toolKey, toolHash } of first) {
    const secondHash = after.get(toolKey);
    if (secondHash !== undefined && secondHash !== toolHash)
      hashChanged.push({ toolKey, firstHash: toolHash, secondHash });
  }
  return {
    onlyInFirst: first.filter(({ toolKey }) => !after.has(toolKey)),
    onlyInSecond: second.filter(({ toolKey }) => !before.has(toolKey)),
    hashChanged,
  };
}

function byKey(refs: readonly ToolRef[]): ReadonlyMap<string, string> {
  const map = new Map(refs.map(({ toolKey, toolHash }) => [toolKey, toolHash]));
  if (map.size === refs.length) return map;
  throw new BullaError('CAPABILITY_ENVELOPE_INVALID', 'A tool is listed twice.', { path: '/toolRefs' });
}

const LINK_FIELDS = [
  'agentId',
  'agentName',
  'profile',
  'schemaSource',
  'staticHash',
  'runtimeHash',
  'invocationHash',
  'instructionsHash',
] as const satisfies readonly (keyof CapabilityLink)[];

export type CapabilityLinkField = (typeof LINK_FIELDS)[number];

export interface CapabilityLinksDiff {
  readonly unchanged: readonly CapabilityLinkField[];
  readonly changed: readonly {
    readonly field: CapabilityLinkField;
    readonly first: string | undefined;
    readonly second: string | undefined;
  }[];
}

/** Which fields of two links differ, in a fixed order; for the tools there is `diffToolRefs`. */
export function diffCapabilityLinks(first: CapabilityLink, second: CapabilityLink): CapabilityLinksDiff {
  const same = (field: CapabilityLinkField) => first[field] === second[field];
  return {
    unchanged: LINK_FIELDS.filter(same),
    changed: LINK_FIELDS.filter((field) => !same(field)).map((field) => ({
      field,
      first: first[field],
      second: second[field],
    })),
  };
}

/** What each difference means, the one that weighs most first. */
const MEANINGS: readonly (readonly [CapabilityLinkField, string])[] = [
  ['agentId', 'They are different agents.'],
  ['profile', 'They were hashed under different profiles, so their hashes cannot be compared.'],
  ['schemaSource', 'Their schemas were hashed from different sources, so their hashes cannot be compared.'],
  ['staticHash', 'The definition differs: its tools, their policies or its instructions.'],
  ['runtimeHash', 'The enabled tools differ.'],
  ['instructionsHash', 'The text for the model differs.'],
  ['invocationHash', 'They are bound to different contexts.'],
  ['agentName', 'The agent has another name.'],
];

/** What it means that two links differ in this field, as a sentence. */
export function explainCapabilityLinkField(field: CapabilityLinkField): string {
  return MEANINGS.find(([known]) => known === field)![1];
}

/** Says in plain sentences how two links stand to each other: all that differs, and what it follows from. */
export function explainCapabilityLinkRelationship(first: CapabilityLink, second: CapabilityLink): string {
  const changed = new Set(diffCapabilityLinks(first, second).changed.map(({ field }) => field));
  if (changed.size === 0) return 'They are the same.';
  const said = MEANINGS.filter(([field]) => changed.has(field)).map(([, meaning]) => meaning);
  if (changed.has('agentId') || changed.has('profile') || changed.has('schemaSource')) return said.join(' ');
  if (!changed.has('staticHash') && (changed.has('runtimeHash') || changed.has('instructionsHash')))
    said.unshift('The definition is the same; what its policies and dynamic toolkits make of it is not.');
  else if (changed.size === 1 && changed.has('agentName')) said.unshift('All hashes are the same.');
  else if (!changed.has('staticHash')) said.unshift('The definition and the enabled tools are the same.');
  return said.join(' ');
}

/**
 * A hash for narrow places: its first and last digits, 6 of each unless said otherwise; a text that would not become
 * shorter stays as it is. Throws `CAPABILITY_ARGUMENT` for lengths that are not whole numbers from 0 on.
 */
export function formatHashShort(
  hash: string,
  { prefix = 6, suffix = 6 }: { readonly prefix?: number; readonly suffix?: number } = {},
): string {
  if (![prefix, suffix].every((length) => Number.isSafeInteger(length) && length >= 0))
    throw new BullaError('CAPABILITY_ARGUMENT', 'The lengths are whole numbers from 0 on.');
  if (hash.length <= prefix + suffix + 1) return hash;
  return `${hash.slice(0, prefix)}…${hash.slice(hash.length - suffix)}`;
}

/** What policies said in two runs. */
export interface PolicyResultsDiff {
  readonly onlyInFirst: readonly { readonly policyId: string; readonly allowed: boolean }[];
  readonly onlyInSecond: readonly { readonly policyId: string; readonly allowed: boolean }[];
  readonly valueChanged: readonly {
    readonly policyId: string;
    readonly first: boolean;
    readonly second: boolean;
  }[];
}

/** Compares what policies said, by id. */
export function diffPolicyEvaluationSnapshots(
  first: Pick<PolicyEvaluationSnapshot, 'results'>,
  second: Pick<PolicyEvaluationSnapshot, 'results'>,
): PolicyResultsDiff {
  const only = (these: PolicyEvaluationSnapshot['results'], those: PolicyEvaluationSnapshot['results']) =>
    Object.entries(these)
      .filter(([policyId]) => !Object.hasOwn(those, policyId))
      .map(([policyId, allowed]) => ({ policyId, allowed }));
  return {
    onlyInFirst: only(first.results, second.results),
    onlyInSecond: only(second.results, first.results),
    valueChanged: Object.entries(first.results)
      .filter(([id, allowed]) => Object.hasOwn(second.results, id) && second.results[id] !== allowed)
      .map(([policyId, allowed]) => ({ policyId, first: allowed, second: second.results[policyId]! })),
  };
}
