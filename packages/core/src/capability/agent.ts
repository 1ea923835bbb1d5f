import { toolOf } from './call.ts';
import type { Composable, ToolkitContext } from './composable.ts';
import { type EvaluateOptions, type Evaluation, evaluateComposable } from './evaluate.ts';
import { type Hashing, type HashOptions, hashingOf, hashPlainObject } from './hashing.ts';
import { checkName, lineList, wrongArgument } from './names.ts';
import { agentCanonicalPayload, agentLines, type ToolRef } from './payloads.ts';
import {
  checkAugments,
  computeInstructionsHash,
  computeRuntimeHash,
  type RuntimeToolAugments,
  resolveRuntimeToolRefs,
} from './runtime.ts';
import { staticHash } from './static-hash.ts';

/** An agent as it is defined. */
export interface RegisteredAgent<Env = never> {
  readonly agentId: string;
  readonly name: string;
  /** Over the root composable and the agent's own lines; not over its id, its name or its context. */
  readonly staticHash: string;
  readonly rootComposableHash: string;
  readonly rootComposable: Composable<Env>;
  /** The agent's own lines, trimmed, without the empty ones, in the order given. */
  readonly staticInstructions: readonly string[];
  readonly staticContext: Readonly<Record<string, unknown>>;
  readonly hashing: Hashing;
}

export interface RegisteredAgentOptions<Env> {
  readonly agentId: string;
  readonly name: string;
  readonly rootComposable: Composable<Env>;
  readonly instructions?: readonly string[] | undefined;
  /** Data for sessions; not hashed. */
  readonly context?: Readonly<Record<string, unknown>> | undefined;
  /** How everything of this agent is hashed. */
  readonly hashing?: HashOptions | undefined;
}

/**
 * Defines an agent. Throws `CAPABILITY_ARGUMENT`, and what `staticHash` throws for a root that
 * cannot be hashed.
 */
export function createRegisteredAgent<Env>(options: RegisteredAgentOptions<Env>): RegisteredAgent<Env> {
  const { agentId, name, rootComposable, instructions = [], context = {} } = options;
  checkName(agentId, 'The id of an agent', '/agentId');
  checkName(name, 'The name of an agent');
  if (typeof context !== 'object' || context === null || Array.isArray(context))
    wrongArgument('The context of an agent is an object.', '/context');
  const hashing = hashingOf(options.hashing);
  const rootComposableHash = staticHash(rootComposable, hashing);
  const staticInstructions = Object.freeze(agentLines(lineList(instructions)));
  return Object.freeze({
    agentId,
    name,
    staticHash: hashPlainObject(agentCanonicalPayload(rootComposableHash, staticInstructions), hashing),
    rootComposableHash,
    rootComposable,
    staticInstructions,
    staticContext: Object.freeze({ ...context }),
    hashing,
  });
}

/** What an agent can do in an environment. */
export interface Affordances<Env = never> extends Evaluation<Env> {
  /** The agent's lines, then the texts of the enabled toolkits and tools, with blank lines between them. */
  readonly instructions: string;
  readonly instructionsHash: string;
  readonly toolRefs: readonly ToolRef[];
  readonly runtimeHash: string;
}

export interface AffordanceOptions extends EvaluateOptions {
  readonly runtimeToolAugments?: RuntimeToolAugments | undefined;
}

/**
 * Evaluates an agent in an environment and hashes what came out. Throws what `evaluateComposable` throws,
 * `CAPABILITY_ARGUMENT`, and what is thrown for a tool that cannot be hashed.
 */
export async function evaluateRegisteredAgentAffordances<Env>(
  agent: RegisteredAgent<Env>,
  ctx: ToolkitContext<Env>,
  options: AffordanceOptions = {},
): Promise<Affordances<Env>> {
  const evaluation = await evaluateComposable(agent.rootComposable, ctx, options);
  const { tools, disabled } = evaluation;
  const { runtimeToolAugments: augments } = options;
  if (augments !== undefined) checkAugments(augments, tools, disabled);
  const blocks = [...agent.staticInstructions, evaluation.instructions].filter((block) => block !== '');
  const instructions = blocks.join('\n\n');
  return { ...evaluation, instructions, ...hashes(agent, tools, instructions, augments) };
}

type Hashes = Pick<Affordances, 'toolRefs' | 'runtimeHash' | 'instructionsHash'>;

/** What was hashed of an agent last. */
interface Last {
  /** The tools, which cannot change, so that the same ones have the same hashes. */
  readonly tools: readonly object[];
  readonly instructions: string;
  readonly hashes: Hashes;
}
const lastHashes = new WeakMap<object, Last>();

function hashes<Env>(
  agent: RegisteredAgent<Env>,
  tools: Evaluation<Env>['tools'],
  instructions: string,
  augments: RuntimeToolAugments | undefined,
): Hashes {
  const { hashing } = agent;
  const origins = Array.from(tools.values(), (spec) => toolOf(spec)!);
  const last = augments === undefined ? lastHashes.get(agent) : undefined;
  const sameTools =
    last?.tools.length === origins.length && origins.every((tool, place) => tool === last.tools[place]);
  const sameText = last?.instructions === instructions;
  if (sameTools && sameText) return last.hashes;
  const toolRefs = sameTools
    ? last.hashes.toolRefs
    : Object.freeze(resolveRuntimeToolRefs(tools, augments, hashing));
  const found: Hashes = {
    toolRefs,
    runtimeHash: sameTools ? last.hashes.runtimeHash : computeRuntimeHash(toolRefs, hashing),
    instructionsHash: sameText
      ? last.hashes.instructionsHash
      : computeInstructionsHash(instructions, hashing),
  };
  if (augments === undefined) lastHashes.set(agent, { tools: origins, instructions, hashes: found });
  return found;
}
