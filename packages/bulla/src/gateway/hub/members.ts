import { BullaError } from '@bulla/core/error';
import type { JsonObject } from '@bulla/core/json';
import { quote } from '../../mcp/index.ts';
import type { Counts, Ending, Served } from '../link.ts';
import type { Pins } from '../lists/pins.ts';

/** One of the servers behind the hub. */
export interface Member {
  readonly index: number;
  readonly key: string;
  /** What its lock permits; a reload replaces it. */
  pins: Pins;
  readonly link: Served;
  /** Why it ended by itself; null while it runs. */
  ended: Ending | null;
  /** It did not take part when the host began, and nothing of it is shown. */
  isMissing: boolean;
  /** What it said that it can do; null before it was asked. */
  capabilities: JsonObject | null;
}

/** Whether a member has a capability: as it said, or else as it was locked. */
export function can(member: Member, capability: string): boolean {
  return (member.capabilities ?? member.pins.capabilities).has(capability);
}

/** The servers behind the hub, from their start to their end. */
export class Members {
  readonly #byIndex = new Map<number, Member>();
  readonly #over = Promise.withResolvers<Ending>();
  readonly #log: (line: string) => void;
  /** Whether the hub goes on without a member. */
  readonly allowMissing: boolean;

  constructor(allowMissing: boolean, log: (line: string) => void) {
    this.allowMissing = allowMissing;
    this.#log = log;
  }

  join(index: number, key: string, pins: Pins, link: Served): void {
    this.#byIndex.set(index, { index, key, pins, link, ended: null, isMissing: false, capabilities: null });
  }

  /** All that will join have joined. */
  begin(): void {
    for (const member of this.all) {
      void member.link.over.then((ending) => {
        member.ended = ending;
        if (this.all.every(({ ended }) => ended !== null)) return this.#over.resolve(ending);
        this.#log(`the server ${quote(member.key)} ended, the others go on: ${reasonOf(ending.error)}`);
      });
    }
  }

  at(index: number): Member | undefined {
    return this.#byIndex.get(index);
  }

  /** In the order of the operator. */
  get all(): Member[] {
    return [...this.#byIndex.values()].toSorted((a, b) => a.index - b.index);
  }

  /** The members that a list or a description is made of. */
  get present(): Member[] {
    const isPresent = ({ isMissing, ended }: Member) => !isMissing && ended === null;
    return this.allowMissing ? this.all.filter(isPresent) : this.all;
  }

  /** Refuses and records what is for no member in particular. */
  get first(): Member {
    return this.all.find(({ ended }) => ended === null) ?? this.all[0]!;
  }

  /** Resolves when the last member has ended. */
  get over(): Promise<Ending> {
    return this.#over.promise;
  }

  async drain(hurry?: AbortSignal): Promise<void> {
    await Promise.all(this.all.map(({ link }) => link.drain(hurry)));
  }

  /** Ends all, each with the code of what ended it. Rejects after that, where one could not be ended as it should. */
  async close(code: string | null): Promise<Counts> {
    const closing = this.all.map(({ link, ended }) => link.close(ended?.error.code ?? code));
    const closed = await Promise.allSettled(closing);
    const failed = closed.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    const counts = closed.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const sum = (of: (counts: Counts) => number) => counts.reduce((all, one) => all + of(one), 0);
    return { calls: sum(({ calls }) => calls), blocked: sum(({ blocked }) => blocked) };
  }
}

/** An error for the operator. */
export function reasonOf(error: unknown): string {
  return error instanceof BullaError ? `${error.message} [${error.code}]` : String(error);
}
