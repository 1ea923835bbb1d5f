import { sha256Hex } from '@bulla/core/crypto';
import type { Effect, Reading, Transaction } from './driver.ts';

// What was called in the last minute, hour and day, across processes. A window is made of steps of time, and the step in
// which it begins counts whole: a window is up to one step longer than its name says, and never shorter.

/** How long each window is, and its steps, in milliseconds. */
const WINDOWS = {
  minute: { span: 60_000, step: 1_000 },
  hour: { span: 3_600_000, step: 60_000 },
  day: { span: 86_400_000, step: 900_000 },
} as const;
type Window = keyof typeof WINDOWS;
const WINDOW_NAMES = Object.keys(WINDOWS) as readonly Window[];

const SCOPES = ['agent', 'tool', 'session'] as const;
type Scope = (typeof SCOPES)[number];

/** Calls, and the bytes of the messages that asked for them. */
interface Use {
  readonly calls: number;
  readonly bytes: number;
}

/** What was used by an agent, of a tool and in a session, in each window. */
export type Used = Readonly<Record<Scope, Readonly<Record<Window, Use>>>>;

/** Whom a call is counted for. The tool is that of one server. */
export interface UsedBy {
  readonly agent: string;
  readonly tool: { readonly server: string; readonly name: string };
  readonly session: string;
}

/** One call that is counted. */
export interface CountedCall {
  /** What was used but for this call, by the time of the database. */
  others(reading: Reading, now: number): Promise<Used>;
  /**
   * Counts the call, and gives `check` what the others used: all that was counted before, also by transactions that ran
   * at the same time and touched the same step. What it throws refuses the call.
   */
  count(check: (used: Used) => void): Effect;
  /** The call was not made: it counts no longer. */
  readonly giveBack: Effect;
}

const ROW = '(?, ?, ?, ?, 1, ?)';
const COUNT = `INSERT INTO used (tenant, subject, step, due, calls, bytes)
  VALUES ${new Array(SCOPES.length * WINDOW_NAMES.length).fill(ROW).join(', ')}
  ON CONFLICT (coalesce(tenant, ''), subject, step, due)
  DO UPDATE SET calls = used.calls + 1, bytes = used.bytes + excluded.bytes`;
const GIVE_BACK = `UPDATE used SET calls = calls - 1, bytes = bytes - ?
  WHERE coalesce(tenant, '') = ? AND subject = ? AND step = ? AND due = ?`;
const SUMS = `SELECT subject, step, CAST(sum(calls) AS BIGINT) AS calls, CAST(sum(bytes) AS BIGINT) AS bytes
  FROM used WHERE coalesce(tenant, '') = ? AND subject IN (?, ?, ?) AND due > ? GROUP BY subject, step`;
const SWEEP = `DELETE FROM used WHERE used_key IN
  (SELECT used_key FROM used WHERE coalesce(tenant, '') = ? AND due <= ? ORDER BY due LIMIT 256)`;

interface Row extends Use {
  readonly subject: string;
  readonly step: number;
}

/** A call that is about to be made, of a message of so many bytes. */
export function countedCall({ agent, tool, session }: UsedBy, bytes: number): CountedCall {
  const subjects: Readonly<Record<Scope, string>> = {
    agent: subjectOf('agent', agent),
    tool: subjectOf('tool', tool.server, tool.name),
    session: subjectOf('session', session),
  };
  const keys = SCOPES.map((scope) => subjects[scope]);
  /** When it was counted, by the transaction that was committed, or is about to be. */
  let at: number | null = null;

  const others = async ({ tenant, all }: Reading, now: number): Promise<Used> => {
    const rows = await all<Row>(SUMS, tenant ?? '', ...keys, now);
    const useIn = (scope: Scope, window: Window): Use => {
      const { step } = WINDOWS[window];
      const found = rows.find((row) => row.subject === subjects[scope] && row.step === step);
      const isIn = at !== null && dueOf(window, at) > now;
      return {
        calls: (found?.calls ?? 0) - (isIn ? 1 : 0),
        bytes: (found?.bytes ?? 0) - (isIn ? bytes : 0),
      };
    };
    const windows = (scope: Scope) => ({
      minute: useIn(scope, 'minute'),
      hour: useIn(scope, 'hour'),
      day: useIn(scope, 'day'),
    });
    return { agent: windows('agent'), tool: windows('tool'), session: windows('session') };
  };

  return {
    others,
    count: (check) => async (transaction) => {
      const { tenant, run } = transaction;
      const now = await transaction.time();
      await run(COUNT, ...places(now).flatMap(({ key, step, due }) => [tenant, key, step, due, bytes]));
      at = now;
      check(await others(transaction, now));
      await sweep(transaction, now);
    },
    giveBack: async ({ tenant, run }) => {
      if (at === null) return;
      for (const { key, step, due } of places(at)) await run(GIVE_BACK, bytes, tenant ?? '', key, step, due);
    },
  };

  /** Always in the same order, so that two transactions do not wait for each other. */
  function places(now: number) {
    return keys
      .toSorted()
      .flatMap((key) =>
        WINDOW_NAMES.map((window) => ({ key, step: WINDOWS[window].step, due: dueOf(window, now) })),
      );
  }
}

/** From when on what is done at a time no longer counts: when its step lies outside of the window as a whole. */
function dueOf(window: Window, time: number): number {
  const { span, step } = WINDOWS[window];
  return (Math.floor(time / step) + 1) * step + span;
}

/** A digest: names can be longer than an index takes. */
function subjectOf(...parts: readonly string[]): string {
  return sha256Hex(JSON.stringify(parts));
}

/** Removes some of what no longer counts: more than one call adds, so that the table stays as large as what counts. */
async function sweep({ tenant, run }: Transaction, now: number): Promise<void> {
  await run(SWEEP, tenant ?? '', now);
}
