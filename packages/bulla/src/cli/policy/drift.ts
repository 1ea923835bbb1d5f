import type { Drift, Lock, Surface } from '@bulla/core/lock';
import { checkInput, evaluateSurface, prepareInput } from '@bulla/core/policy';
import { visible } from '@bulla/core/text';
import { refusing } from '../terminal/io.ts';
import { toolInputs } from './check.ts';
import { loadPolicy, policyNamed } from './file.ts';

/** What a policy says of a server that was compared with its lock, in the released program's words. */
export interface DriftPolicy {
  readonly policy: { readonly preset: string; readonly passed: boolean; readonly reasons: readonly string[] };
  readonly text: string;
  /** The digest of the policy. */
  readonly digest: string;
}

/** Loads a preset or a file, to be asked as `check` asks: errors fail, and warnings are left to `policy check`. */
export function driftPolicy(word: string): (lock: Lock, surface: Surface, drift: Drift) => DriftPolicy {
  const { policy, source } = loadPolicy(policyNamed(word), { shape: 'check' });
  return (lock, surface, drift) => {
    const { rules } = refusing('The rules cannot be asked about the server', () => {
      const input = prepareInput('check', checkInput({ surface, lock, drift }));
      return evaluateSurface(policy, input, toolInputs(surface));
    });
    const failed = rules.filter(({ passed, severity }) => !passed && severity === 'error');
    const reasons = failed.map(({ name, message, tools }) =>
      visible(`${name}: ${message}${tools === undefined ? '' : ` (${tools.join(', ')})`}`),
    );
    // A policy that asked nothing must not pass for one that found nothing.
    if (rules.length === 0) reasons.push('The policy has no rule about a server or its tools.');
    const passed = reasons.length === 0;
    const lines = [passed ? 'Policy: PASS' : 'Policy: DENY', ...reasons.map((reason) => `- ${reason}`)];
    return {
      policy: { preset: source.name, passed, reasons },
      text: `${lines.join('\n')}\n`,
      digest: policy.digest,
    };
  };
}
