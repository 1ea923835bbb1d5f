import {
  type Affordances,
  type CapabilityLink,
  gateToolPoliciesAtExecute,
  type StandardSchema,
  type ToolRuntimeContext,
  type ToolSpec,
  throwIfAborted,
} from '@bulla/core/capability';
import type { DataObject } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import { failureAt, type Stage, type ToolReference } from '@bulla/core/evidence';
import { parse, stringify, toPlain } from '@bulla/core/json';
import {
  type Call,
  type Intent,
  type OnLoss,
  type Outcome,
  OutcomeLostError,
  type Part,
  type Recorder,
} from '../record/index.ts';
import type { Store } from '../store/index.ts';
import { failureIn } from './evidence.ts';

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

/** What calls are made in. */
interface CallSetting<Env> {
  readonly store: Store;
  readonly recorder: Recorder;
  /** What every call of the turn says of who acts. */
  readonly inTurn: Omit<Call, 'request'>;
  /** What every call of the turn rests on. */
  readonly part: Part;
  readonly found: Pick<Affordances<Env>, 'tools' | 'disabled'>;
  readonly link: CapabilityLink;
  readonly runtime: ToolRuntimeContext<Env>;
  readonly onLoss: OnLoss;
}

/** A call whose intent is durable. */
interface Made {
  readonly intent: Intent;
  readonly started: number;
}

type Ending = Omit<Outcome, 'durationMs'>;

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
    const { store, recorder, runtime, part } = this.#setting;
    let call = this.#callOf(name);
    let stage: Stage = 'arguments';
    let value: unknown;
    let spec: ToolSpec<Env>;
    try {
      if (input !== undefined) {
        value = exactCopy(input);
        call = { ...call, args: recorder.payload('args', value) };
      }
      stage = 'pinned';
      this.#assertKnown(name);
      stage = 'policy';
      spec = this.#enabled(name);
      await gateToolPoliciesAtExecute(spec, runtime);
      stage = 'kill';
      await store.assertMayAct(runtime.agentId!);
      throwIfAborted(runtime.abortSignal);
      stage = 'session';
      if (this.#over) throw new BullaError('SESSION_TURN_OVER', 'The turn is over.');
    } catch (error) {
      if (isAbort(error, runtime.abortSignal)) throw error;
      this.#counts.blocked++;
      if (stage === 'arguments') call = { ...call, args: recorder.payload('args', input) };
      await recorder
        .denied(call, failureIn(stage, error), [part])
        .catch((lost) => this.#setting.onLoss({ error: lost, intent: null }));
      throw error;
    }
    const intent = await recorder.intent(call, [part]);
    const made: Made = { intent, started: performance.now() };
    this.#counts.calls++;
    this.#counts.open++;
    try {
      // A kill switch that was set while the intent was written stops the call.
      await store.assertMayAct(runtime.agentId!);
    } catch (error) {
      this.#counts.blocked++;
      await this.#end(made, { status: 'blocked', failure: failureIn('kill', error) }).catch(() => undefined);
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
    await this.#end(made, { status: 'success', result: output });
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
          await this.#endStream(made, { status: 'success', metrics: { values } }, step.value);
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
        await this.#endStream(made, { status: 'partial', metrics: { values } }, undefined);
      }
    }
  }

  /** What a stream returned is not committed to: a stream is known by how many values it gave. The caller gets it all the same. */
  async #endStream(made: Made, ending: Ending, returned: unknown): Promise<void> {
    try {
      await this.#end(made, ending);
    } catch (error) {
      throw new OutcomeLostError(made.intent.capsule.id, returned, (error as Error).cause);
    }
  }

  /** Never rejects: the error of the call itself is what its caller must see. */
  async #fail(made: Made, error: unknown, metrics: DataObject = {}): Promise<void> {
    this.#counts.failed++;
    await this.#end(made, { status: 'failure', failure: failureAt('action', error), metrics }).catch(
      () => undefined,
    );
  }

  /** Rejects with `RECORD_OUTCOME_LOST`: whoever called must not believe that it is recorded. */
  async #end({ intent, started }: Made, ending: Ending): Promise<void> {
    this.#counts.open--;
    try {
      await this.#setting.recorder.outcome(intent, { ...ending, durationMs: performance.now() - started });
    } catch (error) {
      this.#setting.onLoss({ error, intent: intent.capsule });
      throw error;
    }
  }

  /** The tool is named where this turn knows it; another name is the caller's text, and is not recorded. */
  #callOf(name: string): Call {
    const { inTurn, link } = this.#setting;
    const ref = link.toolRefs.find(({ toolKey }) => toolKey === name);
    if (ref === undefined && this.#disabled(name) === undefined) return { ...inTurn, request: 'tools/call' };
    const tool: ToolReference = { name, ...(ref && { fingerprint: ref.toolHash }) };
    return { ...inTurn, request: `tools/call ${name}`, tool };
  }

  #disabled(name: string) {
    return this.#setting.found.disabled.find((one) => one.kind === 'tool' && one.name === name);
  }

  #assertKnown(name: string): void {
    if (!this.#setting.found.tools.has(name) && this.#disabled(name) === undefined)
      throw new BullaError('SESSION_TOOL_UNKNOWN', 'There is no such tool in this turn.');
  }

  #enabled(name: string): ToolSpec<Env> {
    const spec = this.#setting.found.tools.get(name);
    if (spec !== undefined) return spec;
    const deniedBy = this.#disabled(name)?.deniedBy ?? [];
    const why = `Policies keep the tool out of this turn: ${deniedBy.join(', ')}.`;
    throw new BullaError('SESSION_TOOL_DISABLED', why);
  }
}

/** Whether this is what the signal makes work throw. */
export function isAbort(error: unknown, signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && error instanceof BullaError && error.code === 'CAPABILITY_ABORTED';
}

/** What was committed to is what the tool gets, whatever the caller does to its object meanwhile. */
function exactCopy(input: unknown): unknown {
  return toPlain(parse(stringify(input)));
}

export function isStream(value: unknown): value is AsyncGenerator<unknown, unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}
