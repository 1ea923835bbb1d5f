import { canonicalize, digestText, lint } from '@bulla/core/canon';
import {
  AGENT_SNAPSHOT_ENVELOPE_VERSION,
  type AgentSnapshotEnvelope,
  type CapabilityLink,
  computeInstructionsHash,
  createCapabilityLink,
  type EnvelopeVerdict,
  hashingOf,
  passed,
  type RegisteredAgent,
  readCapabilityLink,
  registeredAgentToWire,
  type VerifyEnvelopeOptions,
  verifyEnvelope,
} from '@bulla/core/capability';
import { BullaError } from '@bulla/core/error';

/** Something under the hash of its canonical text (`jcs`): `bulla hash --profile jcs` says the same. */
export interface Hashed<T> {
  readonly hash: string;
  readonly text: string;
  readonly value: T;
}

/**
 * A link under its hash. Throws what `readCapabilityLink` throws, and `CAPABILITY_ENVELOPE_INVALID` for tools that do not hash to
 * its runtime hash or are not sorted: one link would have two hashes.
 */
export function hashedLink(input: unknown): Hashed<CapabilityLink> {
  const link = readCapabilityLink(input);
  const { agentId, agentName: name, staticHash, runtimeHash, instructionsHash, toolRefs } = link;
  const agent = { agentId, name, staticHash, hashing: hashingOf(link) };
  const made = createCapabilityLink({ agent, toolRefs, runtimeHash, instructionsHash });
  if (made.toolRefs.some(({ toolKey }, place) => toolKey !== toolRefs[place]!.toolKey)) {
    const why = 'The tool refs are not sorted by name.';
    throw new BullaError('CAPABILITY_ENVELOPE_INVALID', why, { path: '/toolRefs' });
  }
  return hash(link);
}

/**
 * An envelope under its hash. Throws what `verifyEnvelope` throws, `CAPABILITY_ENVELOPE_INVALID` for one that does not
 * recompute, and `REGISTRY_ENVELOPE` when not every hash could be computed again.
 */
export function hashedEnvelope(
  input: unknown,
  options: VerifyEnvelopeOptions = {},
): Hashed<AgentSnapshotEnvelope> {
  const { envelope, unchecked } = passed(verifyEnvelope(input, options));
  if (unchecked.length > 0) {
    const why = 'The envelope does not hold what this hash is made of, so it cannot be computed again.';
    throw new BullaError('REGISTRY_ENVELOPE', why, { path: unchecked[0]! });
  }
  return hash(envelope);
}

/**
 * The definition of an agent, as the envelope of a run in which no tool is enabled: so whoever can verify
 * an envelope can verify a definition. The agent's context is left out. It is not hashed, and may hold secrets. Throws
 * what `registeredAgentToWire` and `hashedEnvelope` throw.
 */
export function hashedDefinition<Env>(agent: RegisteredAgent<Env>): Hashed<AgentSnapshotEnvelope> {
  const { hashing, staticInstructions } = agent;
  const instructions = staticInstructions.join('\n\n');
  const instructionsHash = computeInstructionsHash(instructions, hashing);
  return hashedEnvelope({
    schemaVersion: AGENT_SNAPSHOT_ENVELOPE_VERSION,
    static: registeredAgentToWire({ ...agent, staticContext: {} }),
    runtime: {
      link: createCapabilityLink({ agent, toolRefs: [], instructionsHash }),
      affordances: { instructions, tools: {} },
      policy: { mode: 'authoritative', results: {} },
      toolkitContext: {},
    },
  } satisfies AgentSnapshotEnvelope);
}

/** Throws `REGISTRY_ENVELOPE` for a number that would become another: two contents would share one hash. */
function hash<T>(value: T): Hashed<T> {
  const text = canonicalize(value, 'jcs');
  const inexact = lint(value, ['jcs']).find(({ rule }) => rule === 'inexact');
  if (inexact !== undefined) {
    const why = 'The number cannot be kept exactly.';
    throw new BullaError('REGISTRY_ENVELOPE', why, { path: inexact.path });
  }
  return { hash: digestText(text, 'jcs'), text, value };
}

/** A link as it lies in the store. Throws `REGISTRY_CORRUPT` unless it is the one of that hash. */
export function readStoredLink(hash: string, text: string): Hashed<CapabilityLink> {
  return readStored('link', hash, text, () => hashedLink(text).value);
}

/**
 * An envelope as it lies in the store, with the hashes that it cannot tell of itself: the context of an invocation
 * may have been shown when it was put, and is not in it. Throws `REGISTRY_CORRUPT` unless it is the one of that hash.
 */
export function readStoredEnvelope(hash: string, text: string): Hashed<EnvelopeVerdict> {
  return readStored('envelope', hash, text, () => passed(verifyEnvelope(text)));
}

function readStored<T>(what: string, hash: string, text: string, read: () => T): Hashed<T> {
  if (digestText(text, 'jcs') !== hash) corrupt(`The ${what} ${hash} is not what was stored.`);
  try {
    return { hash, text, value: read() };
  } catch (cause) {
    return corrupt(`The ${what} ${hash} does not recompute.`, cause);
  }
}

/** Throws `REGISTRY_CORRUPT`. */
export function corrupt(message: string, cause?: unknown): never {
  throw new BullaError('REGISTRY_CORRUPT', message, { cause });
}
