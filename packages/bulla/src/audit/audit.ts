import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes, randomUUID } from 'node:crypto';
import { commit, SALT_BYTES } from '@bulla/core/canon';
import type {
  Authority,
  CapsuleInput,
  Data,
  DataObject,
  Reasoning,
  SealedCapsule,
  Trigger,
} from '@bulla/core/capsule';
import { BullaError, failureOf } from '@bulla/core/error';
import { stringify } from '@bulla/core/json';
import { type Opening, openStore, type Store, type StoreOptions } from '../store/index.ts';

/** What is about to be done. */
export interface Intent {
  /** In words, or as the protocol names it, such as `tools/call files/write_file`. */
  readonly request: string;
  /** The tool that will be called, and what it is called with; both only where there is one. */
  readonly tool?: string;
  readonly arguments?: Data;
  readonly trigger?: Partial<Trigger>;
  readonly reasoning?: Partial<Reasoning>;
  readonly authority?: Partial<Authority>;
  /** More that is known of the system; every value a digest or an id, never a payload. */
  readonly environment?: DataObject;
}

/** What the audited function may add to its outcome. */
export interface Step {
  /** The capsule of the intent, which is durable already. */
  readonly intent: SealedCapsule;
  /** Adds to the record of the outcome; may be called again. */
  note(more: Outcome): void;
}

export interface Outcome {
  readonly summary?: string;
  readonly side_effects?: readonly string[];
  readonly metrics?: DataObject;
  /** The action went on to its end, but not all of it was done. */
  readonly partial?: boolean;
}

/** A record that could not be written. */
export interface Loss {
  readonly error: unknown;
  /** The intent whose outcome is not recorded. */
  readonly intent: SealedCapsule;
}

export interface AuditOptions extends StoreOptions {
  /** The chain to write to. Default `default`. */
  readonly chain?: string;
  readonly agentId: string;
  readonly sessionId?: string | null;
  readonly domain?: string;
  /**
   * Keep arguments and results beside the chain, where they can be erased. Default false: only the salts are kept,
   * so that whoever has the values can prove them.
   */
  readonly recordPayloads?: boolean;
  /** Told of every outcome that could not be recorded. Default: a process warning. */
  readonly onLoss?: (loss: Loss) => void;
}

export interface Audit {
  readonly store: Store;
  /**
   * Seals the intent, runs the action, seals the outcome. Actions inside the action become children of its intent.
   *
   * Without a record there is no action: rejects, before the action runs, with `KILLED` while a kill switch stands
   * (also one that came while the intent was written) and with whatever keeps the intent from being stored. What the
   * action throws passes through unchanged; the record names its class or code, never its message. If the
   * outcome of an action that succeeded cannot be recorded, rejects with `OUTCOME_LOST`, whose `result` is
   * what the action returned; if it failed, its own error passes through and `onLoss` is told.
   */
  record<T>(intent: Intent, action: (step: Step) => T | Promise<T>): Promise<T>;
  /** How many outcomes could not be recorded since it was opened. */
  readonly lost: number;
  close(): Promise<void>;
}

/** The error of an action that succeeded and whose outcome could not be recorded. */
export class OutcomeLostError extends BullaError {
  readonly result: unknown;
  constructor(result: unknown, cause: unknown) {
    super('OUTCOME_LOST', 'The action was done, but its outcome could not be recorded.', { cause });
    this.result = result;
  }
}

/** Opens a store to audit into. Throws as `openStore` does. */
export async function openAudit(options: AuditOptions): Promise<Audit> {
  const store = await openStore(options);
  const chain = store.chain(options.chain ?? 'default');
  const parent = new AsyncLocalStorage<string>();
  let lost = 0;

  const base = (type: 'tool' | 'agent', parentId: string | null, intent: Intent): CapsuleInput => ({
    type,
    domain: options.domain ?? 'agents',
    parent_id: parentId,
    trigger: { type: 'agent', source: options.agentId, request: intent.request, ...intent.trigger },
    context: { agent_id: options.agentId, session_id: options.sessionId ?? null },
    ...(intent.reasoning && { reasoning: intent.reasoning }),
    ...(intent.authority && { authority: intent.authority }),
  });

  /** What opens a commitment to a payload. */
  const openingOf = (kind: 'args' | 'result', value: Data, capsuleId: string): Opening => {
    const salt = new Uint8Array(randomBytes(SALT_BYTES));
    const commitment = commit(kind, value, salt);
    const payload = options.recordPayloads ? stringify(value) : null;
    return { commitment, capsuleId, kind, salt, payload };
  };

  const record = async <T>(intent: Intent, action: (step: Step) => T | Promise<T>): Promise<T> => {
    const parentId = parent.getStore() ?? null;
    const type = intent.tool === undefined ? 'agent' : 'tool';
    const id = randomUUID();
    const openings = intent.arguments === undefined ? [] : [openingOf('args', intent.arguments, id)];
    const args = openings[0]?.commitment;
    const environment = { ...intent.environment, bulla: { v: 1, ...(args && { args }) } };
    const content = base(type, parentId, intent);
    const withContext = { ...content, context: { ...content.context, environment } };

    const blocked = (error: unknown) =>
      ({ status: 'blocked', summary: intent.request, error: failureOf(error) }) as const;
    try {
      await store.assertMayAct(options.agentId);
    } catch (error) {
      await chain.append({ ...withContext, outcome: blocked(error) }, { id, openings });
      throw error;
    }
    const sealed = await chain.append(
      { ...withContext, outcome: { status: 'pending', summary: intent.request } },
      { id, openings },
    );

    const notes: Outcome[] = [];
    const started = performance.now();
    const finish = async (outcome: CapsuleInput['outcome'], result: Data | undefined) => {
      const duration = Math.round(performance.now() - started);
      const outcomeId = randomUUID();
      const opened = result === undefined ? [] : [openingOf('result', result, outcomeId)];
      const resultCommitment = opened[0]?.commitment;
      const call = {
        tool: intent.tool ?? '',
        arguments: args === undefined ? {} : { commitment: args },
        result: resultCommitment === undefined ? null : { commitment: resultCommitment },
        success: outcome!.status === 'success',
        duration_ms: duration,
        error: outcome!.error ?? null,
      };
      const merged = notes.reduce<object>((all, note) => Object.assign(all, note), {}) as Outcome;
      await chain.append(
        {
          ...withContext,
          parent_id: sealed.id,
          execution: { duration_ms: duration, tool_calls: intent.tool === undefined ? [] : [call] },
          outcome: {
            ...outcome,
            summary: merged.summary ?? intent.request,
            side_effects: merged.side_effects ?? [],
            metrics: merged.metrics ?? {},
          },
        },
        { id: outcomeId, openings: opened },
      );
    };
    const tellLoss = (error: unknown) => {
      lost++;
      const tell =
        options.onLoss ??
        (() =>
          process.emitWarning(`The outcome of ${sealed.id} was not recorded.`, {
            code: 'OUTCOME_LOST',
          }));
      tell({ error, intent: sealed });
    };

    try {
      // A kill switch that came while the intent was written stands before the action, and stops it.
      await store.assertMayAct(options.agentId);
    } catch (error) {
      await chain.append({ ...withContext, parent_id: sealed.id, outcome: blocked(error) }).catch(tellLoss);
      throw error;
    }
    let result: T;
    try {
      result = await parent.run(sealed.id, async () =>
        action({ intent: sealed, note: (more) => void notes.push(more) }),
      );
    } catch (error) {
      await finish({ status: 'failure', error: failureOf(error) }, undefined).catch(tellLoss);
      throw error;
    }
    try {
      const partial = notes.some((note) => note.partial);
      await finish(
        { status: partial ? 'partial' : 'success' },
        intent.tool === undefined ? undefined : payloadOf(result),
      );
    } catch (error) {
      tellLoss(error);
      throw new OutcomeLostError(result, error);
    }
    return result;
  };

  return {
    store,
    record,
    get lost() {
      return lost;
    },
    close: () => store.close(),
  };
}

/** What an action returned, if it returned anything that JSON can hold. */
function payloadOf(result: unknown): Data | undefined {
  if (result === undefined) return undefined;
  try {
    stringify(result);
    return result as Data;
  } catch {
    return undefined;
  }
}
