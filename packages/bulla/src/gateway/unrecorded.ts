import type { Call, Part } from '../record/index.ts';
import { Denial } from './denial.ts';
import { Incidents } from './incidents.ts';
import {
  type About,
  type Begun,
  baseOf,
  callOf,
  type Incident,
  originOf,
  type Probed,
  type SessionContext,
  type SessionRecord,
} from './record.ts';

/** A session of which the operator wants no record: calls, denials and incidents are only counted. */
export class Unrecorded implements SessionRecord {
  #context: SessionContext;
  readonly #incidents = new Incidents();
  /** Null but for a test. */
  readonly #probed: Probed | null;
  #calls = 0;
  #blocked = 0;

  constructor(context: SessionContext, probed: Probed | null = null) {
    this.#context = context;
    this.#probed = probed;
  }

  get base(): Part {
    return baseOf(this.#context);
  }

  readonly instance = '';

  get origin() {
    return originOf(this.#context);
  }

  relock(lock: string): void {
    this.#context = { ...this.#context, lock };
  }

  probe(seen: Probed): SessionRecord {
    return new Unrecorded(this.#context, seen);
  }

  get counts() {
    const { dropped } = this.#incidents.counts;
    return { calls: this.#calls, blocked: this.#blocked, dropped, unrecorded: {} };
  }

  async opened(): Promise<void> {}

  async closed(): Promise<void> {}

  /** Kill switches stand in a store, and there is none. */
  assertMayAct(): void {}

  call(about: About): Call {
    return callOf(about, this.#context);
  }

  payload(): undefined {}

  async linkShown(): Promise<null> {
    return null;
  }

  /** A part that must become true with an intent denies the call: there is no intent. */
  async intent(call: Call, parts: readonly Part[]): Promise<Begun> {
    if (parts.some(({ onIntent, onOutcome }) => onIntent !== undefined || onOutcome !== undefined)) {
      const message = 'The call rests on something that must be recorded with it, and nothing is recorded.';
      throw new Denial('record', 'RECORD_FAILED', message);
    }
    if (this.#probed !== null) {
      this.#probed.intent = parts;
      throw new Denial('record', 'RECORD_FAILED', 'The self-test calls nothing.');
    }
    this.#calls++;
    return { call, capsule: null, ended: async () => null };
  }

  async blocked(_: Call, { code }: Denial): Promise<null> {
    if (this.#probed !== null) this.#probed.denied ??= code;
    this.#blocked++;
    return null;
  }

  incident({ denial, key, budget }: Incident): boolean {
    return this.#incidents.add(denial.code, key, budget) !== null;
  }

  async settled(): Promise<void> {}
}
