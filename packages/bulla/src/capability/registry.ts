import { randomBytes } from 'node:crypto';
import type {
  AgentSnapshotEnvelope,
  CapabilityLink,
  RegisteredAgent,
  VerifyEnvelopeOptions,
} from '@bulla/core/capability';
import { BullaError } from '@bulla/core/error';
import type { Store } from '../store/index.ts';
import { corrupt, hashedDefinition, hashedEnvelope, hashedLink } from './hashed.ts';
import { readTransitions, readTurns, type Transition, type TurnRecord } from './history.ts';
import {
  type AgentRecord,
  addAgent,
  addHashed,
  allAgents,
  findAgent,
  findEnvelope,
  findLink,
} from './rows.ts';
import { findSession, type SessionRecord } from './sessions.ts';

export interface StoredLink {
  /** Over the canonical text (`jcs`) of the link. */
  readonly hash: string;
  readonly link: CapabilityLink;
}

export interface StoredEnvelope {
  /** Over the canonical text (`jcs`) of the envelope. */
  readonly hash: string;
  readonly envelope: AgentSnapshotEnvelope;
  /** The paths of the hashes that nothing in the envelope tells of; they were checked when it was put. */
  readonly unchecked: readonly string[];
}

/**
 * The agents, links, envelopes and sessions of one tenant. What is read back is computed again first: a row that was
 * changed is told with `REGISTRY_CORRUPT`, and never served. All methods may reject with a `STORE_…` code.
 */
export interface Registry {
  readonly store: Store;
  /**
   * Registers the definition of an agent; the same definition again is the registration that there is. With an `id`
   * it must be the one of that registration: rejects with `REGISTRY_UNKNOWN` when there is none, and with
   * `REGISTRY_CONFLICT` when another definition has it. Rejects with `CAPABILITY_…` for what cannot be hashed again.
   */
  register<Env>(agent: RegisteredAgent<Env>, options?: { readonly id?: string }): Promise<AgentRecord>;
  /** The agent of that registration, or null. */
  agent(id: string): Promise<AgentRecord | null>;
  /** All of them, in the order in which they were registered. */
  agents(): Promise<readonly AgentRecord[]>;
  /**
   * Keeps an envelope under its hash, once every hash in it was computed again. Where it does not hold the context of
   * its invocation, that must be shown. Rejects with `CAPABILITY_ENVELOPE_INVALID`, `REGISTRY_ENVELOPE`, and as `verifyEnvelope` throws.
   */
  putEnvelope(envelope: unknown, options?: VerifyEnvelopeOptions): Promise<StoredEnvelope>;
  envelope(hash: string): Promise<StoredEnvelope | null>;
  /** Keeps a link under its hash. Rejects with `CAPABILITY_ENVELOPE_INVALID`, and as `readCapabilityLink` throws. */
  putLink(link: unknown): Promise<StoredLink>;
  link(hash: string): Promise<CapabilityLink | null>;
  /** Rejects with `SESSION_UNKNOWN`. */
  session(id: string): Promise<SessionRecord>;
  /** The turns of a session, each held against its capsule. Rejects with `SESSION_UNKNOWN`. */
  turns(sessionId: string): Promise<readonly TurnRecord[]>;
  /** Where the link changed from one turn to the next. Rejects with `SESSION_UNKNOWN`. */
  transitions(sessionId: string): Promise<readonly Transition[]>;
}

export interface RegistryOptions {
  /** Default: the clock. */
  readonly now?: () => Date;
}

/** The registry of the store's tenant. */
export function createRegistry(store: Store, { now = () => new Date() }: RegistryOptions = {}): Registry {
  const { reading } = store;
  const refuse = async (id: string): Promise<never> => {
    if ((await findAgent(reading, { id })) === null)
      throw new BullaError('REGISTRY_UNKNOWN', 'No agent is registered under this id.');
    throw new BullaError('REGISTRY_CONFLICT', 'Another definition is registered under this id.');
  };
  const envelope = async (hash: string): Promise<StoredEnvelope | null> => {
    const found = await findEnvelope(reading, hash);
    if (found === null) return null;
    const { envelope, unchecked } = found.value;
    return { hash, envelope, unchecked };
  };
  return {
    store,
    async register(agent, { id } = {}) {
      const definition = hashedDefinition(agent);
      const found = await findAgent(reading, { content: definition.hash });
      if (id !== undefined && found?.id !== id) await refuse(id);
      if (found !== null) return found;
      return store.transaction(async (transaction) => {
        await addAgent(transaction, newId(), definition, now().toISOString());
        return (
          (await findAgent(transaction, { content: definition.hash })) ?? corrupt('The agent is not there.')
        );
      });
    },
    agent: (id) => findAgent(reading, { id }),
    agents: () => allAgents(reading),
    async putEnvelope(input, options) {
      const hashed = hashedEnvelope(input, options);
      await store.transaction((transaction) => addHashed(transaction, 'envelope', hashed));
      return (await envelope(hashed.hash)) ?? corrupt('The envelope is not there.');
    },
    envelope,
    async putLink(input) {
      const hashed = hashedLink(input);
      await store.transaction((transaction) => addHashed(transaction, 'link', hashed));
      return { hash: hashed.hash, link: hashed.value };
    },
    link: async (hash) => (await findLink(reading, hash))?.value ?? null,
    session: (id) => findSession(reading, id),
    turns: (sessionId) => readTurns(store, sessionId),
    transitions: (sessionId) => readTransitions(store, sessionId),
  };
}

/** 128 bits that nobody can guess. */
export function newId(): string {
  return randomBytes(16).toString('hex');
}
