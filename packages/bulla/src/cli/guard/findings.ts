import { driftText } from '@bulla/core/lock';
import { type Preflighted, releasedPreflight } from '../../gateway/index.ts';
import { COMPAT } from '../lock/compat.ts';
import { say, tones } from '../terminal/io.ts';
import { streams } from '../terminal/streams.ts';

/** What was found about servers before anything passed, for the operator. */
export interface Findings {
  take(found: Preflighted, server: { readonly key: string }): void;
  /** Why a server was refused, in the released program's words where it is stood in for; else null. */
  readonly released: string | null;
}

/** Says on standard error what differs, in the words of `check`; when `quiet`, only of a server that is refused. */
export function tellFindings(quiet: boolean): Findings {
  let released: string | null = null;
  return {
    take(found, { key }) {
      const { drift, failOn, policies, isRefused } = found;
      if (COMPAT) released ??= releasedPreflight(found);
      const isClean = drift.counts.total === 0 && policies.every(({ passed }) => passed);
      if (isClean || (quiet && !isRefused)) return;
      const [policy] = policies;
      const text = driftText(drift, { policy, ...tones(streams.stderr), ...(failOn && { failOn }) });
      say([`bulla: ${key}: compared with its lock:`]);
      say(text.trimEnd());
    },
    get released() {
      return released;
    },
  };
}
