import type { SessionRecord } from '../record.ts';
import type { Gate } from './gate.ts';

/** Nothing passes while a kill switch stands, also one that came while the intent was written. */
export function killGate(record: SessionRecord): Gate {
  return {
    name: 'kill',
    async rule() {
      await record.assertMayAct();
      return { pass: {} };
    },
    again: () => record.assertMayAct(),
  };
}
