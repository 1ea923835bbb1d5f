import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatVkey, noteVerifier, toHex } from '@bulla/core/crypto';
import { type JsonObject, parse } from '@bulla/core/json';
import { formatProof, leafData } from '@bulla/core/log';
import { expect, test } from 'vitest';
import { repo, temporaryFolder } from '../../test/run.ts';
import { input, key, sealer } from '../../test/store-suite.ts';
import { openStore, proveInclusion } from '../store/index.ts';
import { exportTiles } from './index.ts';

/** Where Debian puts Go's packages. */
const GOPATH = '/usr/share/gocode';
const hasGo =
  existsSync(join(GOPATH, 'src/golang.org/x/mod/sumdb/tlog')) && spawnSync('go', ['version']).status === 0;
if (!hasGo && process.env.BULLA_REQUIRE_GO === '1') throw new Error('BULLA_REQUIRE_GO=1, but there is no Go');

test.skipIf(!hasGo)(
  'Go’s own transparency-log packages accept our checkpoints, proofs and tiles',
  async () => {
    const folder = temporaryFolder();
    const store = await openStore({ url: join(folder, 's.db'), create: true, sealer });
    const chain = store.chain('c');
    await Promise.all(Array.from({ length: 700 }, (_, i) => chain.append(input(`n${i}`))));
    const records = (await Array.fromAsync(chain.records())).map(({ data }) => parse(data) as JsonObject);
    const { note, origin, size } = await chain.checkpoint();
    const leaves = async function* (from: number) {
      for (const record of records.slice(from)) yield leafData(record);
    };
    await exportTiles({ tiles: chain.tiles, leaves, checkpoint: note }, join(folder, 'tiles'));
    await store.close();

    const vkey = formatVkey(noteVerifier(origin, key));
    const env = { ...process.env, GO111MODULE: 'off', GOPATH, GOCACHE: join(folder, 'cache') };
    const program = join(folder, 'oracle');
    const built = spawnSync(
      'go',
      ['build', '-o', program, join(repo, 'packages/bulla/test/oracle/main.go')],
      { env },
    );
    expect([built.status, built.stderr.toString()]).toEqual([0, '']);
    const ask = (proof: string, leaf: Uint8Array) => {
      writeFileSync(join(folder, 'proof'), proof);
      const run = spawnSync(program, [vkey, join(folder, 'tiles'), join(folder, 'proof'), toHex(leaf)]);
      return run.stdout.toString();
    };
    for (const index of [0, 255, 256, 511, 699]) {
      const tree = await openStore({ url: join(folder, 's.db') });
      const hashes = await proveInclusion(tree.chain('c').tiles, index, size);
      await tree.close();
      const proof = formatProof({ extra: null, index, hashes, checkpoint: note });
      expect(ask(proof, leafData(records[index]!))).toBe('ok 700\n');
      expect(ask(proof, leafData(records[(index + 1) % 700]!))).toMatch(/^invalid transparency proof/);
      expect(ask(proof.replace(/\n700\n/, '\n701\n'), leafData(records[index]!))).toMatch(
        /^invalid signature/,
      );
    }
  },
);
