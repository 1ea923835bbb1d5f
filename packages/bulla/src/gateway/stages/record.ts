import { randomUUID } from 'node:crypto';
import type { CapsuleInput, DataObject, SealedCapsule } from '@bulla/core/capsule';
import type { Code } from '@bulla/core/codes';
import { sha256Hex, toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import type { JsonValue } from '@bulla/core/json';
import type { Chain, Opening, Store } from '../../store/index.ts';
import { Denial, type Stage } from '../denial.ts';
import { type Commitment, commitTo } from './openings.ts';
import type { Verdict } from './results.ts';

/** What every record of a session says. */
export interface RecordContext {
  readonly store: Store;
  readonly chain: Chain;
  readonly agentId: string;
  readonly sessionId: string;
  /** This process. */
  readonly instance: string;
  /** What the operator calls the server. */
  readonly serverName: string;
  /** The digest of how the server is reached. */
  readonly server: string;
  /** The digest of the lock. */
  readonly lock: string;
}

/** A message of the host that is recorded. */
export interface Entry {
  readonly method: string;
  /** What it is about, by its name in the lock; null where nothing was named that could be told. */
  readonly tool: { readonly name: string; readonly digest: string | null } | null;
  /** The host as it names itself. */
  readonly host: string;
  readonly correlationId: string | null;
  readonly args?: JsonValue;
  /** What else is forwarded with it; null for nothing. */
  readonly rest?: JsonValue | null;
  /** Why a call passes that would be blocked if the gateway did more than watch. */
  readonly waived?: Denial | null;
}

/** A call whose intent is durable. */
export interface Intent {
  readonly capsule: SealedCapsule;
  readonly entry: Entry;
  readonly committed: Committed;
}

/** What a record commits to of the parameters of a request. */
interface Committed {
  readonly args: Commitment | null;
  readonly rest: Commitment | null;
}

/** So many incidents of one budget are recorded each in a capsule; the rest is only counted. */
const MAX_INCIDENTS = 64;

/**
 * The record of a session: an intent before each call and an outcome after it, and a capsule for everything that was
 * blocked. Only digests and commitments are recorded, never a payload.
 */
export class Recorder {
  readonly #context: RecordContext;
  /** The digests of the incidents that are recorded. */
  readonly #seen = new Set<string>();
  /** How many of them belong to each budget. */
  readonly #spent = new Map<string, number>();
  readonly #dropped: Record<string, number> = {};
  readonly #unrecorded: Record<string, number> = {};
  #opened: SealedCapsule | null = null;
  #calls = 0;
  #blocked = 0;

  constructor(context: RecordContext) {
    this.#context = context;
  }

  get counts(): {
    readonly calls: number;
    readonly blocked: number;
    readonly dropped: DataObject;
    /** Of those that were dropped: how many have no record of their own, because there were too many. */
    readonly unrecorded: DataObject;
  } {
    return {
      calls: this.#calls,
      blocked: this.#blocked,
      dropped: { ...this.#dropped },
      unrecorded: { ...this.#unrecorded },
    };
  }

  /** The session begins. Rejects with a `STORE_…` or `KEYRING_…` code when that cannot be recorded. */
  async opened(): Promise<void> {
    this.#opened = await this.#context.chain.append({
      ...this.#system(),
      outcome: { status: 'pending', summary: `guard ${this.#context.serverName}` },
    });
  }

  /** The session ends. Rejects as `opened` does. */
  async closed(error: string | null): Promise<void> {
    const { calls, blocked, dropped, unrecorded } = this.counts;
    const isComplete = Object.keys(unrecorded).length === 0;
    await this.#context.chain.append({
      ...this.#system(),
      parent_id: this.#opened?.id ?? null,
      outcome: {
        status: error === null ? 'success' : 'failure',
        summary: `guard ${this.#context.serverName}`,
        error,
        metrics: { calls, blocked, dropped, ...(isComplete ? {} : { unrecorded }) },
      },
    });
  }

  /** Rejects with a denial while a kill switch stands, and when the store cannot tell. */
  async assertMayAct(): Promise<void> {
    try {
      await this.#context.store.assertMayAct(this.#context.agentId);
    } catch (cause) {
      if (!(cause instanceof BullaError && cause.code === 'KILLED')) throw noRecord(cause);
      throw new Denial('kill', cause.code, cause.message, { cause });
    }
  }

  /** Seals what is about to be done; resolves when that is durable. Rejects with a denial: no record, no call. */
  async intent(entry: Entry): Promise<Intent> {
    const id = randomUUID();
    try {
      const { committed, openings } = commitToParams(entry, id);
      const capsule = await this.#context.chain.append(
        { ...this.#call(entry, committed), outcome: { status: 'pending', summary: this.#request(entry) } },
        { id, openings },
      );
      this.#calls++;
      // The arguments are committed to; whoever waits for the answer need not keep them in memory.
      const { args: _, rest: __, ...kept } = entry;
      return { capsule, entry: kept, committed };
    } catch (cause) {
      throw noRecord(cause);
    }
  }

  /** Seals what came of a call. Rejects with a denial when that cannot be done. */
  async outcome(
    intent: Intent,
    verdict: Verdict | { readonly status: 'blocked'; readonly error: string },
    durationMs: number,
    result?: JsonValue,
  ): Promise<void> {
    const { entry, committed: params, capsule } = intent;
    const id = randomUUID();
    const duration_ms = Math.round(durationMs);
    try {
      const { committed, openings } = commitments('result', result, id);
      const call = {
        tool: entry.tool?.name ?? entry.method,
        arguments: { ...params.args },
        result: committed === null ? null : { ...committed },
        success: verdict.status === 'success',
        duration_ms,
        error: verdict.error,
      };
      await this.#context.chain.append(
        {
          ...this.#call(entry, params),
          parent_id: capsule.id,
          execution: { duration_ms, tool_calls: [call] },
          outcome: { status: verdict.status, summary: this.#request(entry), error: verdict.error },
        },
        { id, openings },
      );
    } catch (cause) {
      throw new Denial(
        'record',
        'OUTCOME_LOST',
        'The call was made, but its outcome could not be recorded, so it is withheld. Do not call again before somebody has looked.',
        { cause },
      );
    }
  }

  /** Records what was denied to the host; the id of the capsule, or null when there is none: it stays denied. */
  async blocked(entry: Entry, denial: Denial): Promise<string | null> {
    this.#blocked++;
    const id = randomUUID();
    try {
      const { committed, openings } = commitToParams(entry, id);
      await this.#context.chain.append(
        {
          ...this.#call(entry, committed),
          outcome: { status: 'blocked', summary: this.#request(entry), error: String(denial) },
        },
        { id, openings },
      );
      return id;
    } catch {
      return null;
    }
  }

  /**
   * Counts something that was dropped or removed, or would have been, without anybody being answered, and records it the
   * first time. What is the same again under `key` is only counted; so is what exceeds the budget, by default one for
   * each code, so that a flood of one kind hides no other. True when it was new.
   */
  incident(
    denial: Denial,
    about: Pick<Entry, 'method' | 'tool' | 'waived'>,
    key: string,
    budget: string = denial.code,
  ): boolean {
    const { code } = denial;
    this.#dropped[code] = (this.#dropped[code] ?? 0) + 1;
    const name = sha256Hex(toUtf8(`${code} ${key}`));
    if (this.#seen.has(name)) return false;
    const spent = this.#spent.get(budget) ?? 0;
    if (spent >= MAX_INCIDENTS) {
      this.#unrecorded[code] = (this.#unrecorded[code] ?? 0) + 1;
      return false;
    }
    this.#spent.set(budget, spent + 1);
    this.#seen.add(name);
    const entry = { ...about, host: '', correlationId: null };
    const status = about.waived ? ('success' as const) : ('blocked' as const);
    const error = about.waived ? null : String(denial);
    const outcome = { status, summary: this.#request(entry), error };
    const appended = this.#context.chain.append({ ...this.#call(entry, NOTHING), outcome });
    // What could not be recorded is recorded when it comes again.
    const noted = appended.catch(() => void this.#seen.delete(name));
    this.#noting = Promise.allSettled([this.#noting, noted]);
    return true;
  }
  #noting: Promise<unknown> = Promise.resolve();

  /** Resolves when every incident is recorded, or could not be. */
  async settled(): Promise<void> {
    await this.#noting;
  }

  #request({ method, tool }: Pick<Entry, 'method' | 'tool'>): string {
    const { serverName } = this.#context;
    return tool === null ? `${method} ${serverName}` : `${method} ${serverName}/${tool.name}`;
  }

  #call(entry: Entry, { args, rest }: Committed): CapsuleInput {
    const { agentId, sessionId, lock } = this.#context;
    const { tool, waived = null } = entry;
    const bulla = {
      ...this.#bulla(),
      ...(tool && { tool: { name: tool.name, digest: tool.digest } }),
      ...(args && { args: args.commitment }),
      ...(rest && { rest: rest.commitment, ...(rest.of && { rest_of: rest.of }) }),
    };
    return {
      type: 'tool',
      domain: 'gateway',
      trigger: {
        type: 'agent',
        source: entry.host,
        request: this.#request(entry),
        correlation_id: entry.correlationId,
      },
      context: { agent_id: agentId, session_id: sessionId, environment: { bulla } },
      authority: {
        type: 'policy',
        policy_reference: `lock:${lock}`,
        chain: waived === null ? [] : [waivedStep(waived)],
      },
    };
  }

  #system(): CapsuleInput {
    const { agentId, sessionId, serverName } = this.#context;
    return {
      type: 'system',
      domain: 'gateway',
      trigger: { type: 'system', source: 'bulla', request: `guard ${serverName}` },
      context: { agent_id: agentId, session_id: sessionId, environment: { bulla: this.#bulla() } },
    };
  }

  #bulla(): DataObject {
    const { server, lock, instance } = this.#context;
    return { v: 1, server, lock, instance };
  }
}

const NOTHING: Committed = { args: null, rest: null };

/** The commitments to the parameters of a request, and what opens them. */
function commitToParams(entry: Entry, capsuleId: string): { committed: Committed; openings: Opening[] } {
  const args = commitments('args', entry.args, capsuleId);
  const rest = commitments('rest', entry.rest ?? undefined, capsuleId);
  return {
    committed: { args: args.committed, rest: rest.committed },
    openings: [...args.openings, ...rest.openings],
  };
}

/** The commitment to a payload, where there is one, and what opens it. */
function commitments(
  kind: 'args' | 'rest' | 'result',
  payload: JsonValue | undefined,
  capsuleId: string,
): { committed: Commitment | null; openings: Opening[] } {
  if (payload === undefined) return { committed: null, openings: [] };
  const { committed, opening } = commitTo(kind, payload, capsuleId);
  return { committed, openings: [opening] };
}

/** A decision that was made and not enforced. */
function waivedStep({ stage, code }: { stage: Stage; code: Code }): DataObject {
  return { step: 'audit', decision: 'would-block', stage, code };
}

function noRecord(cause: unknown): Denial {
  const why = cause instanceof BullaError ? ` (${cause.code})` : '';
  return new Denial(
    'record',
    'GATEWAY_NO_RECORD',
    `Nothing can be recorded now${why}, so nothing is called.`,
    {
      cause,
    },
  );
}
