// Leases, orphaned intents and lazy outcomes, on any database. Processes that ended are stores that were never closed,
// and whose lease is ended in the database.
import { readEvidence } from '@bulla/core/evidence';
import { type JsonObject, parse, toPlain } from '@bulla/core/json';
import { createHistory, storyOf } from '@bulla/core/verify';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Call, createRecorder, type Intent, markOrphans, type Recorder } from '../src/record/index.ts';
import type { Driver } from '../src/store/driver.ts';
import type { Store, StoreOptions } from '../src/store/index.ts';
import { sealer, verifiedLength } from './store-suite.ts';

const CALL = {
  ...{ door: 'agents', agentId: 'desk', sessionId: 's-1', source: 'desk', request: 'tools/call peek' },
  tool: { name: 'peek' },
} as const satisfies Call;
const GOOD = { status: 'success', durationMs: 1, result: { n: 1 } } as const;

/** One database: processes on it, and a driver of it that counts or breaks. */
export interface LeasePlace {
  open(options: Partial<StoreOptions>): Promise<Store>;
  /** A store over a driver of which some parts are others. */
  over(breakIt: (driver: Driver) => Partial<Driver>, options: Partial<StoreOptions>): Promise<Store>;
}

export function leaseSuite(place: LeasePlace): void {
  let last = 0;
  /** Processes that record in a chain of their own. */
  const chained = () => {
    const name = `c${++last}`;
    const started = async (opened: Store): Promise<Recorder & { readonly store: Store }> => {
      let closing: Promise<void> | undefined;
      const close = () => {
        closing ??= opened.close();
        return closing;
      };
      onTestFinished(close);
      return { ...createRecorder(opened.chain(name)), store: { ...opened, close } };
    };
    return {
      name,
      process: async () => started(await place.open({ sealer })),
      over: async (breakIt: (driver: Driver) => Partial<Driver>, options: Partial<StoreOptions> = {}) =>
        started(await place.over(breakIt, { sealer, ...options })),
    };
  };
  const records = async ({ chain }: Recorder) =>
    (await Array.fromAsync(chain.records())).map(({ data }) => parse(data) as JsonObject);
  const histories = async (recorder: Recorder) => {
    const history = createHistory();
    for (const [i, record] of (await records(recorder)).entries()) history.add(storyOf(record), i);
    const { unfinished, orphaned } = history.finish();
    return { unfinished: unfinished.first.map(({ id }) => id), orphaned: orphaned.first.map(({ id }) => id) };
  };
  const leases = ({ store, chain }: Recorder & { store: Store }) =>
    store.reading.all<{ expires_at: number }>(
      'SELECT expires_at FROM lease WHERE instance = ?',
      chain.instance,
    );
  /** The process is gone for longer than its lease. */
  const end = ({ store, chain }: Recorder & { store: Store }) =>
    store.transaction(({ run }) => run('UPDATE lease SET expires_at = 1 WHERE instance = ?', chain.instance));

  describe('a lease', () => {
    test('is taken with the first intent, for 30 s by the clock of the database, and given back at the end', async () => {
      const { process } = chained();
      const [one, other] = [await process(), await process()];
      expect(await leases(one)).toEqual([]);
      const before = await one.store.time();
      const intent = await one.intent(CALL);
      const [lease] = await leases(one);
      expect(lease!.expires_at).toBeGreaterThanOrEqual(before + 30_000);
      expect(lease!.expires_at).toBeLessThanOrEqual((await one.store.time()) + 30_000);
      await one.intent(CALL);
      expect(await leases(one)).toEqual([lease]);
      expect(readEvidence(intent.capsule)!.instance).toBe(one.chain.instance);
      await one.store.close();
      const reading = 'SELECT expires_at FROM lease WHERE instance = ?';
      expect(await other.store.reading.all(reading, one.chain.instance)).toEqual([]);
    });

    test('is renewed every 10 s while an intent is open, and not otherwise', async () => {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
      onTestFinished(() => void vi.useRealTimers());
      const { over } = chained();
      let renewals = 0;
      const one = await over((driver) => ({
        transaction(work) {
          renewals++;
          return driver.transaction(work);
        },
      }));
      const intent = await one.intent(CALL);
      await end(one);
      renewals = 0;
      vi.advanceTimersByTime(10_000);
      expect(renewals).toBe(1);
      await vi.waitFor(async () => {
        expect((await leases(one))[0]!.expires_at).toBeGreaterThan(await one.store.time());
      });
      await one.outcome(intent, GOOD);
      vi.advanceTimersByTime(100_000);
      expect(renewals).toBe(1);
    });

    test('that cannot be renewed is told of, and the next intent takes it itself', async () => {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
      onTestFinished(() => void vi.useRealTimers());
      const { over } = chained();
      const told: unknown[] = [];
      let isBroken = true;
      const one = await over(
        (driver) => ({
          transaction: (work) =>
            isBroken ? Promise.reject(new Error('store down')) : driver.transaction(work),
        }),
        { onLeaseError: (error) => void told.push((error as Error).message) },
      );
      await one.intent(CALL);
      vi.advanceTimersByTime(10_000);
      await vi.waitFor(() => expect(told).toEqual(['store down']));
      isBroken = false;
      await end(one);
      isBroken = true;
      // By its own clock the lease holds still; 16 s later it is too close to its end.
      await one.intent(CALL);
      expect(await leases(one)).toEqual([{ expires_at: 1 }]);
      vi.advanceTimersByTime(16_000);
      await one.intent(CALL);
      expect((await leases(one))[0]!.expires_at).toBeGreaterThan(await one.store.time());
      isBroken = false;
    });

    test('that is not written keeps the intent from being written', async () => {
      const { over, name } = chained();
      const one = await over((driver) => ({
        appendLocked: (chain, make) =>
          driver.appendLocked(chain, (tip, transaction) =>
            make(tip, {
              ...transaction,
              run: (sql, ...values) =>
                sql.includes('INTO lease')
                  ? Promise.reject(new Error('no lease'))
                  : transaction.run(sql, ...values),
            }),
          ),
      }));
      await expect(one.intent(CALL)).rejects.toThrow('no lease');
      expect((await one.store.chain(name).head()).length).toBe(0);
      expect(await one.chain.openIntents()).toBe(0);
    });
  });

  describe('an intent without an outcome', () => {
    test('is marked once when its process holds no lease any more; those of living processes are not', async () => {
      const { process, name } = chained();
      const [gone, living, later] = [await process(), await process(), await process()];
      const [lost, ended, held] = [
        await gone.intent(CALL),
        await gone.intent(CALL),
        await living.intent(CALL),
      ];
      await gone.outcome(ended, GOOD);
      expect(await markOrphans(later)).toEqual([]);
      await end(gone);
      expect(await gone.chain.openIntents()).toBe(2);
      const marked = await markOrphans(later);
      expect(marked.map(({ intent }) => intent)).toEqual([lost.capsule.id]);
      expect(await markOrphans(later)).toEqual([]);
      expect(await markOrphans(living)).toEqual([]);
      expect(await later.chain.openIntents()).toBe(1);
      const mark = toPlain((await records(later)).at(-1)!);
      expect(mark).toMatchObject({
        id: marked[0]!.mark,
        type: 'system',
        domain: 'admin',
        parent_id: lost.capsule.id,
        context: {
          agent_id: 'desk',
          session_id: 's-1',
          environment: {
            bulla: {
              v: 1,
              instance: later.chain.instance,
              intent: lost.capsule.id,
              facts: { ended: gone.chain.instance },
            },
          },
        },
        outcome: {
          status: 'failure',
          error: 'record: RECORD_ORPHANED',
          summary:
            'The process ended before the outcome was recorded: the call may or may not have been made.',
        },
      });
      expect(await histories(later)).toEqual({ unfinished: [held.capsule.id], orphaned: [lost.capsule.id] });
      expect(await verifiedLength(later.store, name)).toBe(5);
    });

    test('is marked when its process gave its lease back, too', async () => {
      const { process } = chained();
      const [gone, later] = [await process(), await process()];
      const { capsule } = await gone.intent(CALL);
      await gone.store.close();
      expect((await markOrphans(later)).map(({ intent }) => intent)).toEqual([capsule.id]);
    });

    test('is marked once by processes that look at the same time', async () => {
      const { process } = chained();
      const gone = await process();
      const intents = await Promise.all(Array.from({ length: 40 }, () => gone.intent(CALL)));
      await end(gone);
      const others = await Promise.all([process(), process(), process()]);
      const marked = (await Promise.all(others.map(markOrphans))).flat();
      const ids = (given: readonly string[]) => given.toSorted();
      expect(ids(marked.map(({ intent }) => intent))).toEqual(ids(intents.map(({ capsule }) => capsule.id)));
      expect((await histories(gone)).orphaned).toHaveLength(40);
      expect((await records(gone)).length).toBe(80);
    });

    test('of its own process is not marked by it: the process lives', async () => {
      const { process } = chained();
      const one = await process();
      const intent = await one.intent(CALL);
      await end(one);
      expect(await markOrphans(one)).toEqual([]);
      expect((await one.outcome(intent, GOOD)).mark).toBeNull();
    });

    test('is not marked by another tenant or for another chain', async () => {
      const { process } = chained();
      const [gone, other] = [await process(), await chained().process()];
      await gone.intent(CALL);
      await end(gone);
      expect(await markOrphans(other)).toEqual([]);
      expect(await gone.chain.openIntents()).toBe(1);
    });
  });

  describe('an outcome after its intent was marked', () => {
    const marked = async () => {
      const { process, name } = chained();
      const [slow, sweeper] = [await process(), await process()];
      const intents: Intent[] = [await slow.intent(CALL), await slow.intent(CALL)];
      await end(slow);
      const marks = await markOrphans(sweeper);
      return { slow, sweeper, intents, marks, name };
    };

    test('is recorded once, and names the mark', async () => {
      const { slow, intents, marks, name } = await marked();
      const { mark, capsule } = await slow.outcome(intents[0]!, GOOD);
      expect(mark).toBe(marks[0]!.mark);
      expect(readEvidence(capsule)).toMatchObject({ intent: intents[0]!.capsule.id, late: mark });
      await expect(slow.outcome(intents[0]!, GOOD)).rejects.toMatchObject({ code: 'RECORD_ENDED' });
      expect(await histories(slow)).toEqual({ unfinished: [], orphaned: [intents[1]!.capsule.id] });
      expect(await verifiedLength(slow.store, name)).toBe(5);
    });

    test('holds up no other record of the same commit', async () => {
      const { slow, intents } = await marked();
      const fresh = await slow.intent(CALL);
      const ends = await Promise.all([...intents, fresh].map((intent) => slow.outcome(intent, GOOD)));
      expect(ends.map(({ mark }) => mark === null)).toEqual([false, false, true]);
      expect(await histories(slow)).toEqual({ unfinished: [], orphaned: [] });
    });

    test('finds its lease removed with the next one that is taken', async () => {
      const { slow, sweeper } = await marked();
      const fresh = await sweeper.intent(CALL);
      expect(await leases(slow)).toEqual([]);
      expect((await sweeper.outcome(fresh, GOOD)).mark).toBeNull();
    });
  });

  describe('a lazy outcome', () => {
    /** Counts the commits of appends. */
    const counting = async () => {
      let commits = 0;
      const { over } = chained();
      const one = await over((driver) => ({
        append(...args) {
          commits++;
          return driver.append(...args);
        },
        appendLocked(...args) {
          commits++;
          return driver.appendLocked(...args);
        },
      }));
      return { one, commits: () => commits };
    };

    test('shares the commit of the next intent: one commit a call, not two', async () => {
      const calls = 20;
      const { one, commits } = await counting();
      const run = async (lazy: boolean) => {
        const before = commits();
        const ends: Promise<unknown>[] = [];
        for (let i = 0; i < calls; i++) {
          const ended = one.outcome(await one.intent(CALL), GOOD, { lazy });
          ends.push(ended);
          if (!lazy) await ended;
        }
        await Promise.all(ends);
        return commits() - before;
      };
      expect([await run(false), await run(true)]).toEqual([2 * calls, calls + 1]);
      expect(await histories(one)).toEqual({ unfinished: [], orphaned: [] });
    });

    test('is durable by itself where nothing else comes, and before the store is closed', async () => {
      const { process } = chained();
      const [one, other] = [await process(), await process()];
      const alone = await one.outcome(await one.intent(CALL), GOOD, { lazy: true });
      expect(alone.capsule.sequence).toBe(1);
      const intent = await one.intent(CALL);
      const ended = one.outcome(intent, GOOD, { lazy: true });
      await one.store.close();
      expect((await ended).capsule.sequence).toBe(3);
      expect(await histories(other)).toEqual({ unfinished: [], orphaned: [] });
    });

    test('that the store does not take leaves the intent open, to be marked', async () => {
      const { over, process } = chained();
      let isBroken = false;
      const one = await over((driver) => ({
        append: (...args) => (isBroken ? Promise.reject(new Error('gone')) : driver.append(...args)),
        settle: (...args) => (isBroken ? Promise.reject(new Error('gone')) : driver.settle(...args)),
      }));
      await one.intent(CALL);
      const { capsule, call } = await one.intent(CALL);
      isBroken = true;
      await expect(one.outcome({ capsule, call }, GOOD, { lazy: true })).rejects.toMatchObject({
        code: 'RECORD_OUTCOME_LOST',
      });
      isBroken = false;
      await one.store.close();
      const later = await process();
      expect((await markOrphans(later)).map(({ intent }) => intent)).toContain(capsule.id);
    });
  });
}
