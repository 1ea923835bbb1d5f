import type { HostWriter } from './peer/host.ts';
import type { Pins } from './lists/pins.ts';
import type { ClientFeature } from './gates/methods.ts';
import type { Offers } from './lists/offers.ts';
import type { Recorder } from './incidents.ts';
import type { Session } from './gates/session.ts';
import type { Wire } from './wire/wire.ts';

/** Which decisions are enforced; those that are not are recorded all the same. */
export interface Enforcement {
  /** Whether what is not as it was locked is removed from lists. */
  readonly lists: boolean;
  /** Whether calls to it are blocked. */
  readonly calls: boolean;
}

/** What the flows and the pipeline share. */
export interface Gate {
  readonly pins: Pins;
  readonly enforce: Enforcement;
  readonly features: ReadonlySet<ClientFeature>;
  readonly session: Session;
  readonly offers: Offers;
  readonly recorder: Recorder;
  readonly host: HostWriter;
  readonly wire: Wire;
  /** Tells the operator something, in a line. */
  log(line: string): void;
}
