import { expect, test } from 'vitest';
import { openTestStore } from '../../test/guard.ts';
import { temporaryFolder } from '../../test/run.ts';
import { beginApproved, endApproved, findApproved, lostApproved, moveApproved } from './approved.ts';
import type { Store } from './store.ts';

const CALL = {
  approval: 'one',
  caller: 'c',
  args: { commitment: 'a'.repeat(64), of: 'jcs' },
  salt: new Uint8Array(32).fill(7),
  holder: 'process-1',
} as const;

async function begun(continues?: string): Promise<Store> {
  const store = await openTestStore(temporaryFolder());
  await store.transaction(beginApproved(CALL, 1000, continues)('intent-1'));
  return store;
}

const lost = async (store: Store, now?: number) =>
  (await lostApproved(store.reading, 'c', now ?? (await store.time()))).map(({ approval }) => approval);

test('a call is lost when its process is gone, and not while it lives', async () => {
  const store = await begun();
  expect(await lost(store)).toEqual(['one']);
  const live = (expires: number) =>
    store.transaction(async ({ run }) => {
      await run('DELETE FROM lease');
      await run("INSERT INTO lease (tenant, instance, expires_at) VALUES (NULL, 'process-1', ?)", expires);
    });
  await live((await store.time()) + 60_000);
  expect(await lost(store)).toEqual([]);
  await live((await store.time()) - 1);
  expect(await lost(store)).toEqual(['one']);
  await store.close();
});

test('of two that give the answer again one has it', async () => {
  const store = await begun();
  const move = (from: Parameters<typeof moveApproved>[2], to: Parameters<typeof moveApproved>[3]) =>
    store.transaction((transaction) => moveApproved(transaction, 'one', from, to));
  expect(await move(['lost', 'open'], 'repeating')).toBe(true);
  expect(await move(['lost', 'open'], 'repeating')).toBe(false);
  expect(await lost(store)).toEqual([]);
  expect(await move(['repeating'], 'lost')).toBe(true);
  expect(await lost(store)).toEqual(['one']);
  await store.close();
});

test('an answer is kept with its outcome until it is due', async () => {
  const store = await begun();
  await store.transaction(endApproved('one', 'outcome-1', '{"result":{}}'));
  const now = await store.time();
  expect(await findApproved(store.reading, 'one', now)).toEqual({
    ...CALL,
    ...{ intent: 'intent-1', outcome: 'outcome-1', answer: '{"result":{}}', state: 'open', isLiving: false },
  });
  expect(await findApproved(store.reading, 'one', now + 2000)).toBeNull();
  expect(await lost(store, now + 2000)).toEqual([]);
  expect(await findApproved(store.reading, 'other', now)).toBeNull();
  await store.close();
});

test('a part of a call goes on once, after it has ended', async () => {
  const store = await begun();
  const goOn = (from: string, to: string) => store.transaction(beginApproved(CALL, 1000, from)(to));
  await expect(goOn('intent-1', 'intent-2')).rejects.toMatchObject({ code: 'CONSENT_SPENT' });
  await store.transaction(endApproved('one', 'outcome-1', null));
  await goOn('intent-1', 'intent-2');
  await expect(goOn('intent-1', 'intent-3')).rejects.toMatchObject({ code: 'CONSENT_SPENT' });
  await store.close();
});
