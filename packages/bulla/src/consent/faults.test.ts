import { join } from 'node:path';
import type { Decision } from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { expect, onTestFinished, test } from 'vitest';
import { brokenStore, type Driver } from '../../test/broken-store.ts';
import {
  AGENT,
  begin,
  CHAIN,
  calling,
  consentOn,
  grant,
  PAIR,
  passkey,
  push,
  ruleOn,
  START,
  USER,
} from '../../test/consent.ts';
import { temporaryFolder } from '../../test/run.ts';
import { sealer, verifiedLength } from '../../test/store-suite.ts';
import { createManifests } from '../manifest/index.ts';
import { openStore, type Store } from '../store/index.ts';

const OUTCOMES = ['not persisted', 'persisted'] as const;
const WRITES = ['append', 'appendLocked', 'transaction'] as const;

/** Fails at the n-th write, before it happens or after it has. */
function failing(at: number, outcome: (typeof OUTCOMES)[number]) {
  let count = 0;
  return (driver: Driver): Partial<Driver> =>
    Object.fromEntries(
      WRITES.map((name) => {
        const real = driver[name] as (...args: unknown[]) => Promise<unknown>;
        const broken = async (...args: unknown[]) => {
          const fails = count++ === at;
          if (fails && outcome === 'not persisted') throw new BullaError('STORE_FAILED', 'A fault, before.');
          const result = await real(...args);
          if (fails) throw new BullaError('STORE_FAILED', 'A fault, after.');
          return result;
        };
        return [name, broken];
      }),
    );
}

interface Kept {
  readonly rows: readonly (Decision & { readonly asked: string | null; readonly answered: string | null })[];
  /** The capsules by their ids, as far as they matter here. */
  readonly capsules: ReadonlyMap<string, { type: string; status: string; consent: string | undefined }>;
}

/** Every row that says something of a call, and all capsules. */
async function kept(store: Store): Promise<Kept> {
  const capsules = new Map<string, { type: string; status: string; consent: string | undefined }>();
  for await (const { data } of store.chain(CHAIN).records()) {
    const { id, type, outcome, context } = JSON.parse(data);
    const consent = context.environment.bulla.consent?.id;
    capsules.set(id, { type, status: outcome.status, consent });
  }
  const found = await store.reading.all<{ data: string; asked: string | null; answered: string | null }>(
    'SELECT data, asked, answered FROM consent_subject',
  );
  const rows = found.map(({ data, asked, answered }) => ({ ...JSON.parse(data), asked, answered }));
  return { rows, capsules };
}

/** The ids of the calls with an intent, or with an outcome. */
function calls({ capsules }: Kept, status: string): string[] {
  return [...capsules.values()].flatMap((capsule) =>
    capsule.type === 'tool' && capsule.status === status ? [capsule.consent!] : [],
  );
}

test.each(OUTCOMES.flatMap((outcome) => Array.from({ length: 12 }, (_, at) => [at, outcome] as const)))(
  'a fault at write %i, %s: rows and records are always of one mind, and no call is done without both',
  async (at, outcome) => {
    const file = join(temporaryFolder(), 'store.db');
    const whole = await openStore({ url: file, create: true, sealer });
    const store = brokenStore(file, failing(at, outcome));
    onTestFinished(async () => {
      await store.close();
      await whole.close();
    });
    const now = () => START;
    await push(whole);
    await grant(consentOn(whole, { now }));
    const consent = consentOn(store, { now });
    const done: string[] = [];
    const attempt = async <T>(work: () => Promise<T>): Promise<T | null> => {
      try {
        return await work();
      } catch (error) {
        const { code, cause } = error as BullaError;
        expect(code === 'RECORD_OUTCOME_LOST' ? (cause as BullaError).code : code).toBe('STORE_FAILED');
        return null;
      }
    };
    const run = (tool: 'notify' | 'read_file') =>
      attempt(() => consent.run(calling(tool), () => void done.push(tool)));
    await run('notify');
    const first = await attempt(() => ruleOn(consent, store, calling('read_file')));
    const other = await attempt(() => ruleOn(consent, store, calling('list_files')));
    if (first !== null && 'ask' in first.ruling) {
      const { id, shown } = first.ruling.prompt;
      const answer = { prompt: id, shown, choice: 'allow-session', who: USER, channel: passkey } as const;
      const answered = await attempt(() => consent.answer(answer));
      if (answered !== null) {
        await attempt(() => begin(store, first));
        await run('read_file');
      }
    }
    await attempt(() => consent.revoke(PAIR, ['filesystem:read'], { who: USER, channel: passkey }));
    await attempt(() => push(store));
    expect(other === null || 'ask' in other.ruling).toBe(true);

    const found = await kept(whole);
    const { rows, capsules } = found;
    expect(await verifiedLength(whole, CHAIN)).toBe(capsules.size);
    for (const { asked, answered } of rows)
      for (const id of [asked, answered]) if (id !== null) expect([...capsules.keys()]).toContain(id);
    // A call was begun exactly where its intent is, and ended where its outcome is.
    const begun = rows.filter(({ started_at }) => started_at != null).map(({ id }) => id);
    expect(begun.toSorted()).toEqual(calls(found, 'pending').toSorted());
    const ended = rows.filter(({ stage }) => stage === 'ok').map(({ id }) => id);
    expect(ended.toSorted()).toEqual(calls(found, 'success').toSorted());
    // Nothing was done whose intent is not there.
    expect(done.length).toBeLessThanOrEqual(begun.length);
    const versions = await createManifests(whole).versions(AGENT);
    expect(versions.map(({ version }) => version)).toEqual(versions.map((_, i) => i + 1));
    for (const { capsuleId } of versions) expect([...capsules.keys()]).toContain(capsuleId);
    // The revocation that was acknowledged, or is found, leaves nothing allowed.
    const grants = await consentOn(whole, { now }).grants();
    if (grants.some(({ status }) => status === 'revoked')) {
      await consentOn(whole, { now: () => START + 1 }).sweep();
      const left = (await kept(whole)).rows;
      expect(left.filter(({ stage, scope }) => stage === 'allowed' && scope === 'filesystem:read')).toEqual(
        [],
      );
    }
  },
);

test('a store that cannot be written allows nothing', async () => {
  const file = join(temporaryFolder(), 'store.db');
  const gone = () => Promise.reject(new BullaError('STORE_FULL', 'Full.'));
  const whole = await openStore({ url: file, create: true, sealer });
  await push(whole);
  await grant(consentOn(whole));
  const store = brokenStore(file, () => ({ append: gone, appendLocked: gone }));
  const run = consentOn(store).run(calling('notify'), () => expect.unreachable());
  await expect(run).rejects.toMatchObject({ code: 'STORE_FULL' });
  expect((await kept(whole)).rows).toEqual([]);
  await store.close();
  await whole.close();
});
