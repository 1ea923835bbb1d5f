import { join } from 'node:path';
import type { Decision } from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { expect, onTestFinished, test } from 'vitest';
import { brokenStore, type Driver } from '../../test/broken-store.ts';
import {
  AGENT,
  CHAIN,
  calling,
  consentOn,
  grant,
  PAIR,
  passkey,
  push,
  START,
  USER,
} from '../../test/consent.ts';
import { temporaryFolder } from '../../test/run.ts';
import { sealer, verifiedLength } from '../../test/store-suite.ts';
import { createManifests } from '../manifest/index.ts';
import { openStore, type Store } from '../store/index.ts';
import type { Decided } from './index.ts';

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

/** Every row that says something of a call, and the ids of all capsules. */
async function kept(
  store: Store,
): Promise<{ rows: { stage?: string; capsule: string }[]; capsules: Set<string> }> {
  const capsules = new Set<string>();
  for await (const { data } of store.chain(CHAIN).records()) capsules.add(JSON.parse(data).id);
  const found = await store.reading.all<{ data: string; capsule_id: string }>(
    'SELECT data, capsule_id FROM consent_matter',
  );
  return {
    rows: found.map(({ data, capsule_id }) => ({ ...JSON.parse(data), capsule: capsule_id })),
    capsules,
  };
}

test.each(OUTCOMES.flatMap((outcome) => Array.from({ length: 9 }, (_, at) => [at, outcome] as const)))(
  'a fault at write %i, %s: no call is allowed without its capsule, and none that was refused',
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
    const allowed: Decision[] = [];
    const attempt = async (work: () => Promise<Decided>): Promise<Decided | null> => {
      try {
        const step = await work();
        allowed.push(...step.decisions.filter(({ stage }) => stage === 'allowed'));
        return step;
      } catch (error) {
        expect(error).toMatchObject({ code: 'STORE_FAILED' });
        return null;
      }
    };
    await attempt(() => consent.call(calling('notify')));
    const asked = await attempt(() => consent.call(calling('read_file')));
    const other = await attempt(() => consent.call(calling('list_files')));
    if (asked?.prompt)
      await attempt(() =>
        consent.answer({
          prompt: asked.prompt!.id,
          shown: asked.prompt!.shown,
          choice: 'allow-session',
          who: USER,
          channel: passkey,
        }),
      );
    await attempt(() => consent.call(calling('read_file')));
    for (const { id, tool_digest, commitment } of allowed.slice(0, 1))
      await attempt(() => consent.start({ id, tool_digest: tool_digest!, commitment: commitment! }));
    await attempt(() => consent.revoke(PAIR, ['filesystem:read'], { who: USER, channel: passkey }));
    await push(store).catch((error: unknown) => expect(error).toMatchObject({ code: 'STORE_FAILED' }));
    expect(other === null || other.prompt !== null).toBe(true);

    const { rows, capsules } = await kept(whole);
    for (const { capsule } of rows) expect(capsules).toContain(capsule);
    expect(await verifiedLength(whole, CHAIN)).toBe(capsules.size);
    const versions = await createManifests(whole).versions(AGENT);
    expect(versions.map(({ version }) => version)).toEqual(versions.map((_, i) => i + 1));
    for (const { capsuleId } of versions) expect(capsules).toContain(capsuleId);
    // What was returned as allowed is there, and what was not returned was never begun.
    const ids = new Set(rows.map((row) => (row as unknown as Decision).id));
    for (const { id } of allowed) expect(ids).toContain(id);
    // The revocation that was acknowledged, or is found, leaves nothing allowed.
    const grants = await consentOn(whole, { now }).grants();
    if (grants.some(({ status }) => status === 'revoked')) {
      await consentOn(whole, { now: () => START + 1 }).sweep();
      const left = (await kept(whole)).rows as unknown as Decision[];
      const still = left.filter(({ stage, scope }) => stage === 'allowed' && scope === 'filesystem:read');
      for (const { id, tool_digest, commitment } of still) {
        const step = await consentOn(whole, { now }).start({
          id,
          tool_digest: tool_digest!,
          commitment: commitment!,
        });
        expect(step.refusal!.code).toBe('CONSENT_NOT_GRANTED');
      }
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
  await expect(consentOn(store).call(calling('notify'))).rejects.toMatchObject({ code: 'STORE_FULL' });
  expect((await kept(whole)).rows).toEqual([]);
  await store.close();
  await whole.close();
});
