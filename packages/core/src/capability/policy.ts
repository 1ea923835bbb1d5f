import { BullaError } from '../error.ts';
import { untilAborted } from './abort.ts';
import { checkName, messageOf, wrongArgument } from './names.ts';
import { dictionary } from './plain.ts';

/** When a tool is called: `live` asks the policy again, `snapshot` takes what it said at evaluation. */
export type PolicyExecuteBinding = 'live' | 'snapshot';
export const EXECUTE_BINDINGS: readonly PolicyExecuteBinding[] = ['live', 'snapshot'];

/** Where a policy was asked. */
export type PolicyEvaluatedPhase = 'tool' | 'dynamicToolkit' | 'execute';

/** A gate. It is known by its object: one that gates many tools is asked once in an evaluation. */
export interface SharedPolicy<Env = never> {
  readonly id: string;
  readonly executeBinding: PolicyExecuteBinding;
  readonly evaluate: (
    env: Env,
    options: { readonly abortSignal: AbortSignal | undefined },
  ) => boolean | Promise<boolean>;
}

/** What each policy said. */
export type PolicyResultMap = Map<SharedPolicy, boolean>;

const made = new WeakSet<object>();

/**
 * Makes a policy. It allows only by answering `true`; any other answer, and every error, denies. Throws
 * `CAPABILITY_ARGUMENT`.
 */
export function policy<Env = unknown>(
  id: string,
  evaluate: SharedPolicy<Env>['evaluate'],
  options: { readonly executeBinding?: PolicyExecuteBinding | undefined } = {},
): SharedPolicy<Env> {
  checkName(id, 'A policy id', '/id');
  const { executeBinding = 'live' } = options;
  if (typeof evaluate !== 'function') wrongArgument('A policy needs a function.', '/evaluate');
  if (!EXECUTE_BINDINGS.includes(executeBinding))
    wrongArgument('A policy binds `live` or `snapshot`.', '/executeBinding');
  const shared = Object.freeze({ id, executeBinding, evaluate });
  made.add(shared);
  return shared;
}

/** The policies of a tool or a dynamic toolkit, as a list that cannot change. Throws `CAPABILITY_ARGUMENT`. */
export function policyList<Env>(
  policies: readonly SharedPolicy<Env>[] | undefined,
): readonly SharedPolicy<Env>[] {
  if (policies === undefined) return NONE;
  if (!Array.isArray(policies) || !policies.every((one) => made.has(one)))
    wrongArgument('The policies are a list of what `policy` made.', '/policies');
  return Object.freeze([...policies]);
}
const NONE: readonly never[] = Object.freeze([]);

interface Decision {
  readonly ok: boolean;
  /** Why it denies. */
  readonly error?: string;
  readonly cause?: unknown;
}

/** Asks a policy. Throws `CAPABILITY_ABORTED` and nothing else. */
export async function decide<Env>(
  shared: SharedPolicy<Env>,
  env: Env,
  signal: AbortSignal | undefined,
): Promise<Decision> {
  try {
    const answer: unknown = await untilAborted(
      signal,
      (async () => shared.evaluate(env, { abortSignal: signal }))(),
    );
    if (answer === true) return { ok: true };
    const error =
      answer === false ? `Policy denied: ${shared.id}` : 'The policy did not answer true or false.';
    return { ok: false, error };
  } catch (cause) {
    if (signal?.aborted && cause instanceof BullaError && cause.code === 'CAPABILITY_ABORTED') throw cause;
    return { ok: false, error: messageOf(cause, 'The policy failed.'), cause };
  }
}

/** What was said under each id. Where several policies share one, all of them must have allowed. */
export function resultsById(resolved: ReadonlyMap<SharedPolicy, boolean>): Map<string, boolean> {
  const results = new Map<string, boolean>();
  for (const [{ id }, ok] of resolved) results.set(id, ok === true && results.get(id) !== false);
  return results;
}

/** Whether a snapshot can stand alone (`authoritative`), or a policy that it lacks may be asked again (`hint`). */
export type PolicySnapshotMode = 'authoritative' | 'hint';

/** What the policies said, as JSON. */
export interface PolicyEvaluationSnapshot extends PolicyAudit {
  readonly mode: PolicySnapshotMode;
  readonly results: Readonly<Record<string, boolean>>;
}

/** What the host knows of its policies. */
export interface PolicyAudit {
  /** Milliseconds since 1970. */
  readonly capturedAt?: number;
  readonly policyBundleId?: string;
  readonly policyEngineVersion?: string;
}

/** What the policies said, by id, for an envelope. */
export function capturePolicyResults(
  resolved: ReadonlyMap<SharedPolicy, boolean>,
  mode: PolicySnapshotMode,
  audit: PolicyAudit = {},
): PolicyEvaluationSnapshot {
  return {
    mode,
    results: dictionary([...resultsById(resolved)].sort(([a], [b]) => (a < b ? -1 : 1))),
    ...audit,
  };
}
