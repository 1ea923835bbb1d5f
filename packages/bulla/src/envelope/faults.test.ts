import { join } from 'node:path';
import { execHash, parseEnvelope } from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import { expect, onTestFinished, test } from 'vitest';
import { brokenStore, type Driver } from '../../test/broken-store.ts';
import { CHAIN, payment, publishSample, verifierOn } from '../../test/envelope.ts';
import { temporaryFolder } from '../../test/run.ts';
import { sealer, verifiedLength } from '../../test/store-suite.ts';
import { createLedger, openStore, type Store } from '../store/index.ts';

const failed = {
  code: 'EE_NONCE_STORE_FAILURE',
  path: '/constraints/nonce',
  message: 'The store of nonces cannot be read or written.',
};
const gone = () => Promise.reject(new BullaError('STORE_UNREADABLE', 'Gone.'));
const never = () => expect.unreachable();

/** A store with the sample policy, and the same file through a driver that is broken in some way. */
async function broken(
  breakIt: (driver: Driver) => Partial<Driver>,
): Promise<{ whole: Store; broken: Store }> {
  const file = join(temporaryFolder(), 'store.db');
  const whole = await openStore({ url: file, create: true, sealer });
  await publishSample(whole);
  const store = brokenStore(file, breakIt);
  onTestFinished(async () => {
    await store.close();
    await whole.close();
  });
  return { whole, broken: store };
}

test('a store that cannot be read permits nothing, and the refusal is recorded if that can be done', async () => {
  const { whole, broken: store } = await broken(({ reading }) => ({ reading: { ...reading, all: gone } }));
  expect(await verifierOn(store).check(...(await payment(1)))).toMatchObject({ ok: false, ...failed });
  const decision = await verifierOn(store).verifyAndConsume(...(await payment(1)), never);
  expect(decision).toMatchObject({
    status: 'blocked',
    verdict: { ok: false, ...failed },
    cause: { code: 'STORE_UNREADABLE' },
    capsule: { outcome: { error: 'envelope: EE_NONCE_STORE_FAILURE' } },
  });
  expect(await verifiedLength(whole, CHAIN)).toBe(2);
  expect((await verifierOn(whole).verifyAndConsume(...(await payment(1)), () => 'paid')).status).toBe(
    'success',
  );
});

test('a store that cannot be written permits nothing, and stays refused without a record', async () => {
  const { whole, broken: store } = await broken(() => ({ append: gone, appendLocked: gone }));
  const decision = await verifierOn(store).verifyAndConsume(...(await payment(1)), never);
  expect(decision).toMatchObject({ status: 'blocked', capsule: null, verdict: failed });
  expect(decision.verdict.steps.at(-1)).toMatchObject({ name: 'permit', status: 'failed' });
  expect((await verifierOn(whole).verifyAndConsume(...(await payment(1)), () => 'paid')).status).toBe(
    'success',
  );
});

test('a store that was closed permits nothing', async () => {
  const store = await openStore({ url: join(temporaryFolder(), 'store.db'), create: true, sealer });
  await publishSample(store);
  const verifier = verifierOn(store);
  await store.close();
  const decision = await verifier.verifyAndConsume(...(await payment(1)), never);
  expect(decision).toMatchObject({ status: 'blocked', capsule: null, verdict: failed });
});

test.each(['stored', 'not stored'] as const)(
  'when it is uncertain whether the nonce was consumed, nothing is executed: %s',
  async (outcome) => {
    let armed = true;
    const { whole, broken: store } = await broken((driver) => ({
      async appendLocked(chain, make) {
        if (armed && outcome === 'not stored')
          return driver.appendLocked(chain, async (tip, transaction) => {
            await make(tip, transaction);
            throw new BullaError('STORE_FAILED', 'A fault, before the write.');
          });
        await driver.appendLocked(chain, make);
        if (armed) throw new BullaError('STORE_FAILED', 'A fault, after the write.');
      },
      settle: (...args) => (armed ? gone() : driver.settle(...args)),
    }));
    const [text, authorization] = await payment(1);
    const decision = await verifierOn(store).verifyAndConsume(text, authorization, never);
    expect(decision).toMatchObject({
      status: 'blocked',
      verdict: failed,
      cause: { code: 'STORE_UNCERTAIN' },
    });
    armed = false;
    const execution = await createLedger(whole).execution(execHash(parseEnvelope(text)));
    const again = await verifierOn(store).verifyAndConsume(text, authorization, () => 'paid');
    expect([execution?.state, again.verdict.code]).toEqual(
      outcome === 'stored' ? ['reserved', 'EE_NONCE_REPLAY'] : [undefined, null],
    );
  },
);

test('an outcome that cannot be recorded is told to the caller, and counts as committed', async () => {
  let calls = 0;
  const { whole, broken: store } = await broken((driver) => ({
    appendLocked: (chain, make) => (++calls === 2 ? gone() : driver.appendLocked(chain, make)),
  }));
  const [text, authorization] = await payment(1);
  const decision = await verifierOn(store).verifyAndConsume(text, authorization, () => 'paid');
  expect(decision).toMatchObject({
    status: 'success',
    result: 'paid',
    outcome: null,
    cause: { code: 'RECORD_OUTCOME_LOST', cause: { code: 'STORE_UNREADABLE' } },
  });
  const [unsettled] = await createLedger(whole).unsettled();
  expect(unsettled).toMatchObject({ state: 'reserved', outcome_id: null });
  const again = await verifierOn(whole).verifyAndConsume(text, authorization, never);
  expect(again.verdict.code).toBe('EE_NONCE_REPLAY');
});

test('keys that cannot be read reject, before anything is consumed', async () => {
  const { whole } = await broken(() => ({}));
  const keys = () => Promise.reject(new BullaError('KEYRING_LOCKED', 'Locked.'));
  const attempt = verifierOn(whole, { keys }).verifyAndConsume(...(await payment(1)), never);
  await expect(attempt).rejects.toMatchObject({ code: 'KEYRING_LOCKED' });
  expect(await verifiedLength(whole, CHAIN)).toBe(1);
});
