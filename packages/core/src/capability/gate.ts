import { BullaError } from '../error.ts';
import { pointer } from '../json/index.ts';
import { throwIfAborted } from './abort.ts';
import type { ToolSpec } from './call.ts';
import type { ToolRuntimeContext } from './composable.ts';
import { hasHook, runHooks } from './hooks.ts';
import { decide, type SharedPolicy } from './policy.ts';

/**
 * Asks the policies of a tool, and of the dynamic toolkits that brought it, before it is called. One that binds `live` is asked again, now. One that binds its
 * `snapshot` is looked up by its object in `resolvedPolicies`, else by its id in `policyResults`; what was captured
 * under one id must have allowed throughout. What is not in a snapshot denies, unless it is only a `hint`; then the
 * policy is asked. Throws `CAPABILITY_POLICY_DENIED` and `CAPABILITY_ABORTED`.
 */
export async function gateToolPoliciesAtExecute<Env>(
  spec: ToolSpec<Env>,
  runtime: ToolRuntimeContext<Env>,
): Promise<void> {
  throwIfAborted(runtime.abortSignal);
  for (const policy of spec.gates) {
    const captured = policy.executeBinding === 'snapshot' ? capturedResult(policy, runtime) : undefined;
    if (captured === true) continue;
    if (captured === false) deny(policy, `Policy denied: ${policy.id}`);
    if (policy.executeBinding === 'snapshot' && runtime.policySnapshotMode !== 'hint') {
      deny(policy, `Policy denied: ${policy.id} is not in the snapshot.`);
    }
    const { ok, error, cause } = await decide(policy, runtime.env, runtime.abortSignal);
    await tell(spec, policy, ok, error, runtime);
    if (!ok) deny(policy, `Policy denied: ${policy.id}`, cause);
    throwIfAborted(runtime.abortSignal);
  }
}

/**
 * Calls a tool through its gate. A tool that streams gives its values, and is gated when they are first read; any
 * other gives a promise. Throws what the gate and the tool's handler throw.
 */
export function executeTool<Env>(
  spec: ToolSpec<Env>,
  runtime: ToolRuntimeContext<Env>,
  input: unknown,
  options?: unknown,
): Promise<unknown> | AsyncGenerator<unknown, unknown> {
  const call = async () => {
    await gateToolPoliciesAtExecute(spec, runtime);
    return spec.handler(runtime, input, options);
  };
  return spec.stream ? streamed(call) : call();
}

async function* streamed(call: () => Promise<unknown>): AsyncGenerator<unknown, unknown> {
  return yield* (await call()) as AsyncGenerator<unknown, unknown>;
}

/** What the snapshot says of a policy; undefined when it says nothing. */
function capturedResult<Env>(
  policy: SharedPolicy<Env>,
  { resolvedPolicies, policyResults }: ToolRuntimeContext<Env>,
): boolean | undefined {
  if (resolvedPolicies?.has(policy)) {
    for (const [{ id }, ok] of resolvedPolicies) if (id === policy.id && ok !== true) return false;
    return true;
  }
  if (policyResults === undefined) return undefined;
  if (policyResults instanceof Map) {
    return policyResults.has(policy.id) ? policyResults.get(policy.id) === true : undefined;
  }
  const results = policyResults as Readonly<Record<string, boolean>>;
  return Object.hasOwn(results, policy.id) ? results[policy.id] === true : undefined;
}

async function tell<Env>(
  spec: ToolSpec<Env>,
  policy: SharedPolicy<Env>,
  ok: boolean,
  error: string | undefined,
  { env, pipelineHooks, onHookError }: ToolRuntimeContext<Env>,
): Promise<void> {
  if (!hasHook([pipelineHooks], 'onPolicyEvaluated')) return;
  const why = error === undefined ? {} : { error };
  const event = {
    ok,
    policyId: policy.id,
    phase: 'execute' as const,
    place: pointer([spec.name]),
    ...why,
    env,
  };
  await runHooks([pipelineHooks], 'onPolicyEvaluated', event, onHookError);
}

function deny(policy: SharedPolicy, message: string, cause?: unknown): never {
  throw new BullaError('CAPABILITY_POLICY_DENIED', message, {
    path: pointer(['policies', policy.id]),
    cause,
  });
}
