import type { SessionRecord } from '../record.ts';
import type { Gate } from './gate.ts';

/** Denies every call while a kill switch stands, also one that was set while the intent was written. */
export function killGate(record: SessionRecord): Gate {
  return {
    name: 'kill',
    async rule() {
      await record.assertMayAct();
      return { pass: {} };
    },
    again: async () => record.assertMayAct(),
  };
}
