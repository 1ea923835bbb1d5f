import type { Demand } from '@bulla/core/policy';
import { Denial } from '../denial.ts';
import type { Gate } from './gate.ts';

const UNMET = {
  person: ['POLICY_NEEDS_PERSON', 'A rule asks that a person decides about this call, and nobody was asked.'],
  envelope: ['POLICY_NEEDS_ENVELOPE', 'A rule asks that this call has an envelope, and it has none.'],
} as const satisfies Record<Demand, readonly [string, string]>;

export function unmet(demand: Demand): Denial {
  const [code, message] = UNMET[demand];
  return new Denial('policy', code, message);
}

/** Behind all gates that can meet what rules demand: what none of them has taken out of `demands` is not met. */
export const demandsGate: Gate = {
  name: 'policy',
  rule({ demands }) {
    const [first] = demands;
    return first === undefined ? { pass: {} } : { deny: unmet(first) };
  },
};
