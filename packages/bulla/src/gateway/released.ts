import { SEVERITIES } from '@bulla/core/lock';
import type { Denial } from './denial.ts';
import type { Preflighted } from './preflight.ts';

// The released lock program's codes and words, for scripts and hosts that look for them (`BULLA_COMPAT=mcptrust`).

/** The code and text of an error. */
interface Words {
  readonly code: number;
  readonly message: string;
}

const DENIED = -32001;
const OVERLOADED = -32002;
/** The code of our denials by a rule, a person or a switch. */
const FORBIDDEN = 403;

/**
 * What the released program says to a request that is denied; null where it has no word for it, so that ours stand. It
 * knows only what is not in its allowlist; its other denials have its code and our sentence.
 */
export function releasedDenial(
  method: string,
  name: string | null,
  { code, rpc, message }: Denial,
): Words | null {
  if (code === 'GATEWAY_OVERLOADED') {
    const text = 'MCPTRUST_OVERLOADED: proxy at capacity, cannot process request safely';
    return { code: OVERLOADED, message: text };
  }
  if (rpc !== FORBIDDEN) return null;
  const what = code === 'GATEWAY_NOT_LOCKED' ? NOT_LOCKED[method]?.(JSON.stringify(name ?? '')) : undefined;
  return { code: DENIED, message: `MCPTRUST_DENIED: ${what ?? message}` };
}

const NOT_LOCKED: Readonly<Record<string, (name: string) => string>> = {
  'tools/call': (name) => `tool ${name} not in lockfile allowlist`,
  'prompts/get': (name) => `prompt ${name} not in lockfile allowlist`,
  'resources/read': () => 'resource URI does not match any locked template',
};

/** What it prints when the comparison before the first call fails; null when nothing failed. */
export function releasedPreflight({ drift, failOn, policies, isRefused }: Preflighted): string | null {
  if (!isRefused) return null;
  const worst = SEVERITIES.findIndex((severity) => drift.counts[severity] > 0);
  if (failOn !== undefined && worst >= 0 && worst <= SEVERITIES.indexOf(failOn))
    return `preflight failed: drift detected with severity ${SEVERITIES[worst]} (threshold: ${failOn})`;
  const [rule] = policies.flatMap(({ failed }) => failed);
  return `preflight failed: policy rule ${JSON.stringify(rule!.name)} violated: ${rule!.message}`;
}
