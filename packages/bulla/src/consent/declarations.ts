import type { ConsentState, Declared } from '@bulla/core/consent';
import { declaredRow } from '../manifest/index.ts';
import type { Reading } from './rows.ts';

interface Known {
  readonly row: Declared;
  /** A state that was read with it, from which its indexes are taken over. */
  state: ConsentState | undefined;
}

const KNOWN = 64;

/** What agents declare, each revision read once. */
export function createDeclarations() {
  const known = new Map<string, Known>();
  return {
    /** Null if nothing is declared; undefined if by now it is another revision. */
    async at(reading: Reading, agent: string, rev: number | null): Promise<Known | null | undefined> {
      if (rev === null) return null;
      const last = known.get(agent);
      if (last?.row.rev === rev) return last;
      const row = await declaredRow(reading, agent);
      if (row === null) return undefined;
      if (known.size === KNOWN) known.delete(known.keys().next().value!);
      const read: Known = { row, state: undefined };
      known.set(agent, read);
      return row.rev === rev ? read : undefined;
    },
  };
}
