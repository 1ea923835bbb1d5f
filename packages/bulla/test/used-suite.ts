// What was used, on any database: windows, tenants, giving back, and what no longer counts.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { countedCall, openStore, type Store, type Transaction } from '../src/store/index.ts';
import { sealer } from './store-suite.ts';

const BY = { agent: 'bot', tool: { server: 'files', name: 'read' }, session: 's-1' };
const none = { calls: 0, bytes: 0 };

export function usedSuite(url: () => string | Promise<string>): void {
  let [store, other]: Store[] = [];
  beforeAll(async () => {
    const address = await url();
    store = await openStore({ url: address, create: true, sealer });
    other = await openStore({ url: address, tenant: 'acme', sealer });
  });
  afterAll(async () => {
    await store!.close();
    await other!.close();
  });
  /** A transaction at a time that the test chooses. */
  const at = (time: number, work: (transaction: Transaction) => Promise<void>, on = store!) =>
    on.transaction((transaction) => work({ ...transaction, time: async () => time }));
  const count = async (time: number, bytes: number, by = BY, on = store!) => {
    const call = countedCall(by, bytes);
    await at(
      time,
      call.count(() => {}),
      on,
    );
    return call;
  };
  const used = (time: number, by = BY, on = store!) => countedCall(by, 0).others(on.reading, time);
  const rows = async () => {
    const [row] = await store!.reading.all<{ n: number }>('SELECT CAST(count(*) AS BIGINT) AS n FROM used');
    return row!.n;
  };

  test('each window holds what was counted in it, and up to a step more', async () => {
    const start = 1_800_000_000_000;
    await count(start, 10);
    await count(start + 30_000, 5);
    const calls = async (after: number) => {
      const { agent } = await used(start + after);
      return [agent.minute.calls, agent.hour.calls, agent.day.calls];
    };
    expect((await used(start + 30_000)).agent).toEqual({
      minute: { calls: 2, bytes: 15 },
      hour: { calls: 2, bytes: 15 },
      day: { calls: 2, bytes: 15 },
    });
    expect(await calls(60_999)).toEqual([2, 2, 2]);
    expect(await calls(61_000)).toEqual([1, 2, 2]);
    expect(await calls(90_999)).toEqual([1, 2, 2]);
    expect(await calls(91_000)).toEqual([0, 2, 2]);
    expect(await calls(3_659_999)).toEqual([0, 2, 2]);
    expect(await calls(3_660_000)).toEqual([0, 0, 2]);
    expect(await calls(86_400_000 + 899_999)).toEqual([0, 0, 2]);
    expect(await calls(86_400_000 + 900_000)).toEqual([0, 0, 0]);
  });

  test('subjects and tenants are counted apart', async () => {
    const start = 1_810_000_000_000;
    await count(start, 1);
    await count(start, 1, { ...BY, agent: 'other', session: 's-2' });
    await count(start, 1, { ...BY, tool: { server: 'mail', name: 'read' } });
    const { agent, tool, session } = await used(start);
    expect([agent.minute.calls, tool.minute.calls, session.minute.calls]).toEqual([2, 2, 2]);
    const twisted = { agent: 's-1', tool: { server: 'filesread', name: '' }, session: 'bot' };
    expect((await used(start, twisted)).agent.minute).toEqual(none);
    expect((await used(start, BY, other!)).agent.minute).toEqual(none);
    await count(start, 7, BY, other!);
    expect((await used(start, BY, other!)).tool.minute).toEqual({ calls: 1, bytes: 7 });
    expect((await used(start)).tool.minute).toEqual({ calls: 2, bytes: 2 });
  });

  test('a call does not see itself, sees what was counted before it, and can refuse', async () => {
    const start = 1_820_000_000_000;
    const first = await count(start, 100);
    expect((await first.others(store!.reading, start)).agent.minute).toEqual(none);
    let seen: unknown;
    const second = countedCall(BY, 1);
    await at(
      start,
      second.count(({ agent }) => {
        seen = agent.minute;
      }),
    );
    expect(seen).toEqual({ calls: 1, bytes: 100 });
    const third = countedCall(BY, 1);
    const refusing = third.count(({ agent }) => {
      throw new Error(`${agent.day.calls}`);
    });
    await expect(at(start, refusing)).rejects.toThrow('2');
    expect((await used(start)).agent.minute).toEqual({ calls: 2, bytes: 101 });
    await at(start + 1, first.giveBack);
    expect((await used(start + 1)).agent.day).toEqual({ calls: 1, bytes: 1 });
  });

  test('what no longer counts is removed', async () => {
    const start = 1_830_000_000_000;
    for (let i = 0; i < 40; i++) await count(start + i * 2000, 1, { ...BY, session: `ended-${i}` });
    expect(await rows()).toBeGreaterThan(150);
    const later = start + 10 * 86_400_000;
    for (let i = 0; i < 3; i++) await count(later, 1);
    // Of one tenant: the rows of another are removed when it counts.
    const left = await store!.reading.all(
      "SELECT 1 FROM used WHERE coalesce(tenant, '') = '' AND due <= ?",
      later,
    );
    expect(left).toEqual([]);
    expect((await used(later)).agent.day).toEqual({ calls: 3, bytes: 3 });
  });
}
