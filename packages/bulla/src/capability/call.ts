import { randomUUID } from 'node:crypto';
import {
  type Affordances,
  type CapabilityLink,
  gateToolPoliciesAtExecute,
  type StandardSchema,
  type ToolRuntimeContext,
  type ToolSpec,
} from '@bulla/core/capability';
import type { DataObject, SealedCapsule } from '@bulla/core/capsule';
import { BullaError, failureOf } from '@bulla/core/error';
import { parse, stringify, toPlain } from '@bulla/core/json';
import type { Store } from '../store/index.ts';
import { isAbort, throwIfAborted } from './abort.ts';
import type { Commitment, NamedTool, Stage, TurnRecorder } from './record.ts';

/** A tool that is enabled in a turn; it is called through the turn alone. */
export interface TurnTool {
  readonly name: string;
  readonly description: string | null;
  readonly inputSchema: StandardSchema;
  readonly instructions: readonly string[];
  /** It gives its output piece by piece. */
  readonly stream: boolean;
  /** Its hash in the link of the turn. */
  readonly hash: string;
}

/** The error of something that was done, and whose outcome could not be recorded. */
export class SessionOutcomeLostError extends BullaError {
  readonly result: unknown;
  constructor(result: unknown, cause: unknown) {
    super('OUTCOME_LOST', 'It was done, but its outcome could not be recorded.', { cause });
    this.result = result;
  }
}

/** What calls are made in. */
export interface CallSetting<Env> {
  readonly store: Store;
  readonly recorder: TurnRecorder;
  readonly found: Pick<Affordances<Env>, 'tools' | 'disabled'>;
  readonly link: CapabilityLink;
  readonly runtime: ToolRuntimeContext<Env>;
}

/** A call whose intent is durable. */
interface Made {
  readonly tool: NamedTool;
  readonly args: Commitment | undefined;
  readonly intent: SealedCapsule;
  readonly started: number;
}

interface Ending {
  readonly status: 'success' | 'failure' | 'partial';
  readonly error: string | null;
  readonly metrics?: DataObject;
  readonly result?: unknown;
}

/** The calls of one turn. Each leaves an intent and an outcome, or one capsule that says why it was denied. */
export class Calls<Env> {
  readonly #setting: CallSetting<Env>;
  readonly #counts = { calls: 0, blocked: 0, failed: 0, open: 0 };
  #over = false;

  constructor(setting: CallSetting<Env>) {
    this.#setting = setting;
  }

  get counts(): DataObject {
    return { ...this.#counts };
  }

  get tools(): readonly TurnTool[] {
    const { found, link } = this.#setting;
    return link.toolRefs.map(({ toolKey, toolHash }) => {
      const { name, description, inputSchema, instructions, stream } = found.tools.get(toolKey)!;
      return { name, description, inputSchema, instructions, stream, hash: toolHash };
    });
  }

  /** The turn is over: nothing is called in it any more. */
  close(): void {
    this.#over = true;
  }

  /**
   * Calls a tool. Before: its policies are asked, the kill switch is looked at, the intent becomes durable. After: the
   * outcome does. One that streams gives its stream, whose outcome is recorded at its end.
   */
  async call(name: string, input: unknown, options: unknown): Promise<unknown> {
    const { store, recorder, runtime } = this.#setting;
    const id = randomUUID();
    const tool = this.#named(name);
    let stage: Stage = 'args';
    let value: unknown;
    let args: Commitment | undefined;
    let spec: ToolSpec<Env>;
    try {
      if (input !== undefined) {
        value = exactCopy(input);
        args = recorder.commit('args', value, id);
      }
      stage = 'tool';
      spec = this.#enabled(name);
      stage = 'policy';
      await gateToolPoliciesAtExecute(spec, runtime);
      stage = 'kill';
      await store.assertMayAct(runtime.agentId!);
      throwIfAborted(runtime.abortSignal);
      stage = 'turn';
      if (this.#over) throw new BullaError('SESSION_TURN_OVER', 'The turn is over.');
    } catch (error) {
      if (isAbort(error, runtime.abortSignal)) throw error;
      this.#counts.blocked++;
      await recorder.deny(id, tool, args, stage, error);
      throw error;
    }
    const intent = await recorder.intent(id, tool!, args);
    const made: Made = { tool: tool!, args, intent, started: performance.now() };
    this.#counts.calls++;
    this.#counts.open++;
    try {
      // A kill switch that came while the intent was written stands before the call, and stops it.
      await store.assertMayAct(runtime.agentId!);
    } catch (error) {
      await this.#fail(made, error);
      throw error;
    }
    let output: unknown;
    try {
      output = await spec.handler(runtime, value, options);
    } catch (error) {
      await this.#fail(made, error);
      throw error;
    }
    if (isStream(output)) return this.#streamed(made, output);
    await this.#succeed(made, { status: 'success', error: null, result: output }, output);
    return output;
  }

  async *#streamed(made: Made, source: AsyncGenerator<unknown, unknown>): AsyncGenerator<unknown, unknown> {
    let values = 0;
    let over = false;
    try {
      for (;;) {
        const step = await source.next();
        if (step.done === true) {
          over = true;
          await this.#succeed(made, { status: 'success', error: null, metrics: { values } }, step.value);
          return step.value;
        }
        values++;
        yield step.value;
      }
    } catch (error) {
      if (over) throw error;
      over = true;
      await this.#fail(made, error, { values });
      throw error;
    } finally {
      if (!over) {
        await source.return(undefined);
        await this.#succeed(made, { status: 'partial', error: null, metrics: { values } }, undefined);
      }
    }
  }

  /** Rejects with `OUTCOME_LOST`: whoever called must not believe that it is recorded. */
  async #succeed(made: Made, ending: Ending, result: unknown): Promise<void> {
    try {
      await this.#end(made, ending);
    } catch (error) {
      this.#setting.recorder.lost(error, made.intent);
      throw new SessionOutcomeLostError(result, error);
    }
  }

  /** Never rejects: the error of the call itself is what its caller must see. */
  async #fail(made: Made, error: unknown, metrics: DataObject = {}): Promise<void> {
    this.#counts.failed++;
    try {
      await this.#end(made, { status: 'failure', error: failureOf(error), metrics });
    } catch (lost) {
      this.#setting.recorder.lost(lost, made.intent);
    }
  }

  async #end({ intent, tool, args, started }: Made, ending: Ending): Promise<void> {
    this.#counts.open--;
    const durationMs = Math.round(performance.now() - started);
    await this.#setting.recorder.outcome(intent, tool, args, { ...ending, durationMs });
  }

  /** A tool that this turn knows; another name is the caller's text, and is not recorded. */
  #named(name: string): NamedTool | null {
    const { found, link } = this.#setting;
    const ref = link.toolRefs.find(({ toolKey }) => toolKey === name);
    if (ref !== undefined) return { name, digest: ref.toolHash };
    return found.disabled.some((one) => one.kind === 'tool' && one.name === name)
      ? { name, digest: null }
      : null;
  }

  #enabled(name: string): ToolSpec<Env> {
    const { tools, disabled } = this.#setting.found;
    const spec = tools.get(name);
    if (spec !== undefined) return spec;
    const kept = disabled.find((one) => one.kind === 'tool' && one.name === name);
    if (kept === undefined)
      throw new BullaError('SESSION_TOOL_UNKNOWN', 'There is no such tool in this turn.');
    const why = `Policies keep the tool out of this turn: ${kept.deniedBy.join(', ')}.`;
    throw new BullaError('SESSION_TOOL_DISABLED', why);
  }
}

/** What was committed to is what the tool gets, whatever the caller does to its object meanwhile. */
function exactCopy(input: unknown): unknown {
  return toPlain(parse(stringify(input)));
}

export function isStream(value: unknown): value is AsyncGenerator<unknown, unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
