import { sha256Hex } from '@bulla/core/crypto';
import { ManifestError } from '@bulla/core/manifest';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createManifests } from '../src/manifest/index.ts';
import type { Store, StoreOptions } from '../src/store/index.ts';
import { AGENT, CHAIN, manifestText, push, recorderOf } from './consent.ts';
import { sealer, verifiedLength } from './store-suite.ts';

/** What every database must do; `open` gives a handle on one store, each tenant of which is new. */
export function manifestSuite(open: (options: Partial<StoreOptions>) => Promise<Store>): void {
  let tenants = 0;
  const opened = async (tenant = `manifest-${++tenants}`) => {
    const store = await open({ sealer, tenant });
    onTestFinished(() => store.close());
    return store;
  };

  describe('a manifest that is pushed', () => {
    test('is the next version, also with the same content, and every version is kept', async () => {
      const store = await opened();
      const manifests = createManifests(store, { now: () => 1_790_000_000_000 });
      const [first, second] = [manifestText(), manifestText({ notify: { input: 2 } })];
      expect(await manifests.current(AGENT)).toBe(null);
      const pushed = [];
      const by = { by: 'operator', record: recorderOf(store) };
      for (const text of [first, first, second, first]) pushed.push(await manifests.push(AGENT, text, by));
      expect(pushed.map(({ version, breaking }) => [version, breaking])).toEqual([
        [1, false],
        [2, false],
        [3, true],
        [4, true],
      ]);
      expect(pushed[0]!.diff).toBe(null);
      expect(pushed[1]!.diff).toEqual({ breaking: [], non_breaking: [] });
      expect(pushed[2]!.diff!.breaking.map(({ code }) => code)).toEqual(['input-schema-changed']);
      const versions = await manifests.versions(AGENT);
      expect(versions.map(({ version, hash }) => [version, hash])).toEqual(
        pushed.map(({ version, hash }) => [version, hash]),
      );
      expect(versions[2]).toEqual({
        agent: AGENT,
        version: 3,
        hash: pushed[2]!.manifest.hash,
        bytes: pushed[2]!.manifest.bytes,
        breaking: true,
        by: 'operator',
        at: 1_790_000_000_000,
        capsuleId: pushed[2]!.capsule!.id,
      });
      expect((await manifests.version(AGENT, 3))!.manifest.canonical).toBe(pushed[2]!.manifest.canonical);
      expect(await manifests.version(AGENT, 5)).toBe(null);
      expect((await manifests.current(AGENT))!.version).toBe(4);
      expect(await manifests.agents()).toEqual([AGENT]);
    });

    test('is sealed with it, by whom it was', async () => {
      const store = await opened();
      const { capsule, hash, bindings } = await push(store);
      expect(capsule).toMatchObject({
        type: 'auth',
        domain: 'admin',
        trigger: { source: 'operator', request: 'manifest push desk 1' },
        context: {
          agent_id: AGENT,
          environment: {
            bulla: {
              v: 1,
              instance: store.chain(CHAIN).instance,
              manifest: { agent_id: AGENT, version: 1, hash, bindings: bindings.digest },
              facts: { breaking: false, changes: null, rebound: [] },
            },
          },
        },
      });
      expect(await verifiedLength(store, CHAIN)).toBe(1);
    });

    test('and is none leaves all as it was, with all problems told', async () => {
      const store = await opened();
      await push(store);
      const bad = manifestText().replace('"notify"', '"Notify"').replace('"1.0.0"', '"one"');
      const error = await push(store, bad).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ManifestError);
      expect((error as ManifestError).problems.map(({ code }) => code)).toEqual([
        'MANIFEST_AGENT_VERSION',
        'MANIFEST_TOOL_NAME',
      ]);
      const large = manifestText().replace('"1.0.0"', `"1.0.0+${'a'.repeat(131_072)}"`);
      await expect(push(store, large)).rejects.toMatchObject({ code: 'MANIFEST_TOO_LARGE', httpStatus: 413 });
      expect((await createManifests(store).versions(AGENT)).length).toBe(1);
      expect(await verifiedLength(store, CHAIN)).toBe(1);
    });

    test('with a key that was used is the same version, and with other content refused', async () => {
      const store = await opened();
      const first = await push(store, manifestText(), 'key-1');
      await push(store, manifestText({ notify: { words: 2 } }));
      const again = await push(store, ` ${manifestText()}`, 'key-1');
      expect([again.version, again.repeated, again.capsuleId]).toEqual([1, true, first.capsuleId]);
      const other = push(store, manifestText({ notify: { words: 3 } }), 'key-1');
      await expect(other).rejects.toMatchObject({ code: 'MANIFEST_KEY_REUSED' });
      expect((await createManifests(store).versions(AGENT)).length).toBe(2);
      expect(await verifiedLength(store, CHAIN)).toBe(2);
    });

    test('needs a name and a key that can be kept', async () => {
      const store = await opened();
      const manifests = createManifests(store);
      const by = { by: 'operator', record: recorderOf(store) };
      for (const agent of ['', 'a\0b', '\ud800', 'x'.repeat(513)])
        await expect(manifests.push(agent, manifestText(), by)).rejects.toMatchObject({
          code: 'MANIFEST_AGENT',
        });
      for (const idempotencyKey of ['', 'a b', 'é', 'x'.repeat(256)])
        await expect(manifests.push(AGENT, manifestText(), { ...by, idempotencyKey })).rejects.toMatchObject({
          code: 'MANIFEST_KEY',
        });
    });

    test('at once 20 times from two handles is 20 versions in a row; with one key it is one', async () => {
      const [a, b] = [await opened('twice'), await opened('twice')];
      const pushed = await Promise.all(Array.from({ length: 20 }, (_, i) => push(i % 2 === 0 ? a : b)));
      expect(pushed.map(({ version }) => version).toSorted((x, y) => x - y)).toEqual(
        Array.from({ length: 20 }, (_, i) => i + 1),
      );
      const keyed = await Promise.all(
        Array.from({ length: 6 }, (_, i) => push(i % 2 === 0 ? a : b, manifestText(), 'one')),
      );
      expect(keyed.map(({ version }) => version)).toEqual(new Array(6).fill(21));
      expect(keyed.filter(({ repeated }) => !repeated).length).toBe(1);
      expect(await verifiedLength(a, CHAIN)).toBe(21);
    });

    test('of one tenant has nothing to do with another', async () => {
      const [a, b] = [await opened(), await opened()];
      await push(a, manifestText(), 'key');
      await push(a);
      expect((await push(b, manifestText({ locate: { words: 2 } }), 'key')).version).toBe(1);
      expect(await createManifests(b).version(AGENT, 2)).toBe(null);
    });

    test('is not read back when it was altered in the store', async () => {
      const store = await opened();
      const { hash } = await push(store);
      const alter = (canonical: string) =>
        store.transaction(({ run, tenant }) =>
          run(
            "UPDATE manifest_content SET canonical = ? WHERE coalesce(tenant, '') = ?",
            canonical,
            tenant ?? '',
          ),
        );
      const wrong = {
        code: 'MANIFEST_STORED',
        message: `The store does not hold the manifest ${hash} as it was accepted.`,
      };
      await alter(manifestText({ notify: { words: 2 } }));
      await expect(createManifests(store).current(AGENT)).rejects.toMatchObject(wrong);
      await alter('{');
      await expect(createManifests(store).version(AGENT, 1)).rejects.toMatchObject(wrong);
      await expect(push(store)).rejects.toMatchObject(wrong);
    });
  });

  describe('the bindings of a manifest', () => {
    const FILES = '{"read_file":{"server":"files","tool":"read_text"}}';
    const bound = (server: string, tool: string) => ({ server, tool });
    const bind = (store: Store, ...edits: [string, { server: string; tool: string } | null][]) =>
      createManifests(store, { now: () => 1_790_000_000_000 }).bind(AGENT, new Map(edits), {
        by: 'ann',
        record: recorderOf(store),
      });

    test('come with a push, are carried over by the next, and another one is breaking', async () => {
      const store = await opened();
      const first = await push(store, manifestText(), undefined, FILES);
      expect(first.bindings).toMatchObject({ canonical: FILES, digest: sha256Hex(FILES) });
      const second = await push(store, manifestText({ locate: { words: 2 } }));
      expect([second.bindings.digest, second.breaking, second.rebound]).toEqual([
        sha256Hex(FILES),
        false,
        [],
      ]);
      const moved = FILES.replace('files', 'disk');
      const third = await push(store, manifestText({ locate: { words: 2 } }), undefined, moved);
      expect([third.diff, third.breaking, third.rebound]).toEqual([
        { breaking: [], non_breaking: [] },
        true,
        ['read_file'],
      ]);
      expect(third.capsule!.context.environment).toMatchObject({
        bulla: { facts: { breaking: true, rebound: ['read_file'] } },
      });
      expect((await createManifests(store).current(AGENT))!.bindings.canonical).toBe(moved);
    });

    test('are edited without a new version, each edit sealed and kept', async () => {
      const store = await opened();
      const { hash } = await push(store, manifestText(), undefined, FILES);
      const added = await bind(store, ['list_files', bound('files', 'ls')]);
      expect([added.version, added.breaking, added.rebound]).toEqual([1, false, []]);
      expect([...added.bindings.tools.keys()]).toEqual(['read_file', 'list_files']);
      expect(added.capsule).toMatchObject({
        type: 'auth',
        domain: 'admin',
        trigger: { source: 'ann', request: 'manifest bind desk' },
        context: {
          environment: {
            bulla: {
              manifest: { agent_id: AGENT, version: 1, hash, bindings: added.bindings.digest },
              facts: { breaking: false, rebound: [], tools: ['list_files'] },
            },
          },
        },
      });
      const removed = await bind(store, ['read_file', null]);
      expect([removed.breaking, removed.rebound]).toEqual([true, ['read_file']]);
      const kept = await createManifests(store).bindings(AGENT);
      expect(kept.map(({ rev, version, digest, by }) => [rev, version, digest, by])).toEqual([
        [1, 1, sha256Hex(FILES), 'operator'],
        [2, 1, added.bindings.digest, 'ann'],
        [3, 1, removed.bindings.digest, 'ann'],
      ]);
      expect((await createManifests(store).versions(AGENT)).length).toBe(1);
      expect(await verifiedLength(store, CHAIN)).toBe(3);
    });

    test('that are none leave all as it was', async () => {
      const store = await opened();
      await expect(bind(store, ['read_file', null])).rejects.toMatchObject({
        code: 'MANIFEST_NOT_FOUND',
      });
      await push(store, manifestText(), undefined, FILES);
      const code = (code: string) => expect.objectContaining({ code });
      await expect(bind(store, ['unheard_of', bound('a', 'b')])).rejects.toThrow(
        code('MANIFEST_BINDING_UNKNOWN'),
      );
      await expect(bind(store, ['unheard_of', null])).rejects.toThrow(code('MANIFEST_BINDING_UNKNOWN'));
      await expect(bind(store, ['list_files', bound('files', 'read_text')])).rejects.toThrow(
        code('MANIFEST_BINDING_TWICE'),
      );
      await expect(bind(store, ['list_files', bound('', 'ls')])).rejects.toThrow(code('MANIFEST_BINDING'));
      const other = push(store, manifestText(), undefined, '{"unheard_of":{"server":"a","tool":"b"}}');
      await expect(other).rejects.toThrow(code('MANIFEST_BINDING_UNKNOWN'));
      expect(await verifiedLength(store, CHAIN)).toBe(1);
    });

    test('at once from two handles are all kept', async () => {
      const [a, b] = [await opened('bound'), await opened('bound')];
      await push(a);
      const names = ['notify', 'read_file', 'list_files', 'locate'];
      await Promise.all(names.map((name, i) => bind(i % 2 === 0 ? a : b, [name, bound('s', name)])));
      const { bindings } = (await createManifests(a).current(AGENT))!;
      expect([...bindings.tools.keys()].toSorted()).toEqual(names.toSorted());
    });

    test('are not read back when they were altered in the store', async () => {
      const store = await opened();
      await push(store, manifestText(), undefined, FILES);
      await store.transaction(({ run, tenant }) =>
        run("UPDATE manifest_bindings SET canonical = '{}' WHERE coalesce(tenant, '') = ?", tenant ?? ''),
      );
      await expect(createManifests(store).current(AGENT)).rejects.toMatchObject({ code: 'MANIFEST_STORED' });
    });
  });
}
