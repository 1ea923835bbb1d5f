import { BullaError } from '../error.ts';
import type { DiffPart } from '../text/index.ts';
import {
  type DefinitionDiff,
  diffDefinitions,
  type ToolChange,
  textDiff,
  toolChange,
} from './definition-diff.ts';
import type { HashOptions } from './hashing.ts';
import { type CapabilityLink, checkToolRefs } from './link.ts';
import {
  type CapabilityLinksDiff,
  diffCapabilityLinks,
  diffPolicyEvaluationSnapshots,
  diffToolRefs,
  explainCapabilityLinkRelationship,
  type PolicyResultsDiff,
  type ToolRefsDiff,
} from './link-diff.ts';
import type { ToolRef } from './payloads.ts';
import { defined } from './plain.ts';
import type { PolicyEvaluationSnapshot } from './policy.ts';
import { readSnapshot } from './read.ts';
import type { AgentRuntimeSnapshot, AgentSnapshotEnvelope } from './snapshot.ts';
import { checkEnvelope } from './verify.ts';
import { hashToolSpecWireAsRun } from './wire.ts';

export interface SnapshotDiff {
  readonly same: boolean;
  /** In plain sentences. */
  readonly explanation: string;
  readonly link: CapabilityLinksDiff;
  readonly tools: ToolRefsDiff;
  /** Of the tools whose hash changed, what did; empty where a side is only a link. */
  readonly changes: readonly (ToolChange & { readonly toolKey: string })[];
  /** What differs between the definitions, of enabled tools and of others, where both sides have theirs. */
  readonly definition?: DefinitionDiff;
  /** The text for the model, where both sides have it and it differs. */
  readonly instructions?: readonly DiffPart[];
  readonly policies?: PolicyDiff;
  /** Tools of both sides whose schemas may differ unseen, because their hashes know only who made them. */
  readonly opaque: readonly string[];
}

interface PolicyDiff extends PolicyResultsDiff {
  /** What else of the policies differs: mode, bundle, engine. Times are not compared. */
  readonly changed: readonly {
    readonly field: 'mode' | 'policyBundleId' | 'policyEngineVersion';
    readonly first: string | undefined;
    readonly second: string | undefined;
  }[];
}

/** What a run shows to be compared. */
interface Side {
  readonly link: CapabilityLink;
  readonly envelope?: AgentSnapshotEnvelope;
}

/**
 * Compares two runs, each an envelope or a link. Each must be whole: an envelope must recompute, a link's tools must
 * hash to its runtime hash. What the host added and the environment are not compared. The exit code is that of a
 * command: 0 the same, 1 they differ, 2 one of them cannot be read or is not whole.
 */
type SnapshotComparison =
  | { readonly exitCode: 0 | 1; readonly diff: SnapshotDiff }
  | { readonly exitCode: 2; readonly unreadable: 'first' | 'second'; readonly error: BullaError };

export function compareSnapshots(first: unknown, second: unknown, assumed?: HashOptions): SnapshotComparison {
  let unreadable: 'first' | 'second' = 'first';
  try {
    const one = readSide(first, assumed);
    unreadable = 'second';
    const diff = diffSides(one, readSide(second, assumed));
    return { exitCode: diff.same ? 0 : 1, diff };
  } catch (error) {
    if (error instanceof BullaError) return { exitCode: 2, unreadable, error };
    throw error;
  }
}

function readSide(input: unknown, assumed: HashOptions | undefined): Side {
  const snapshot = readSnapshot(input, assumed);
  if (snapshot.kind === 'envelope') {
    const envelope = checkEnvelope(snapshot.envelope);
    return { link: envelope.runtime.link, envelope };
  }
  const { link } = snapshot;
  checkToolRefs(link.toolRefs, link.runtimeHash, link.profile);
  return { link };
}

function diffSides(first: Side, second: Side): SnapshotDiff {
  const link = diffCapabilityLinks(first.link, second.link);
  const tools = diffToolRefs(...comparableRefs(first, second));
  const inside: Inside =
    first.envelope && second.envelope
      ? diffEnvelopes(first.envelope, second.envelope, tools)
      : { changes: [], opaque: [] };
  const lists = [link.changed, tools.onlyInFirst, tools.onlyInSecond, tools.hashChanged];
  const rest = [inside.definition, inside.instructions, inside.policies];
  const same = lists.every((list) => list.length === 0) && rest.every((part) => part === undefined);
  const explanation = explain(first.link, second.link, inside.policies);
  return { same, explanation, link, tools, ...inside };
}

type Inside = Pick<SnapshotDiff, 'changes' | 'definition' | 'instructions' | 'policies' | 'opaque'>;

function diffEnvelopes(
  first: AgentSnapshotEnvelope,
  second: AgentSnapshotEnvelope,
  tools: ToolRefsDiff,
): Inside {
  const [old, now] = [first.runtime.affordances, second.runtime.affordances];
  const shared = Object.keys(old.tools).filter((name) => Object.hasOwn(now.tools, name));
  return defined<Inside>({
    changes: tools.hashChanged.map(({ toolKey }) => ({
      toolKey,
      ...toolChange(old.tools[toolKey]!, now.tools[toolKey]!),
    })),
    definition: first.static && second.static ? diffDefinitions(first.static, second.static) : undefined,
    instructions: textDiff(old.instructions, now.instructions),
    policies: policyDiff(first.runtime.policy, second.runtime.policy),
    opaque: shared.filter((name) => old.tools[name]!.opaque || now.tools[name]!.opaque),
  });
}

function explain(first: CapabilityLink, second: CapabilityLink, policies: PolicyDiff | undefined): string {
  const links = explainCapabilityLinkRelationship(first, second);
  if (policies === undefined) return links;
  const said = 'What the policies said differs.';
  return diffCapabilityLinks(first, second).changed.length === 0
    ? `All hashes are the same. ${said}`
    : `${links} ${said}`;
}

/** Where the profiles differ, the tools are hashed again under one, so that only what really changed is told. */
function comparableRefs(first: Side, second: Side): [readonly ToolRef[], readonly ToolRef[]] {
  const [before, after] = [first.envelope?.runtime, second.envelope?.runtime];
  if (first.link.profile === second.link.profile || before === undefined || after === undefined)
    return [first.link.toolRefs, second.link.toolRefs];
  return [refsUnderOneProfile(before), refsUnderOneProfile(after)];
}

function refsUnderOneProfile({ affordances }: AgentRuntimeSnapshot): readonly ToolRef[] {
  return Object.entries(affordances.tools).map(([toolKey, wire]) => ({
    toolKey,
    toolHash: hashToolSpecWireAsRun(wire, 'khora'),
  }));
}

function policyDiff(
  first: PolicyEvaluationSnapshot,
  second: PolicyEvaluationSnapshot,
): PolicyDiff | undefined {
  const results = diffPolicyEvaluationSnapshots(first, second);
  const changed = (['mode', 'policyBundleId', 'policyEngineVersion'] as const)
    .filter((field) => first[field] !== second[field])
    .map((field) => ({ field, first: first[field], second: second[field] }));
  const parts = [results.onlyInFirst, results.onlyInSecond, results.valueChanged, changed];
  return parts.every((part) => part.length === 0) ? undefined : { ...results, changed };
}
