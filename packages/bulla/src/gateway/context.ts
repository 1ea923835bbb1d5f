import type { ErrorFrame, ResultFrame } from '../mcp/index.ts';
import type { CheckOutput } from './answers/output.ts';
import type { CheckRules } from './answers/rules.ts';
import type { Gate, GatedCall } from './gates/gate.ts';
import type { ClientFeature } from './gates/methods.ts';
import type { Session } from './gates/session.ts';
import type { History } from './history.ts';
import type { Offers } from './lists/offers.ts';
import type { Pins } from './lists/pins.ts';
import type { Shown } from './lists/shown.ts';
import type { Host } from './peer/channel.ts';
import type { Preflight } from './preflight.ts';
import type { SessionRecord } from './record.ts';
import type { Telemetry } from './telemetry.ts';
import type { ToolTable } from './tools.ts';
import type { Wire } from './wire/wire.ts';

/** Which decisions are enforced; the others are only recorded. */
export interface Enforcement {
  /** Remove definitions from lists that are not as they were locked. */
  readonly lists: boolean;
  /** Block calls to them. */
  readonly calls: boolean;
}

/** What the handlers of one session share. A reload replaces some of it: read it where it is used. */
export interface Context {
  readonly pins: Pins;
  readonly enforce: Enforcement;
  readonly features: ReadonlySet<ClientFeature>;
  readonly session: Session;
  readonly offers: Offers;
  /** The tools that the host was shown. */
  readonly shown: Shown;
  readonly record: SessionRecord;
  readonly history: History;
  readonly host: Host;
  readonly wire: Wire;
  readonly gates: readonly Gate[];
  readonly checkOutput: CheckOutput;
  /** What the operator says of single tools, by the names that the server gives them. */
  readonly tools: ToolTable;
  readonly telemetry: Telemetry;
  /** How the server is reached, for telemetry. */
  readonly transport: 'pipe' | 'tcp';
  /** What must be decided about the server before a list or a call passes; null for nothing. */
  readonly preflight: Preflight | null;
  /** Answer denials with the codes and words of the released lock program. */
  readonly released: boolean;
  /** The rules about what a call gave; null where there are none. */
  rulesFor(call: GatedCall): CheckRules | null;
  /** Sends the host a request of our own that belongs to one of its requests. */
  askHost(to: Host, method: string, params: object, signal: AbortSignal): Promise<ResultFrame | ErrorFrame>;
  /** Writes one line for the operator. */
  log(line: string): void;
}
