import { randomBytes, randomUUID } from 'node:crypto';
import { type CommitmentKind, commit, SALT_BYTES } from '@bulla/core/canon';
import type { CapabilityLink } from '@bulla/core/capability';
import type { CapsuleInput, Data, DataObject, SealedCapsule } from '@bulla/core/capsule';
import { BullaError, failureOf } from '@bulla/core/error';
import { stringify } from '@bulla/core/json';
import type { Chain, Effect, Opening } from '../store/index.ts';

/** The domain of all capsules of sessions. */
export const DOMAIN = 'session';

/** What every capsule of a turn says of what the agent can do in it: digests and ids. */
export interface TurnEvidence {
  /** The id under which the agent is registered. */
  readonly agent: string;
  readonly capability: DataObject;
}

export function turnEvidence(turn: {
  readonly agent: string;
  readonly linkHash: string;
  readonly link: CapabilityLink;
  readonly envelopeHash: string | null;
}): TurnEvidence {
  const { agent, linkHash, link, envelopeHash } = turn;
  const { staticHash, runtimeHash, invocationHash = null } = link;
  return {
    agent,
    capability: {
      ...{ static: staticHash, runtime: runtimeHash, invocation: invocationHash, link: linkHash },
      ...(envelopeHash === null ? {} : { envelope: envelopeHash }),
    },
  };
}

/** A tool as a capsule names it: by its name in this turn, and by its hash there, if it is enabled. */
export interface NamedTool {
  readonly name: string;
  readonly digest: string | null;
}

/** Where a call or a turn was denied. */
export type Stage = 'turn' | 'kill' | 'evaluate' | 'args' | 'tool' | 'policy';

export interface Commitment {
  readonly commitment: string;
  readonly opening: Opening;
}

/** An outcome that could not be recorded. */
export interface Loss {
  readonly error: unknown;
  /** The capsule that has no outcome; null where something was denied, and that could not be recorded. */
  readonly intent: SealedCapsule | null;
}

export interface RecordOptions {
  readonly chain: Chain;
  readonly agentId: string;
  readonly sessionId: string;
  readonly correlationId: string | null;
  readonly recordPayloads: boolean;
  readonly onLoss: (loss: Loss) => void;
}

interface Ended {
  readonly status: 'success' | 'failure' | 'partial';
  readonly error: string | null;
  readonly durationMs: number;
  readonly metrics?: DataObject;
}

/**
 * Writes the capsules of one turn: its intent, an intent before and an outcome after each call, one capsule for what is
 * denied, and the outcome of the turn. Payloads are committed to, and not in the capsules.
 */
export class TurnRecorder {
  readonly #options: RecordOptions;
  #evidence: Partial<TurnEvidence>;
  #turn: SealedCapsule | null = null;

  /** Before the turn has begun, only who acts and the static hash are known. */
  constructor(options: RecordOptions, agent: string, staticHash: string) {
    this.#options = options;
    this.#evidence = { agent, capability: { static: staticHash } };
  }

  /** The turn begins. Rejects as `Chain.append` does, and with what the effect throws. */
  async begin(id: string, evidence: TurnEvidence, effect: Effect): Promise<SealedCapsule> {
    this.#evidence = evidence;
    const outcome = { status: 'pending', summary: TURN } as const;
    this.#turn = await this.#options.chain.append({ ...this.#agent(), outcome }, { id, effect });
    return this.#turn;
  }

  /** The turn is over. Rejects as `Chain.append` does. */
  async end({ status, error, durationMs, metrics = {} }: Ended): Promise<void> {
    await this.#options.chain.append({
      ...this.#agent(),
      parent_id: this.#turn!.id,
      execution: { duration_ms: durationMs },
      outcome: { status, summary: TURN, error, metrics },
    });
  }

  /** A turn that does not begin. What keeps this from being recorded does not let it begin either. */
  async refuse(stage: Stage, error: unknown): Promise<void> {
    const outcome = { status: 'blocked', summary: TURN, error: denied(stage, error) } as const;
    await this.#told(() => this.#options.chain.append({ ...this.#agent(), outcome }));
  }

  /** Commits to what a call is made with, or gives. Throws `VALUE_…` for what is not JSON, and `COMMIT_INEXACT`. */
  commit(kind: CommitmentKind, value: unknown, capsuleId: string): Commitment {
    const salt = new Uint8Array(randomBytes(SALT_BYTES));
    const commitment = commit(kind, value, salt);
    const payload = this.#options.recordPayloads ? stringify(value) : null;
    return { commitment, opening: { commitment, capsuleId, kind, salt, payload } };
  }

  /** A call is about to be made; no record, no call. Rejects as `Chain.append` does. */
  intent(id: string, tool: NamedTool, args: Commitment | undefined): Promise<SealedCapsule> {
    const outcome = { status: 'pending', summary: request(tool) } as const;
    return this.#options.chain.append({ ...this.#call(tool, args), outcome }, { id, ...openingsOf(args) });
  }

  /** A call that is not made. */
  async deny(
    id: string,
    tool: NamedTool | null,
    args: Commitment | undefined,
    stage: Stage,
    error: unknown,
  ): Promise<void> {
    const outcome = { status: 'blocked', summary: request(tool), error: denied(stage, error) } as const;
    const input = { ...this.#call(tool, args), outcome };
    await this.#told(() => this.#options.chain.append(input, { id, ...openingsOf(args) }));
  }

  /** What came of a call. A result that is not JSON is not committed to, and the capsule says why. */
  async outcome(
    intent: SealedCapsule,
    tool: NamedTool,
    args: Commitment | undefined,
    ended: Ended & { readonly result?: unknown },
  ): Promise<void> {
    const { status, error, durationMs, metrics = {}, result } = ended;
    const id = randomUUID();
    let committed: Commitment | undefined;
    let shown: Data = null;
    if (result !== undefined) {
      try {
        committed = this.commit('result', result, id);
        shown = { commitment: committed.commitment };
      } catch (reason) {
        if (!(reason instanceof BullaError)) throw reason;
        shown = { uncommitted: reason.code };
      }
    }
    const call = {
      tool: tool.name,
      arguments: args === undefined ? {} : { commitment: args.commitment },
      result: shown,
      success: status === 'success',
      duration_ms: durationMs,
      error,
    };
    await this.#options.chain.append(
      {
        ...this.#call(tool, args),
        parent_id: intent.id,
        execution: { duration_ms: durationMs, tool_calls: [call] },
        outcome: { status, summary: request(tool), error, metrics },
      },
      { id, ...openingsOf(committed) },
    );
  }

  lost(error: unknown, intent: SealedCapsule | null): void {
    try {
      this.#options.onLoss({ error, intent });
    } catch {
      // Whoever is told of losses has no better place to fail.
    }
  }

  async #told(write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      this.lost(error, null);
    }
  }

  #agent(): CapsuleInput {
    return { type: 'agent', ...this.#base(TURN, {}) };
  }

  #call(tool: NamedTool | null, args: Commitment | undefined): CapsuleInput {
    const about = {
      ...(tool === null ? {} : { tool: { name: tool.name, digest: tool.digest } }),
      ...(args === undefined ? {} : { args: args.commitment }),
    };
    return { type: 'tool', ...this.#base(request(tool), about), parent_id: this.#turn?.id ?? null };
  }

  #base(asked: string, about: DataObject): CapsuleInput {
    const { agentId, sessionId, correlationId } = this.#options;
    const { agent, capability } = this.#evidence as TurnEvidence;
    const reference = capability.link ?? capability.static;
    return {
      domain: DOMAIN,
      trigger: { type: 'agent', source: agentId, request: asked, correlation_id: correlationId },
      context: {
        agent_id: agentId,
        session_id: sessionId,
        environment: { bulla: { v: 1, agent, ...about, capability } },
      },
      authority: { type: 'policy', policy_reference: `capability:${reference}` },
    };
  }
}

const TURN = 'session/turn';

function request(tool: NamedTool | null): string {
  return tool === null ? 'tools/call' : `tools/call ${tool.name}`;
}

function openingsOf(committed: Commitment | undefined): { openings?: readonly Opening[] } {
  return committed === undefined ? {} : { openings: [committed.opening] };
}

/** Codes whose sentences hold nothing but the names of policies and the words of a kill switch. */
const TOLD = /^(?:SESSION_[A-Z_]+|CAPABILITY_POLICY_DENIED|KILLED)$/;

/** Any other sentence may quote what a record must not hold: arguments, a context, a server behind it. */
function denied(stage: Stage, error: unknown): string {
  const told = `${stage}: ${failureOf(error)}`;
  return error instanceof BullaError && TOLD.test(error.code) ? `${told}: ${error.message}` : told;
}
