import type { RegisteredAgent, ToolPipelineHooks } from '@bulla/core/capability';
import { BullaError } from '@bulla/core/error';
import { lossListener, type OnLoss } from '../record/index.ts';
import type { OnHookError, SessionHooks } from './hooks.ts';
import { newId, type Registry } from './registry.ts';
import type { AgentRecord } from './rows.ts';
import { addSession, type SessionRecord } from './sessions.ts';
import { type ContextSource, runTurn, type Turn, type TurnOptions } from './turn.ts';

export interface SessionHostOptions<Env> {
  /** Its store also has the chain. */
  readonly registry: Registry;
  readonly agent: RegisteredAgent<Env>;
  /** The chain to write to. Default `default`. */
  readonly chain?: string;
  /** Wins over the agent's own context. */
  readonly context?: ContextSource;
  readonly hooks?: SessionHooks;
  /** Told of each policy that is asked and each tool that was called, after those of toolkits and tools. */
  readonly pipelineHooks?: ToolPipelineHooks;
  /** The keys of an invocation's context that are hashed; an empty list is none of them. Default all. */
  readonly invocationContextAllowlist?: readonly string[];
  /** Keep for each turn the envelope with which everyone can compute its hashes again. Default false. */
  readonly keepEnvelopes?: boolean;
  /** Keep arguments and results beside the chain, where they can be erased. Default false: only the salts. */
  readonly recordPayloads?: boolean;
  /** Told of every hook that throws. Default: a process warning. */
  readonly onHookError?: OnHookError;
  /** Told of everything that happened and could not be recorded. Default: a process warning. */
  readonly onLoss?: OnLoss;
  /** Default: the clock. */
  readonly now?: () => Date;
}

export interface SessionOptions {
  /** Wins over the contexts of the agent and the host. */
  readonly context?: ContextSource;
  readonly hooks?: SessionHooks;
  /** Calls off every turn of the session. */
  readonly signal?: AbortSignal;
}

/** One session of an agent. Turns may run at once, here and in other hosts: each gets a number of its own. */
export interface Session<Env> {
  /** 128 random bits, in hex. */
  readonly id: string;
  /** The registration of the agent that runs here. */
  readonly agent: AgentRecord;
  /**
   * Runs one turn, in this order: `onStart`; `onBeforeContext`; the contexts are merged (agent, host, session, turn);
   * `onAfterContext`; the kill switch; the agent is evaluated and its link made; the turn and its intent become
   * durable together; `onBeforeRun`; `run`, with its calls; the outcome becomes durable; `onAfterRun`, or `onError`.
   * Of each hook first the host's, then the session's, then the turn's.
   *
   * A turn that does not begin leaves one `blocked` capsule, unless it was called off. Rejects with `KILLED`, with
   * `CAPABILITY_…` for an agent that cannot be evaluated, `CAPABILITY_ABORTED`, `REGISTRY_CORRUPT`, `STORE_…`,
   * `SESSION_CONTEXT`; with what `run` throws, unchanged; and with `RECORD_OUTCOME_LOST`.
   */
  turn<T>(run: (turn: Turn<Env>) => T | Promise<T>, options?: TurnOptions): Promise<T>;
}

export interface SessionHost<Env> {
  /** Registers the agent, and opens a session of it. Rejects as `Registry.register` does. */
  open(options?: SessionOptions): Promise<Session<Env>>;
  /**
   * Goes on with a session of this agent, also of an earlier definition of it. Rejects with `SESSION_UNKNOWN`, and with
   * `SESSION_OTHER` for one of another agent or on another chain.
   */
  resume(id: string, options?: SessionOptions): Promise<Session<Env>>;
}

/** Hosts the sessions of an agent. Throws `STORE_NAME`. */
export function createSessionHost<Env>(options: SessionHostOptions<Env>): SessionHost<Env> {
  const { registry, agent, chain = 'default', now = () => new Date() } = options;
  const { store } = registry;
  const { agentId, staticContext } = agent;
  store.chain(chain);
  const onHookError = safely(options.onHookError ?? warnOfHook);
  const onLoss = lossListener(options.onLoss);

  const sessionOf = (record: AgentRecord, session: SessionRecord, own: SessionOptions): Session<Env> => ({
    id: session.id,
    agent: record,
    turn: (run, turnOptions = {}) =>
      runTurn(
        {
          ...{ store, agent, record, session, onHookError, onLoss },
          contexts: [staticContext, options.context, own.context],
          layers: [options.hooks, own.hooks],
          pipelineHooks: options.pipelineHooks,
          allowlist: options.invocationContextAllowlist,
          keepEnvelopes: options.keepEnvelopes ?? false,
          recordPayloads: options.recordPayloads ?? false,
          signal: own.signal,
        },
        turnOptions,
        run,
      ),
  });

  return {
    async open(own = {}) {
      const record = await registry.register(agent);
      const session = { id: newId(), agentId, chain, openedAt: now().toISOString(), turns: 0 };
      await store.transaction((transaction) => addSession(transaction, session));
      return sessionOf(record, session, own);
    },
    async resume(id, own = {}) {
      const session = await registry.session(id);
      if (session.agentId !== agentId || session.chain !== chain)
        throw new BullaError('SESSION_OTHER', 'The session is of another agent, or on another chain.');
      return sessionOf(await registry.register(agent), session, own);
    },
  };
}

/** What is told of failures has no better place to fail. */
function safely(tell: OnHookError): OnHookError {
  return (failure) => {
    try {
      tell(failure);
    } catch {
      // See above.
    }
  };
}

const warnOfHook: OnHookError = ({ hook, error }) => {
  const name = error instanceof Error ? error.name : typeof error;
  process.emitWarning(`The hook ${hook} threw (${name}).`, { code: 'SESSION_HOOK_FAILED' });
};
