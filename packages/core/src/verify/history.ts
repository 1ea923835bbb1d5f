import { claimsOf, isMark } from '../evidence/index.ts';
import { JsonObject, textAt, toPlain } from '../json/index.ts';

/** What one record tells about what happened around it. Nothing of it makes a record bad. */
export interface Story {
  /** The call that it announces: sealed before the call, to be followed by its outcome. */
  readonly intent: string | null;
  readonly closes: string | null;
  /** The call that it marks: its process ended before it recorded an outcome. */
  readonly marks: string | null;
  /** When it says that it was sealed, else when it was triggered, in milliseconds since 1970; NaN if it does not. */
  readonly time: number;
  readonly recovery: Recovery | null;
}

/** A chain that did not continue its checkpoints, and was let go on. */
export interface Recovery {
  readonly origin: string;
  readonly reason: string;
  /** The checkpoint that the chain does not continue, and how long the chain was. */
  readonly recovered: unknown;
}

/** What a record tells; `signedAt` where that stands beside the content. */
export function storyOf(record: JsonObject, signedAt?: string | null): Story {
  const text = (...path: string[]) => textAt(record, path);
  const { isOurs, intent, origin, recovered } = claimsOf(record);
  // A call, or a command that was told to leave a receipt; a session may stay open.
  const isAct =
    text('type') === 'tool' ||
    (text('type') === 'agent' && isOurs && text('trigger', 'type') === 'agent') ||
    (text('type') === 'auth' && text('domain') === 'admin');
  const marks = isOurs && isMark(record) ? intent : null;
  const isIntent = isAct && text('outcome', 'status') === 'pending';
  return {
    intent: isIntent ? text('id') : null,
    // Others do not say what is an outcome and what a call inside of a call.
    closes: marks !== null ? null : isOurs ? intent : text('parent_id'),
    marks,
    time: Date.parse(signedAt ?? text('signed_at') ?? text('trigger', 'timestamp') ?? ''),
    recovery:
      recovered instanceof JsonObject && text('type') === 'system'
        ? {
            origin: origin ?? '',
            reason: text('outcome', 'summary') ?? '',
            recovered: toPlain(recovered),
          }
        : null,
  };
}

/** What happened to a chain besides its records, as far as they tell. */
export interface History {
  /** Calls with an intent and no outcome: a crash that nobody marked, or a call that still runs. */
  readonly unfinished: Calls;
  /** Calls whose outcome is not known, because their process ended before it recorded one. */
  readonly orphaned: Calls;
  readonly recoveries: readonly (Recovery & { readonly index: number })[];
  /** Where a record is of an earlier time than the one before it, by more than clocks differ. */
  readonly clockBack: {
    readonly count: number;
    readonly first: readonly { index: number; before: string; after: string }[];
  };
}

/** How many calls, and the intents of the first of them. */
interface Calls {
  readonly count: number;
  readonly first: readonly { readonly id: string; readonly index: number }[];
}

/** Processes on several machines append to one chain; their clocks differ by less. */
const TOLERATED_MS = 5 * 60_000;
/** Limit on the findings of each kind that are listed; all are counted. */
const MAX_TOLD = 100;
/** Limit on the open calls in memory; other checks find a chain that was forged to exceed it. */
const MAX_OPEN = 100_000;

export function createHistory(): { add(story: Story | null, index: number): void; finish(): History } {
  const open = new Map<string, { index: number }>();
  const orphaned = new Map<string, { index: number }>();
  const recoveries: History['recoveries'][number][] = [];
  const clockBack: History['clockBack']['first'][number][] = [];
  let backCount = 0;
  let last = Number.NaN;
  return {
    add(story, index) {
      if (story === null) return;
      const { intent, closes, marks, time, recovery } = story;
      if (closes !== null && intent === null) {
        open.delete(closes);
        orphaned.delete(closes);
      }
      const marked = marks === null ? undefined : open.get(marks);
      if (marked !== undefined) {
        open.delete(marks!);
        orphaned.set(marks!, marked);
      }
      if (intent !== null && open.size < MAX_OPEN) open.set(intent, { index });
      if (recovery !== null && recoveries.length < MAX_TOLD) recoveries.push({ ...recovery, index });
      if (time < last - TOLERATED_MS && ++backCount <= MAX_TOLD)
        clockBack.push({ index, before: new Date(last).toISOString(), after: new Date(time).toISOString() });
      if (!Number.isNaN(time)) last = time;
    },
    finish: () => ({
      unfinished: callsIn(open),
      orphaned: callsIn(orphaned),
      recoveries,
      clockBack: { count: backCount, first: clockBack },
    }),
  };
}

function callsIn(calls: ReadonlyMap<string, { readonly index: number }>): Calls {
  return {
    count: calls.size,
    first: [...calls].slice(0, MAX_TOLD).map(([id, { index }]) => ({ id, index })),
  };
}
