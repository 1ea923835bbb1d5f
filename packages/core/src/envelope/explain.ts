import type { StepName, Verdict } from './verify.ts';

const PASSED: Readonly<Record<StepName, string>> = {
  schema: 'The envelope is exactly an envelope of version 1.',
  time: 'Its time has not run out.',
  replay: 'Its nonce was not used before.',
  exec_hash: 'Its hash was computed from everything but the metadata.',
  authorization:
    'Known keys signed an authorization for this envelope, caller, tenant and ledger, valid now.',
  policy: 'The policy is still the one that the envelope is bound to.',
  constraints: 'The policy permits the action, and enough people signed.',
  permit: 'The ledger consumed the nonce and took the reservations; the action may be executed once.',
};

/** What a passed check does not prove. */
export const NOT_PROVEN: readonly string[] = [
  'that whoever executes does what the envelope says: bind the arguments, or let the executor check the envelope',
  'that the people who signed understood what they were shown, or still hold their keys alone',
  'that the execution succeeded, or that it can be undone',
];

/** A verdict in plain words, a line for each step. */
export function explain({ steps }: Verdict): string[] {
  const failed = steps.find(({ status }) => status === 'failed');
  return steps.map(({ step, name, status, problem }) => {
    const label = `${step} ${name}: `;
    if (status === 'passed') return `${label}passed. ${PASSED[name]}`;
    if (status === 'failed') {
      const { code, path, message } = problem!;
      return `${label}failed. ${message} (${code}${path ? ` at ${path}` : ''})`;
    }
    if (failed !== undefined) return `${label}not reached, because step ${failed.step} failed.`;
    return `${label}not reached. Nothing was consumed, so nothing may be executed yet.`;
  });
}
