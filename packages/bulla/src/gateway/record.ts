import type { DataObject } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import type { ToolReference } from '@bulla/core/evidence';
import type { ShownLink, ShownTool } from '../capability/index.ts';
import { type Call, type Outcome, OutcomeLostError, type Part, type Recorder } from '../record/index.ts';
import type { Store } from '../store/index.ts';
import { Denial } from './denial.ts';
import { Incidents } from './incidents.ts';

/** Whose session it is, and with which server. */
export interface SessionContext {
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

/** A call that may be forwarded. */
export interface Begun {
  readonly call: Call;
  /** The id of the capsule of its intent; null where nothing is recorded. */
  readonly capsule: string | null;
  /**
   * Ends it. Resolves to the denial that replaces the answer where its outcome cannot be recorded, else to null. A lazy
   * outcome may wait for the commit of others.
   */
  ended(outcome: Outcome, lazy?: boolean): Promise<Denial | null>;
}

/** What would have been recorded of a call. */
export interface Probed {
  /** The code of its denial. */
  denied: string | null;
  /** What its intent would have rested on. */
  intent: readonly Part[] | null;
}

/** What the gateway needs of the record of a session. */
export interface SessionRecord {
  /** `unrecorded`: how many of the dropped messages have no record of their own, because there were too many. */
  readonly counts: {
    readonly calls: number;
    readonly blocked: number;
    readonly dropped: Readonly<Record<string, number>>;
    readonly unrecorded: Readonly<Record<string, number>>;
  };
  /** The name of this process in its records; empty where nothing is recorded. */
  readonly instance: string;
  /** Whose calls these are, for telemetry. */
  readonly origin: { readonly sessionId: string; readonly agentId: string; readonly server: string };
  /**
   * The session begins, and this is what it proved of itself. Rejects with a `STORE_…` or `KEYRING_…` code when that
   * cannot be recorded.
   */
  opened(facts: DataObject): Promise<void>;
  /** From now on calls rest on another lock. */
  relock(lock: string): void;
  /** A record of the same form for a test: it writes nothing, begins no call, and notes what it would have recorded. */
  probe(seen: Probed): SessionRecord;
  /** The session ends. Rejects as `opened` does. */
  closed(code: string | null): Promise<void>;
  /** Rejects with a denial while a kill switch stands, and when the store cannot tell. */
  assertMayAct(): void | Promise<void>;
  /** A message of the host as the recorder takes it. */
  call(about: About): Call;
  /** Commits to a payload of a call, by default under a fresh salt; undefined where nothing is recorded. */
  payload(kind: 'args' | 'rest', value: unknown, salt?: Uint8Array): Call['args'];
  /**
   * The link of the tools that the host was shown, whose envelope is durable then; null where nothing is recorded.
   * Rejects with a denial when it cannot be recorded, and as `linkOfShown` does for definitions that have no hash.
   */
  linkShown(tools: readonly ShownTool[]): Promise<ShownLink | null>;
  /** What every call of the session rests on. */
  readonly base: Part;
  /** Begins a call, after its intent is durable. Rejects with a denial: no record, no call. */
  intent(call: Call, parts: readonly Part[]): Promise<Begun>;
  /** Records a denial. Returns the id of the capsule, or null if there is none; the call stays denied. */
  blocked(call: Call, denial: Denial, parts: readonly Part[]): Promise<string | null>;
  /** Counts an incident, and records it the first time. True when it was new. */
  incident(incident: Incident): boolean;
  /** Resolves when every incident is recorded, or could not be. */
  settled(): Promise<void>;
}

export interface RecordContext extends SessionContext {
  readonly store: Store;
  readonly recorder: Recorder;
  /** The outcome of this intent came after somebody had marked it as one whose process ended. */
  readonly onLate?: ((intent: string) => void) | undefined;
}

/** The record of a session in a chain: the gateway's face of the one recorder. */
export class ChainRecord implements SessionRecord {
  #context: RecordContext;
  readonly #incidents = new Incidents();
  #base: Part;
  #noting: Promise<unknown> = Promise.resolve();
  #openedId: string | null = null;
  #calls = 0;
  #blocked = 0;

  constructor(context: RecordContext) {
    this.#context = context;
    this.#base = baseOf(context);
  }

  get base(): Part {
    return this.#base;
  }

  get origin() {
    return originOf(this.#context);
  }

  get instance(): string {
    return this.#context.recorder.chain.instance;
  }

  relock(lock: string): void {
    this.#context = { ...this.#context, lock };
    this.#base = baseOf(this.#context);
  }

  probe(seen: Probed): SessionRecord {
    const unwritten = () => Promise.reject(new Error('The self-test records nothing.'));
    const recorder: Recorder = {
      ...this.#context.recorder,
      intent(_, parts = []) {
        seen.intent = parts;
        return unwritten();
      },
      denied(_, { code }) {
        seen.denied ??= code;
        return unwritten();
      },
      outcome: unwritten,
      act: unwritten,
    };
    return new ChainRecord({ ...this.#context, recorder });
  }

  get counts() {
    return { calls: this.#calls, blocked: this.#blocked, ...this.#incidents.counts };
  }

  async opened(facts: DataObject): Promise<void> {
    const system = this.#system();
    const evidence = { ...system.evidence, facts };
    const { id } = await this.#context.recorder.act({ ...system, evidence, status: 'pending' });
    this.#openedId = id;
  }

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

  async assertMayAct(): Promise<void> {
    try {
      await this.#context.store.assertMayAct(this.#context.agentId);
    } catch (cause) {
      if (!(cause instanceof BullaError && cause.code === 'KILLED')) throw noRecord(cause);
      throw new Denial('kill', cause.code, cause.message, { cause });
    }
  }

  call(about: About): Call {
    return callOf(about, this.#context);
  }

  payload(kind: 'args' | 'rest', value: unknown, salt?: Uint8Array): NonNullable<Call['args']> {
    return this.#context.recorder.payload(kind, value, salt);
  }

  async linkShown(tools: readonly ShownTool[]): Promise<ShownLink> {
    // Loaded only where a host lists tools: it takes a while.
    const { createRegistry, linkOfShown } = await import('../capability/index.ts');
    const { store, agentId, server } = this.#context;
    try {
      return await linkOfShown(createRegistry(store), { agentId, server: server.name }, tools);
    } catch (cause) {
      if (cause instanceof BullaError && UNHASHABLE.test(cause.code)) throw cause;
      throw noRecord(cause);
    }
  }

  async intent(call: Call, parts: readonly Part[]): Promise<Begun> {
    const { recorder } = this.#context;
    try {
      const intent = await recorder.intent(call, [this.base, ...parts]);
      this.#calls++;
      return {
        call: intent.call,
        capsule: intent.capsule.id,
        ended: (outcome, lazy = false) =>
          recorder.outcome(intent, outcome, { lazy }).then(({ mark }) => {
            if (mark !== null) this.#context.onLate?.(intent.capsule.id);
            return null;
          }, outcomeLost),
      };
    } catch (cause) {
      throw cause instanceof Denial ? cause : noRecord(cause);
    }
  }

  async blocked(call: Call, { failure }: Denial, parts: readonly Part[]): Promise<string | null> {
    this.#blocked++;
    try {
      return (await this.#context.recorder.denied(call, failure, [this.base, ...parts])).id;
    } catch {
      return null;
    }
  }

  incident({ denial, key, budget, facts, waived = false, ...about }: Incident): boolean {
    const name = this.#incidents.add(denial.code, key, budget);
    if (name === null) return false;
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
    const settled = noted.catch(() => this.#incidents.forget(name));
    this.#noting = Promise.allSettled([this.#noting, settled]);
    return true;
  }

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

/** Codes of definitions that have no capability hash. */
const UNHASHABLE = /^(?:CAPABILITY_|VALUE_|CANON_|REGISTRY_ENVELOPE$)/;

/** A message of the host, as the recorder takes it. */
export function callOf(
  { method, tool = null, host = '', correlationId = null }: About,
  { agentId, sessionId, server }: SessionContext,
): Call {
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

export function originOf({ sessionId, agentId, server }: SessionContext): SessionRecord['origin'] {
  return { sessionId, agentId, server: server.name };
}

/** What every call of a session rests on. */
export function baseOf({ lock, server }: SessionContext): Part {
  return { evidence: { server, lock }, authority: [{ type: 'policy', reference: `lock:${lock}` }] };
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

function outcomeLost(error: unknown): Denial {
  return new Denial(
    'record',
    'RECORD_OUTCOME_LOST',
    'The call was made, but its outcome could not be recorded, so it is withheld. Do not call again before somebody has looked.',
    { cause: error instanceof OutcomeLostError ? error.cause : error },
  );
}
