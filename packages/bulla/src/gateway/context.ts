import type { Gate } from './gates/gate.ts';
import type { ClientFeature } from './gates/methods.ts';
import type { Session } from './gates/session.ts';
import type { Offers } from './lists/offers.ts';
import type { Pins } from './lists/pins.ts';
import type { HostWriter } from './peer/host.ts';
import type { SessionRecord } from './record.ts';
import type { Wire } from './wire/wire.ts';

/** Which decisions are enforced; those that are not are recorded all the same. */
export interface Enforcement {
  /** Whether what is not as it was locked is removed from lists. */
  readonly lists: boolean;
  /** Whether calls to it are blocked. */
  readonly calls: boolean;
}

/** What everything that deals with a message of the session shares. */
export interface Context {
  readonly pins: Pins;
  readonly enforce: Enforcement;
  readonly features: ReadonlySet<ClientFeature>;
  readonly session: Session;
  readonly offers: Offers;
  readonly record: SessionRecord;
  readonly host: HostWriter;
  readonly wire: Wire;
  /** What a call must pass, in order. */
  readonly gates: readonly Gate[];
  /** Tells the operator something, in a line. */
  log(line: string): void;
}
