import type { Gate } from './gates/gate.ts';
import type { ClientFeature } from './gates/methods.ts';
import type { Session } from './gates/session.ts';
import type { Offers } from './lists/offers.ts';
import type { Pins } from './lists/pins.ts';
import type { HostWriter } from './peer/host.ts';
import type { SessionRecord } from './record.ts';
import type { Wire } from './wire/wire.ts';

/** Which decisions are enforced; the others are only recorded. */
export interface Enforcement {
  /** Remove definitions from lists that are not as they were locked. */
  readonly lists: boolean;
  /** Block calls to them. */
  readonly calls: boolean;
}

/** What the handlers of one session share. */
export interface Context {
  readonly pins: Pins;
  readonly enforce: Enforcement;
  readonly features: ReadonlySet<ClientFeature>;
  readonly session: Session;
  readonly offers: Offers;
  readonly record: SessionRecord;
  readonly host: HostWriter;
  readonly wire: Wire;
  readonly gates: readonly Gate[];
  /** Writes one line for the operator. */
  log(line: string): void;
}
