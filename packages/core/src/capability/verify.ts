import { BullaError } from '../error.ts';
import { JsonObject, pointer } from '../json/index.ts';
import { fold } from './fold.ts';
import { type CapabilityProfile, hashPlainObject } from './hashing.ts';
import { computeInvocationContextHash, type NormalizeOptions } from './invocation.ts';
import { agentCanonicalPayload } from './payloads.ts';
import { readEnvelope } from './read.ts';
import { computeInstructionsHash, computeRuntimeHash } from './runtime.ts';
import type { AgentSnapshotEnvelope, RegisteredAgentWire } from './snapshot.ts';
import {
  hashStaticWire,
  hashToolSpecWire,
  hashToolSpecWireAsRun,
  membersOfWire,
  type StaticWire,
} from './wire.ts';

export interface EnvelopeFailure {
  /**
   * `tool_hash`, `tool_refs`, `runtime_hash`, `static_hash`, `instructions_hash`, `invocation_hash`: it does not
   * recompute. `agent`: the definition is another agent's. `policy`: a tool is enabled that a policy denies or that
   * no result speaks of. `tool_origin`: a tool is enabled that the definition cannot bring. `instructions`: the text
   * is not the one that the definition gives. `opaque`: a mark that does not fit its schema.
   */
  readonly code:
    | 'tool_hash'
    | 'tool_refs'
    | 'runtime_hash'
    | 'static_hash'
    | 'instructions_hash'
    | 'invocation_hash'
    | 'agent'
    | 'policy'
    | 'tool_origin'
    | 'instructions'
    | 'opaque';
  readonly path: string;
  readonly message: string;
}

export interface EnvelopeVerdict {
  readonly ok: boolean;
  /** `incomplete`: nothing failed, but not every hash could be computed again. */
  readonly outcome: 'ok' | 'failed' | 'incomplete';
  readonly failures: readonly EnvelopeFailure[];
  /** The hashes that were computed again, by their paths. */
  readonly recomputed: readonly string[];
  /** The hashes that could not be, because what they are made of is not in the envelope; and a text without a hash. */
  readonly unchecked: readonly string[];
  /** Tools of whose schemas the hashes know only who made them: a pass says nothing of what they accept. */
  readonly opaque: readonly string[];
  readonly envelope: AgentSnapshotEnvelope;
}

export interface VerifyEnvelopeOptions extends NormalizeOptions {
  /** The context of the invocation, where the envelope has none. */
  readonly invocationContext?: unknown;
}

type Check = (
  ok: boolean,
  code: EnvelopeFailure['code'],
  path: readonly (string | number)[],
  why: string,
) => void;

/**
 * Computes every hash of an envelope again, and checks that its parts fit together. A pass says that the envelope is
 * whole, not who wrote it, nor that the handlers and policies are what their names say: no hash covers those. Throws
 * what `readEnvelope` throws for what cannot be read, and what `normalizeInvocationContextForHash` throws.
 */
export function verifyEnvelope(input: unknown, options: VerifyEnvelopeOptions = {}): EnvelopeVerdict {
  return verifyReadEnvelope(readEnvelope(input), options);
}

/** The same for an envelope that was read. */
export function verifyReadEnvelope(
  envelope: AgentSnapshotEnvelope,
  options: VerifyEnvelopeOptions,
): EnvelopeVerdict {
  const { runtime } = envelope;
  const { link } = runtime;
  const { profile } = link;
  const failures: EnvelopeFailure[] = [];
  const recomputed: string[] = [];
  const unchecked: string[] = [];
  const check: Check = (ok, code, path, message) => {
    if (!ok) failures.push({ code, path: pointer(path), message });
  };
  const hash = (
    code: EnvelopeFailure['code'],
    path: readonly (string | number)[],
    stored: string,
    compute: () => string,
  ) => {
    recomputed.push(pointer(path));
    check(stored === attempt(compute), code, path, 'The hash is not that of the content.');
  };

  // 1. Every tool has the hash under which the link lists it, and the link lists every tool.
  const { tools } = runtime.affordances;
  const listed = new Set(link.toolRefs.map(({ toolKey }) => toolKey));
  check(listed.size === link.toolRefs.length, 'tool_refs', REFS, 'A tool is listed twice.');
  for (const name of Object.keys(tools)) {
    check(listed.has(name), 'tool_refs', [...TOOLS, name], 'The link does not list this tool.');
  }
  for (const [place, { toolKey, toolHash }] of link.toolRefs.entries()) {
    const wire = tools[toolKey];
    const path = [...REFS, place, 'toolHash'];
    if (wire === undefined) check(false, 'tool_refs', path, 'This tool is not among the affordances.');
    else hash('tool_hash', path, toolHash, () => hashToolSpecWireAsRun(wire, profile));
  }

  // 2. The runtime hash is that of the list, and the instructions hash that of the text.
  hash('runtime_hash', [...LINK, 'runtimeHash'], link.runtimeHash, () =>
    computeRuntimeHash(link.toolRefs, { profile }),
  );
  const { instructionsHash, invocationHash } = link;
  if (instructionsHash === undefined) unchecked.push(pointer(['runtime', 'affordances', 'instructions']));
  else {
    hash('instructions_hash', [...LINK, 'instructionsHash'], instructionsHash, () =>
      computeInstructionsHash(runtime.affordances.instructions, { profile }),
    );
  }

  // 3. The invocation hash is that of the context.
  const recorded = runtime.invocationContext;
  if (invocationHash === undefined) {
    const why = 'There is a context of the invocation, and no hash of it.';
    check(recorded === undefined, 'invocation_hash', ['runtime', 'invocationContext'], why);
  } else if (recorded !== undefined || options.invocationContext !== undefined) {
    hash('invocation_hash', [...LINK, 'invocationHash'], invocationHash, () =>
      recorded === undefined
        ? computeInvocationContextHash(options.invocationContext, { ...options, profile })
        : hashPlainObject({ kind: 'invocation', context: recorded }, { profile }),
    );
  } else {
    unchecked.push(pointer([...LINK, 'invocationHash']));
  }

  // 4. What is enabled, the policies allow.
  const { results } = runtime.policy;
  for (const [name, { policyBindings }] of Object.entries(tools)) {
    for (const { id } of policyBindings) {
      const why = `The policy ${JSON.stringify(id)} does not allow this tool.`;
      check(Object.hasOwn(results, id) && results[id] === true, 'policy', [...TOOLS, name], why);
    }
  }

  // 5. The static hash is that of the definition, and the definition can bring what is enabled.
  if (envelope.static === undefined) unchecked.push(pointer([...LINK, 'staticHash']));
  else {
    const { static: agent } = envelope;
    const own = ['static', 'staticHash'];
    check(
      agent.staticHash === link.staticHash,
      'static_hash',
      [...LINK, 'staticHash'],
      'It is another definition.',
    );
    hash('static_hash', own, agent.staticHash, () => agentHash(agent, profile));
    check(agent.agentId === link.agentId, 'agent', [...LINK, 'agentId'], 'It is another agent.');
    check(agent.name === link.agentName, 'agent', [...LINK, 'agentName'], 'The agent has another name.');
    if (failures.length === 0) checkOrigins(envelope, agent, check);
  }

  // 6. A schema of which only the maker is known is marked as such, and no other.
  for (const [name, { opaque, inputSchema }] of Object.entries(tools)) {
    const why = 'The mark `opaque` is for a schema that is only {vendor, version}, and for each such.';
    check(opaque === isStub(inputSchema), 'opaque', [...TOOLS, name, 'opaque'], why);
  }
  const opaque = Object.keys(tools).filter((name) => isStub(tools[name]!.inputSchema));
  const outcome = failures.length > 0 ? 'failed' : unchecked.length > 0 ? 'incomplete' : 'ok';
  return { ok: outcome === 'ok', outcome, failures, recomputed, unchecked, opaque, envelope };
}

const LINK = ['runtime', 'link'];
const REFS = [...LINK, 'toolRefs'];
const TOOLS = ['runtime', 'affordances', 'tools'];

/**
 * Verifies an envelope that was read, and gives it back. Throws `CAPABILITY_ENVELOPE_INVALID` with the path of the
 * first thing that does not fit. Hashes that nothing in it can tell of stay unchecked.
 */
export function checkEnvelope(envelope: AgentSnapshotEnvelope): AgentSnapshotEnvelope {
  return passed(verifyReadEnvelope(envelope, {})).envelope;
}

/** A verdict without failures. Throws `CAPABILITY_ENVELOPE_INVALID` with the path of the first one. */
export function passed(verdict: EnvelopeVerdict): EnvelopeVerdict {
  const [first] = verdict.failures;
  if (first === undefined) return verdict;
  throw new BullaError('CAPABILITY_ENVELOPE_INVALID', first.message, { path: first.path });
}

/** What cannot be hashed, because the profile refuses it, has no hash that could be right. */
function attempt(compute: () => string): string | undefined {
  try {
    return compute();
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    const { code } = error;
    if (code.startsWith('CANON_') || code === 'CAPABILITY_NAME_COLLISION') return undefined;
    throw error;
  }
}

function agentHash(agent: RegisteredAgentWire, profile: CapabilityProfile): string {
  const root = hashStaticWire(agent.root, profile);
  return hashPlainObject(agentCanonicalPayload(root, agent.staticInstructions), { profile });
}

/**
 * Without dynamic toolkits every enabled tool stands in the definition, and the text is what the definition gives.
 * With them, neither can be told.
 */
function checkOrigins({ runtime }: AgentSnapshotEnvelope, agent: RegisteredAgentWire, check: Check): void {
  const { profile } = runtime.link;
  const { tools, instructions } = runtime.affordances;
  const hashes = new Map(
    Object.entries(tools).map(([name, wire]) => [name, hashToolSpecWire(wire, profile)]),
  );
  const told = fold<StaticWire, Told>(agent.root, membersOfWire, (node, members) => {
    if (node.kind === 'dynamicToolkit') return { names: [], texts: [], dynamic: true };
    const lines = typeof node.instructions === 'string' ? [node.instructions] : (node.instructions ?? []);
    if (node.kind === 'tool') {
      const known = hashes.get(node.name);
      const names = known !== undefined && known === hashToolSpecWire(node, profile) ? [node.name] : [];
      return { names, texts: names.length > 0 ? lines : [], dynamic: false };
    }
    const names = members.flatMap((member) => member.names);
    const texts = names.length > 0 ? [...lines, ...members.flatMap((member) => member.texts)] : [];
    return { names, texts, dynamic: members.some((member) => member.dynamic) };
  });
  if (told.dynamic) return;
  for (const name of Object.keys(tools)) {
    const why = 'The definition has no such tool, and no dynamic toolkit that could have made it.';
    check(told.names.includes(name), 'tool_origin', [...TOOLS, name], why);
  }
  const text = [...agent.staticInstructions, ...told.texts].filter((line) => line !== '').join('\n\n');
  const why = 'The text is not the one that the definition gives for these tools.';
  check(text === instructions, 'instructions', ['runtime', 'affordances', 'instructions'], why);
}

interface Told {
  readonly names: readonly string[];
  readonly texts: readonly string[];
  readonly dynamic: boolean;
}

function isStub(schema: unknown): boolean {
  return (
    schema instanceof JsonObject &&
    schema.size === 2 &&
    typeof schema.get('vendor') === 'string' &&
    schema.has('version')
  );
}
