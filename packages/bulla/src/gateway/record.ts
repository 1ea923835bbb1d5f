import type { DataObject } from '@bulla/core/capsule';
import { sha256Hex, toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import type { ToolReference } from '@bulla/core/evidence';
import {
  type Call,
  type Intent,
  type Outcome,
  OutcomeLostError,
  type Part,
  type Recorder,
} from '../record/index.ts';
import type { Store } from '../store/index.ts';
import { Denial } from './denial.ts';

export interface RecordContext {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly agentId: string;
  readonly sessionId: string;
  /** What the operator calls the server, and the digest of how it is reached. */
  readonly server: { readonly name: string; readonly digest: string };
  readonly lock: string;
}

/** What a message is about, as far as a record tells it. */
export interface About {
  readonly method: string;
  /** By the name under which it is called; null where none was given. Its digests are known only from the lock. */
  readonly tool?: Omit<ToolReference, 'server'> | null;
  /** The host as it names itself. */
  readonly host?: string;
  readonly correlationId?: string | null;
}

/** A message or definition that was dropped or removed, or would have been, without an answer to anybody. */
export interface Incident extends About {
  readonly denial: Denial;
  /** Names, counts and digests of what was removed. */
  readonly facts?: DataObject;
  /** It passed, because the gateway only watches. */
  readonly waived?: boolean;
  /** A second incident with the same key is only counted. */
  readonly key: string;
  /** Incidents of one budget share a limit on records: a flood of one kind hides no other. Default: the code. */
  readonly budget?: string;
}

/** Limit on the records of incidents that share a budget; the rest is only counted. */
const MAX_INCIDENTS = 64;

/** The record of a session: the gateway's face of the one recorder. */
export class SessionRecord {
  readonly #context: RecordContext;
  /** The digests of the incidents that are recorded. */
  readonly #seen = new Set<string>();
  /** How many of them belong to each budget. */
  readonly #spent = new Map<string, number>();
  readonly #dropped: Record<string, number> = {};
  readonly #unrecorded: Record<string, number> = {};
  #noting: Promise<unknown> = Promise.resolve();
  #openedId: string | null = null;
  #calls = 0;
  #blocked = 0;

  constructor(context: RecordContext) {
    this.#context = context;
  }

  get counts() {
    return {
      calls: this.#calls,
      blocked: this.#blocked,
      dropped: { ...this.#dropped },
      /** Of those that were dropped: how many have no record of their own, because there were too many. */
      unrecorded: { ...this.#unrecorded },
    };
  }

  /** The session begins. Rejects with a `STORE_…` or `KEYRING_…` code when that cannot be recorded. */
  async opened(): Promise<void> {
    const { id } = await this.#context.recorder.act({ ...this.#system(), status: 'pending' });
    this.#openedId = id;
  }

  /** The session ends. Rejects as `opened` does. */
  async closed(code: string | null): Promise<void> {
    const { calls, blocked, dropped, unrecorded } = this.counts;
    const isComplete = Object.keys(unrecorded).length === 0;
    await this.#context.recorder.act({
      ...this.#system(),
      parentId: this.#openedId,
      status: code === null ? 'success' : 'failure',
      failure: code === null ? null : { stage: 'session', code },
      metrics: { calls, blocked, dropped, ...(isComplete ? {} : { unrecorded }) },
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

  /** A message of the host as the recorder takes it. */
  call({ method, tool = null, host = '', correlationId = null }: About): Call {
    const { agentId, sessionId, server } = this.#context;
    return {
      door: 'gateway',
      agentId,
      sessionId,
      source: host,
      request: tool === null ? `${method} ${server.name}` : `${method} ${server.name}/${tool.name}`,
      correlationId,
      ...(tool && { tool: { server: server.name, ...tool } }),
    };
  }

  payload(kind: 'args' | 'rest', value: unknown): NonNullable<Call['args']> {
    return this.#context.recorder.payload(kind, value);
  }

  /** What every call of the session rests on. */
  get base(): Part {
    const { lock, server } = this.#context;
    return { evidence: { server, lock }, authority: [{ type: 'policy', reference: `lock:${lock}` }] };
  }

  /** Seals what is about to be done; resolves when that is durable. Rejects with a denial: no record, no call. */
  async intent(call: Call, parts: readonly Part[]): Promise<Intent> {
    try {
      const intent = await this.#context.recorder.intent(call, [this.base, ...parts]);
      this.#calls++;
      return intent;
    } catch (cause) {
      throw cause instanceof Denial ? cause : noRecord(cause);
    }
  }

  /** Seals the outcome of a call. Returns the denial that replaces the answer where that fails, else null. */
  async outcome(intent: Intent, outcome: Outcome): Promise<Denial | null> {
    try {
      await this.#context.recorder.outcome(intent, outcome);
      return null;
    } catch (error) {
      return new Denial(
        'record',
        'RECORD_OUTCOME_LOST',
        'The call was made, but its outcome could not be recorded, so it is withheld. Do not call again before somebody has looked.',
        { cause: error instanceof OutcomeLostError ? error.cause : error },
      );
    }
  }

  /** Records a denial. Returns the id of the capsule, or null if it cannot be recorded; the call stays denied. */
  async blocked(call: Call, { failure }: Denial, parts: readonly Part[]): Promise<string | null> {
    this.#blocked++;
    try {
      return (await this.#context.recorder.denied(call, failure, [this.base, ...parts])).id;
    } catch {
      return null;
    }
  }

  /** Counts an incident, and records it the first time. True when it was new. */
  incident({ denial, key, budget = denial.code, facts, waived = false, ...about }: Incident): boolean {
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
    const { recorder, server, lock } = this.#context;
    const { tool, ...subject } = this.call(about);
    const noted = recorder.act({
      ...subject,
      type: 'system',
      trigger: 'system',
      evidence: { server, lock, ...(tool && { tool }), ...(facts && { facts }) },
      authority: [...this.base.authority!, ...(waived ? [waivedStep(denial)] : [])],
      status: waived ? 'success' : 'blocked',
      failure: waived ? null : denial.failure,
    });
    // If this fails, the next such incident is recorded.
    const settled = noted.catch(() => void this.#seen.delete(name));
    this.#noting = Promise.allSettled([this.#noting, settled]);
    return true;
  }

  /** Resolves when every incident is recorded, or could not be. */
  async settled(): Promise<void> {
    await this.#noting;
  }

  #system() {
    const { agentId, sessionId, server, lock } = this.#context;
    return {
      type: 'system',
      door: 'gateway',
      trigger: 'system',
      agentId,
      sessionId,
      source: 'bulla',
      request: `guard ${server.name}`,
      evidence: { server, lock },
    } as const;
  }
}

/** A decision that was made and not enforced. */
export function waivedStep({ stage, code }: Denial) {
  return {
    type: 'policy',
    step: { step: 'audit', decision: 'would-block', stage, code },
  } as const;
}

function noRecord(cause: unknown): Denial {
  const why = cause instanceof BullaError ? ` (${cause.code})` : '';
  return new Denial('record', 'RECORD_FAILED', `Nothing can be recorded now${why}, so nothing is called.`, {
    cause,
  });
}
