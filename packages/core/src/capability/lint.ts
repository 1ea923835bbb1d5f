import { BullaError } from '../error.ts';
import { type Composable, checkComposable } from './composable.ts';
import { everyNode } from './fold.ts';
import { type CapabilityProfile, type HashOptions, hashingOf, isHash, sorted } from './hashing.ts';
import type { SharedPolicy } from './policy.ts';
import { isOpaqueSchema } from './standard-schema.ts';
import { staticHash } from './static-hash.ts';
import { membersOfComposable } from './wire.ts';

/** Something of a definition that its author should know. */
export interface LintFinding {
  /**
   * `opaque_schema`: the hash knows of the schema only who made it, so that another one hashes alike.
   * `profile`: the two profiles hash this differently, or one refuses it; of a toolkit, they sort its members so. `twin`: a tool of the same name stands in
   * another place; if both are enabled, evaluation fails. `policy_id`: two policies share an id, so that each is
   * held to what the other says. `not_hashable`: it has no hash.
   */
  readonly code: 'opaque_schema' | 'profile' | 'twin' | 'policy_id' | 'not_hashable';
  /** The names that lead to it, as a JSON Pointer. */
  readonly place: string;
  readonly message: string;
}

/** Tells what is weak in a definition. Of dynamic toolkits it sees no members. Never throws for what was made here. */
export function lint(root: Composable, options?: HashOptions): readonly LintFinding[] {
  checkComposable(root);
  const hashing = hashingOf(options);
  const findings: LintFinding[] = [];
  const tools = new Map<string, string>();
  const policies = new Map<string, SharedPolicy>();
  for (const { node: composable, place } of everyNode(root, membersOfComposable)) {
    const { name } = composable;
    const tell = (code: LintFinding['code'], message: string) => findings.push({ code, place, message });
    if (composable.kind === 'tool') {
      if (isOpaqueSchema(composable.inputSchema, hashing.schemaSource)) {
        const { vendor } = composable.inputSchema['~standard'];
        tell(
          'opaque_schema',
          `The schema is hashed only as one of ${vendor}; any other one would hash alike.`,
        );
      }
      const twin = tools.get(name);
      if (twin !== undefined) tell('twin', `There is another tool ${JSON.stringify(name)} at ${twin}.`);
      else tools.set(name, place);
    }
    for (const policy of composable.kind === 'toolkit' ? [] : composable.policies) {
      const known = policies.get(policy.id);
      if (known === undefined) policies.set(policy.id, policy);
      else if (known !== policy) tell('policy_id', `Two policies have the id ${JSON.stringify(policy.id)}.`);
    }
    const hashUnder = (profile: CapabilityProfile) =>
      orCode(() => staticHash(composable, { ...hashing, profile }));
    const [seed, released] = [hashUnder('khora'), hashUnder('khora-icu')];
    if (seed === released && !isHash(seed)) tell('not_hashable', `It has no hash: ${seed}.`);
    else if (seed !== released) {
      // A toolkit is told only of what is its own, not of what differs because its members do.
      const order = composable.kind === 'toolkit' ? orderDifference(composable.members) : undefined;
      if (order !== undefined) tell('profile', order);
      else if (composable.kind !== 'toolkit')
        tell('profile', `It hashes as ${seed} under khora, and as ${released} under khora-icu.`);
    }
  }
  return findings;
}

/** How the profiles differ in the order of the members, which a toolkit's hash covers; undefined if they agree. */
function orderDifference(members: readonly Composable[]): string | undefined {
  const names = members.map(({ name }) => name);
  const orderUnder = (profile: CapabilityProfile) => orCode(() => sorted(names, profile, '/members'));
  const [seed, released] = [orderUnder('khora'), orderUnder('khora-icu')];
  if (typeof released === 'string') return `khora-icu cannot sort its members: ${released}.`;
  const at = names.findIndex((_, i) => seed[i] !== released[i]);
  if (at < 0) return undefined;
  const [first, second] = [seed[at], released[at]].map((name) => JSON.stringify(name));
  return `Its members are sorted differently: ${first} comes first under khora, ${second} under khora-icu.`;
}

function orCode<T>(compute: () => T): T | string {
  try {
    return compute();
  } catch (error) {
    if (error instanceof BullaError) return error.code;
    throw error;
  }
}
