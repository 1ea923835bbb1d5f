import type { HostWriter } from './host.ts';
import type { Pins } from './pins.ts';
import type { ClientFeature } from './stages/methods.ts';
import type { Offers } from './stages/offers.ts';
import type { Recorder } from './stages/record.ts';
import type { Session } from './stages/session.ts';
import type { Wire } from './wire.ts';

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
