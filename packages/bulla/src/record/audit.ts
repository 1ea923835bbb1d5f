import { AsyncLocalStorage } from 'node:async_hooks';
import type { Data, DataObject, Reasoning, SealedCapsule } from '@bulla/core/capsule';
import { isCode } from '@bulla/core/codes';
import { BullaError, isThrown } from '@bulla/core/error';
import { type AuthorityStep, failureAt, isCommitment, type Stage } from '@bulla/core/evidence';
import { pointer } from '@bulla/core/json';
import type { Store } from '../store/index.ts';
import { sealedCopy } from './copy.ts';
import { lossListener, type OnLoss } from './loss.ts';
import type { Part } from './part.ts';
import type { Call, Notes, Outcome, Recorder } from './recorder.ts';

/** What a program is about to do. */
export interface Action {
  /** In words, or as a protocol names it, such as `tools/call files/write_file`. */
  readonly request: string;
  /** The tool that is called, and its arguments; both only where there is one. */
  readonly tool?: string;
  readonly arguments?: Data;
  /** Who asks. Default: the agent. */
  readonly source?: string;
  /** A W3C trace id, or the id of a request. */
  readonly correlationId?: string;
  /** Only an authenticated person. */
  readonly userId?: string;
  readonly reasoning?: Partial<Reasoning>;
  readonly authority?: readonly AuthorityStep[];
  /** More of `context.environment`: digests, ids and names, never a payload. */
  readonly environment?: DataObject;
}

/** What an action can use while it runs. */
export interface Step {
  /** The capsule of the intent, which is durable. */
  readonly intent: SealedCapsule;
  /**
   * Adds to the record of the outcome. A later note replaces the same members of an earlier one. Throws `USAGE` for a
   * member that notes do not have: nothing is dropped unsaid.
   */
  note(more: Note): void;
}

export interface Note extends Notes {
  /** The action ended, but not all of it was done. */
  readonly partial?: boolean;
}

export interface AuditOptions {
  readonly agentId: string;
  readonly sessionId?: string | null | undefined;
  /** Called for everything that could not be recorded. Default: a process warning. */
  readonly onLoss?: OnLoss | undefined;
}

/** Records what a program does. */
export interface Audit {
  /**
   * Seals the intent, runs the action, seals the outcome. Actions inside the action become children of its intent.
   *
   * Rejects before the action runs: with `KILLED` while a kill switch stands (also one that was set while the intent was
   * written), with `VALUE_…` for arguments that JSON cannot carry, and with what keeps the intent from being stored.
   * What the action throws passes through unchanged; the record names its code or class, never its message. If the
   * outcome of an action that succeeded cannot be stored, rejects with `RECORD_OUTCOME_LOST`, whose `result` is what
   * the action returned; if it failed, its own error passes through. `onLoss` is called in both cases.
   */
  record<T>(action: Action, run: (step: Step) => T | Promise<T>): Promise<T>;
  /** How many records were lost so far. */
  readonly lost: number;
}

/** An audit that writes through a recorder. */
export function createAudit(
  recorder: Recorder,
  { assertMayAct }: Pick<Store, 'assertMayAct'>,
  { agentId, sessionId = null, onLoss }: AuditOptions,
): Audit {
  const parent = new AsyncLocalStorage<string>();
  const listener = lossListener(onLoss);
  let lost = 0;
  const lose = (error: unknown, intent: SealedCapsule | null) => {
    lost++;
    listener({ error, intent });
  };

  const callOf = (action: Action): Call => {
    const { request, tool, arguments: args, source = agentId, reasoning, environment, ...more } = action;
    const { correlationId = null, userId = null, authority: _, ...others } = more;
    refuseOthers('An action', others);
    if (typeof request !== 'string') throw new BullaError('USAGE', 'An action needs a request, in words.');
    return {
      door: 'agents',
      type: tool === undefined ? 'agent' : 'tool',
      parentId: parent.getStore() ?? null,
      ...{ agentId, sessionId, source, request, correlationId, userId },
      ...(tool !== undefined && { tool: { name: tool } }),
      ...(args !== undefined && { args: recorder.payload('args', args) }),
      // The program may change its objects while the action runs; the outcome says the same as the intent.
      ...(reasoning && { reasoning: sealedCopy(reasoning) }),
      ...(environment && { environment: sealedCopy(environment) }),
    };
  };
  const deny = async (call: Call, parts: readonly Part[], stage: Stage, error: unknown): Promise<never> => {
    await recorder
      .denied(call, failureAt(stage, error, stage === 'kill' && isKill(error)), parts)
      .catch((why) => lose(why, null));
    throw error;
  };

  return {
    async record(action, run) {
      if (typeof run !== 'function') throw new BullaError('USAGE', 'Give the function that does the action.');
      const call = callOf(action);
      const parts: Part[] = [{ authority: action.authority?.map(sealedCopy) ?? [] }];
      if (call.args !== undefined && !isCommitment(call.args.committed)) {
        const { uncommitted } = call.args.committed;
        await deny(
          call,
          parts,
          'arguments',
          new BullaError(
            isCode(uncommitted) ? uncommitted : 'VALUE_UNREADABLE',
            'JSON cannot carry the arguments.',
          ),
        );
      }
      await assertMayAct(agentId).catch((error) => deny(call, parts, 'kill', error));
      const intent = await recorder.intent(call, parts);

      const noted: { -readonly [member in keyof Note]: Note[member] } = {};
      const step: Step = {
        intent: intent.capsule,
        note: ({ summary, sideEffects, metrics, partial, ...others }) => {
          refuseOthers('A note', others);
          if (summary !== undefined) noted.summary = summary;
          if (sideEffects !== undefined) noted.sideEffects = sideEffects;
          if (metrics !== undefined) noted.metrics = metrics;
          if (partial !== undefined) noted.partial = partial;
        },
      };
      const started = performance.now();
      const end = async (outcome: Pick<Outcome, 'status' | 'failure' | 'result'>) => {
        const { partial: _, ...notes } = noted;
        try {
          await recorder.outcome(intent, { ...outcome, ...notes, durationMs: performance.now() - started });
        } catch (error) {
          lose(error, intent.capsule);
          throw error;
        }
      };
      const fail = (status: 'blocked' | 'failure', stage: Stage, error: unknown) =>
        end({ status, failure: failureAt(stage, error, stage === 'kill') }).catch(() => undefined);

      try {
        // A kill switch that was set while the intent was written stops the action.
        await assertMayAct(agentId);
      } catch (error) {
        await fail('blocked', 'kill', error);
        throw error;
      }
      let result: Awaited<ReturnType<typeof run>>;
      try {
        result = await parent.run(intent.capsule.id, async () => run(step));
      } catch (error) {
        await fail('failure', 'action', error);
        throw error;
      }
      await end({ status: noted.partial ? 'partial' : 'success', result });
      return result;
    },
    get lost() {
      return lost;
    },
  };
}

/** The sentence of a kill switch quotes only the operator. */
function isKill(error: unknown): boolean {
  return isThrown(error, BullaError) && error.code === 'KILLED';
}

/** Nothing is dropped unsaid. */
function refuseOthers(what: string, others: object): void {
  const [unknown] = Object.keys(others);
  if (unknown === undefined) return;
  const message = `${what} has no member ${JSON.stringify(unknown)}.`;
  throw new BullaError('USAGE', message, { path: pointer([unknown]) });
}
