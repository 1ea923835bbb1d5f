import { BullaError } from '@bulla/core/error';
import { JsonObject } from '@bulla/core/json';
import { type Drift, type Lock, lockDigest, type Surface, surfaceOf } from '@bulla/core/lock';
import { evaluateSurface, policyCheckInput, prepareInput } from '@bulla/core/policy';
import { describeTarget, targetOf } from '../locks/index.ts';
import { refusing } from '../refusal.ts';
import { compareScanned } from './check.ts';
import { type LockTrust, openLock } from './locked.ts';
import type { Observer } from './observer.ts';
import { type LoadedPolicy, loadPolicy, type PolicyChoice, toolInputs } from './policy.ts';
import { type MeantServer, type ServerAccess, scanServer, targetFor } from './server.ts';

interface PolicyCheckInput extends MeantServer, LockTrust, ServerAccess, PolicyChoice, Observer {
  /** A lock: rules may then speak of the artifact and of drift. */
  readonly lockfile?: string | undefined;
  /** What the rules are asked about, before they are: an object that `testPolicy` takes. */
  readonly onInput?: ((recorded: JsonObject) => void) | undefined;
}

interface PolicyChecked {
  readonly loaded: LoadedPolicy;
  /** The server in a line. */
  readonly command: string;
  /** Whether the server itself was asked, and not its lock. */
  readonly isScanned: boolean;
  readonly verdict: ReturnType<typeof evaluateSurface>;
  /** The rules about single calls and their results, of which a server says nothing. */
  readonly notAsked: LoadedPolicy['policy']['rules'];
}

/**
 * Asks the rules of a policy about a server: what it offers now, else what a lock stores of it. Rejects with
 * `POLICY_NOTHING_ASKED`, and as `loadPolicy`, `openLock` and `scanServer` do.
 */
export async function checkPolicy(input: PolicyCheckInput): Promise<PolicyChecked> {
  const { onFacts } = input;
  const loaded = loadPolicy(input, { shape: 'policy-check' });
  const { name } = loaded.source;
  const lock = input.lockfile === undefined ? null : openLock(input.lockfile, input).lock;
  onFacts?.({ policy: { name, digest: loaded.policy.digest } });
  if (lock !== null) onFacts?.({ lock: lockDigest(lock) });
  const { command, surface, isScanned, ...compared } = await subjectOf(input, lock);
  const asked = refusing('The rules cannot be asked about the server', () => {
    const made = policyCheckInput({ command, surface, ...(lock && { lock }), ...compared });
    return { input: made, list: prepareInput('policy-check', made), tools: toolInputs(surface) };
  });
  input.onInput?.(new JsonObject(['shape', 'input'], ['policy-check', asked.input]));
  const verdict = evaluateSurface(loaded.policy, asked.list, asked.tools);
  const { rules, outcome, errors, warnings, digest } = verdict;
  if (rules.length === 0)
    throw new BullaError('POLICY_NOTHING_ASKED', 'The policy has no rule about a server or its tools.');
  onFacts?.({
    policy: { name, digest, outcome, errors, warnings },
    failed: rules.filter(({ passed }) => !passed).map((rule) => rule.name),
  });
  const notAsked = loaded.policy.rules.filter(({ phase }) => phase === 'call' || phase === 'result');
  return { loaded, command, isScanned, verdict, notAsked };
}

interface Subject extends Pick<PolicyChecked, 'command' | 'isScanned'> {
  readonly surface: Surface;
  readonly drift?: Drift;
}

/** What the rules are asked about: the server, else what a lock stores of it, else the server that the lock names. */
async function subjectOf(input: PolicyCheckInput, lock: Lock | null): Promise<Subject> {
  if ((input.server ?? []).length === 0 && lock?.native)
    return { command: describeTarget(targetOf(lock)), surface: surfaceOf(lock.native), isScanned: false };
  const target = targetFor(input, lock);
  const scanned = await scanServer(target, input, input);
  const about = { command: describeTarget(target), surface: scanned.surface, isScanned: true };
  return lock === null ? about : { ...about, drift: compareScanned(lock, target, scanned) };
}
