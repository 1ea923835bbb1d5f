import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { brokenStore } from '../../test/broken-store.ts';
import {
  AGENT,
  begin,
  CHAIN,
  calling,
  consentOn,
  grant,
  manifestText,
  PAIR,
  passkey,
  passOf,
  push,
  questionOf,
  ruleOn,
  START,
  USER,
} from '../../test/consent.ts';
import { temporaryFolder } from '../../test/run.ts';
import { sealer, verifiedLength } from '../../test/store-suite.ts';
import { createManifests } from '../manifest/index.ts';
import { openStore } from '../store/index.ts';

// Another process does something exactly between our reading and our writing.

const said = { who: USER, channel: passkey };
const options = { now: () => START, rules: { maxOpenPrompts: 1000 } };

/** Our store, in which something can be made to happen right before one of the next writes, and that of another. */
async function prepared() {
  const url = join(temporaryFolder(), 'store.db');
  const other = await openStore({ url, create: true, sealer });
  const planned: (() => Promise<unknown>)[] = [];
  const store = brokenStore(url, (driver) => ({
    async appendLocked(chain, make) {
      await planned.shift()?.();
      return driver.appendLocked(chain, make);
    },
  }));
  onTestFinished(async () => {
    await store.close();
    await other.close();
  });
  await push(other);
  const [consent, elsewhere] = [consentOn(store, options), consentOn(other, options)];
  await grant(elsewhere);
  return { store, other, consent, elsewhere, planned };
}

test('a call is not begun under a grant that was revoked meanwhile, and is denied', async () => {
  const { consent, elsewhere, planned } = await prepared();
  planned.push(() => elsewhere.revoke(PAIR, ['notification:send'], said));
  const outcome = await consent.run(calling('notify'), () => expect.unreachable());
  expect(outcome).toMatchObject({ status: 'denied', decision: { detail: 'scope_revoked' } });
});

test('nor under a manifest that was replaced meanwhile', async () => {
  const { consent, other, planned } = await prepared();
  planned.push(() => push(other, manifestText({ locate: { input: 2 } })));
  const outcome = await consent.run(calling('notify'), () => expect.unreachable());
  expect(outcome).toMatchObject({ status: 'denied', decision: { detail: 'suspended' } });
});

test('a manifest that changes nothing of the call is the one that its evidence names', async () => {
  const { consent, other, planned } = await prepared();
  planned.push(() => push(other, manifestText({ locate: { words: 2 } })));
  const outcome = await consent.run(calling('notify'), () => null);
  const intent = outcome.status === 'ok' ? outcome.intent : null;
  expect(intent!.context.environment).toMatchObject({ bulla: { manifest: { version: 2 } } });
});

test('what was allowed is not begun when it was revoked or redefined meanwhile', async () => {
  const { consent, store, elsewhere, other, planned } = await prepared();
  const silently = async (meanwhile: () => Promise<unknown>) => {
    const stepwise = await ruleOn(consent, store, calling('notify'));
    planned.push(meanwhile);
    return begin(store, stepwise);
  };
  const answered = async (meanwhile: () => Promise<unknown>) => {
    const stepwise = await ruleOn(consent, store, calling('read_file'));
    const { id, shown } = 'ask' in stepwise.ruling ? stepwise.ruling.prompt : expect.unreachable();
    await consent.answer({ prompt: id, shown, choice: 'allow-once', ...said });
    await passOf(stepwise);
    planned.push(meanwhile);
    return begin(store, stepwise);
  };
  expect(await silently(() => push(other, manifestText({ notify: { words: 2 } })))).toBe('CONSENT_CHANGED');
  await push(other);
  expect(await answered(() => push(other, manifestText({ read_file: { words: 2 } })))).toBe(
    'CONSENT_CHANGED',
  );
  await push(other);
  expect(await answered(() => elsewhere.revoke(PAIR, ['filesystem:read'], said))).toBe('CONSENT_NOT_ALLOWED');
  // A tool that was redefined runs unasked only after another grant.
  await grant(elsewhere);
  expect(await silently(() => elsewhere.revoke(PAIR, 'all', said))).toBe('CONSENT_NOT_GRANTED');
});

test('an answer to a question that was withdrawn meanwhile is not heard', async () => {
  const { consent, store, elsewhere, planned } = await prepared();
  const { id, shown } = await questionOf(consent, store, calling('read_file'));
  planned.push(() => elsewhere.withdraw(id));
  const step = await consent.answer({ prompt: id, shown, choice: 'allow-once', ...said });
  expect(step.refusal!.code).toBe('CONSENT_ANSWERED');
});

test('a revocation that ends more than one transaction takes is completed when others come between', async () => {
  const { consent, elsewhere, planned, store, other } = await prepared();
  const asked: string[] = [];
  for (let i = 0; i < 300; i++) asked.push((await questionOf(consent, store, calling('read_file'))).id);
  const silent = await ruleOn(elsewhere, other, calling('notify'));
  const before = (await store.chain(CHAIN).head()).length;
  planned.push(
    async () => undefined,
    () => begin(other, silent),
  );
  const { decisions, capsules } = await consent.revoke(PAIR, ['filesystem:read'], said);
  expect(planned).toEqual([]);
  expect(decisions.map(({ id }) => id).toSorted()).toEqual(asked.toSorted());
  expect(capsules.length).toBe(301);
  expect(await verifiedLength(store, CHAIN)).toBe(before + 301 + 1);
});

test('a manifest that came first is what the next one is compared with', async () => {
  const { store, other, planned } = await prepared();
  const changed = manifestText({ notify: { input: 2 } });
  planned.push(() => push(other, changed));
  const pushed = await push(store, changed);
  expect([pushed.version, pushed.breaking, pushed.diff]).toEqual([
    3,
    false,
    { breaking: [], non_breaking: [] },
  ]);
  expect((await createManifests(store).versions(AGENT)).map(({ version }) => version)).toEqual([1, 2, 3]);
});

test('a key that was used meanwhile is one version', async () => {
  const { store, other, planned } = await prepared();
  planned.push(() => push(other, manifestText(), 'key'));
  const { version, repeated } = await push(store, manifestText(), 'key');
  expect([version, repeated]).toEqual([2, true]);
  expect(await verifiedLength(store, CHAIN)).toBe(4);
});
