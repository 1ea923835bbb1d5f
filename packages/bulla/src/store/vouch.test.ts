import { createHash } from 'node:crypto';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCapsule, sealSync } from '@bulla/core/capsule';
import { localSigner, publicKey, qpLabel, toHex, toUtf8 } from '@bulla/core/crypto';
import { Frontier, leafData, leafHash, readAnchor, signCheckpoint } from '@bulla/core/log';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { input, sealer } from '../../test/store-suite.ts';
import { storeSource, verifyChain } from '../chain/index.ts';
import { parseKeyring } from '../keys/index.ts';
import { openStore } from './index.ts';
import { grow } from './tree.ts';

const key = publicKey('Ed25519', sealer().signer.publicKey);
const stranger = localSigner('Ed25519', new Uint8Array(32).fill(77));

async function chainOf(count: number): Promise<string> {
  const file = join(temporaryFolder(), 'store.db');
  const store = await openStore({ url: file, create: true, sealer, operator: 'op.example' });
  for (let i = 0; i < count; i++) await store.chain('c').append(input(`n${i}`));
  await store.close();
  return file;
}

/** What somebody who can write to the database, and has no key, does: a whole record with its leaf and tree. */
function forge(file: string, changed: (text: string) => string, signer = stranger): void {
  const db = new Database(file);
  const { length, head_hash, tree } = db.prepare('SELECT length, head_hash, tree FROM chain').get() as {
    length: number;
    head_hash: string;
    tree: Uint8Array;
  };
  const content = createCapsule(input('never happened'), {
    id: '00000000-0000-4000-8000-000000000000',
    now: new Date('2026-05-01T00:00:00Z'),
  });
  const placed = { ...content, sequence: length, previous_hash: head_hash };
  const { sealed, text } = sealSync(placed, signer, { signedAt: new Date('2026-05-01T00:00:00Z') });
  const ours = Buffer.from(sealer().signer.publicKey.subarray(0, 8)).toString('hex');
  const forged = { ...sealed, signed_by: ours };
  const data = changed(text.replace(`"signed_by":"${sealed.signed_by}"`, `"signed_by":"${ours}"`));
  const leaf = leafHash(leafData(forged));
  const grown = grow({ length, tree }, [leaf]);
  db.prepare('INSERT INTO record (chain_key, sequence, hash, data, leaf) VALUES (1, ?, ?, ?, ?)').run(
    ...[length, sealed.hash, data, leaf],
  );
  db.prepare('UPDATE chain SET length = ?, head_hash = ?, tree = ?').run(length + 1, sealed.hash, grown.tree);
  db.close();
}

test('no checkpoint is signed over a record that none of our keys signed, by whoever appends next', async () => {
  const file = await chainOf(3);
  forge(file, (text) => text);
  const errors: unknown[] = [];
  const store = await openStore({ url: file, sealer, onCheckpointError: (error) => errors.push(error) });
  const chain = store.chain('c');
  await chain.append(input('adopts it'));
  const refused = {
    code: 'CHECKPOINT_UNVERIFIED',
    message:
      'No checkpoint is signed: this program did not seal record 3 of the chain c, and does not find it good: The signature is not one of the hash by this key. [invalid_signature]',
  };
  await expect(chain.checkpoint()).rejects.toMatchObject(refused);
  const anchors = (await chain.checkpoints()).map(({ note }) => readAnchor(note, { keys: [key] }));
  expect(anchors.map(({ checkpoint }) => checkpoint.size)).toEqual([3]);
  const report = await verifyChain(await storeSource(chain), {
    keys: [key],
    anchors: { anchors },
    byCheckpoint: true,
  });
  expect(report.failures.map(({ index, code }) => [index, code])).toEqual([[3, 'invalid_signature']]);
  await store.close();
  expect(errors).toMatchObject([refused]);
});

test.each([
  [
    'content that has another hash',
    (text: string) => text.replace('never happened', 'never'),
    /\[hash_mismatch\]$/,
  ],
  ['no JSON', () => '{', /it cannot be read \(JSON_\w+\)\.$/],
  ['no object', () => '[]', /it is no capsule\.$/],
] as const)('nor over %s', async (_, changed, why) => {
  const file = await chainOf(1);
  forge(file, changed);
  const store = await openStore({ url: file, sealer });
  await expect(store.chain('c').checkpoint()).rejects.toMatchObject({
    code: 'CHECKPOINT_UNVERIFIED',
    message: expect.stringMatching(why),
  });
  await store.close();
});

test('nor where the tree was altered, or a checkpoint that nobody signed pretends to cover the record', async () => {
  const file = await chainOf(2);
  const tampered = `${file}.tampered.db`;
  copyFileSync(file, tampered);
  const db = new Database(tampered);
  const other = new Frontier();
  for (const name of ['x', 'y']) other.push(createHash('sha256').update(name).digest());
  db.prepare('UPDATE chain SET tree = ?').run(other.toBytes());
  db.exec('DELETE FROM checkpoint');
  db.close();
  const store = await openStore({ url: tampered, sealer, checkpoints: temporaryFolder() });
  await expect(store.chain('c').checkpoint()).rejects.toMatchObject({
    code: 'CHECKPOINT_UNVERIFIED',
    message: 'No checkpoint is signed: the tree of the chain c is not made of its records.',
  });
  await store.close();

  forge(file, (text) => text);
  const pretending = new Database(file);
  const { tree } = pretending.prepare('SELECT tree FROM chain').get() as { tree: Uint8Array };
  const root = Buffer.from(Frontier.fromBytes(3, tree).root()).toString('base64');
  const signature = Buffer.alloc(68, 1).toString('base64');
  const note = `op.example/-/c\n3\n${root}\n\n— op.example/-/c ${signature}\n`;
  pretending
    .prepare('INSERT INTO checkpoint (chain_key, origin, size, note) VALUES (1, ?, 3, ?)')
    .run(...['op.example/-/c', note]);
  pretending.close();
  const fooled = await openStore({ url: file, sealer });
  await expect(fooled.chain('c').checkpoint()).rejects.toMatchObject({ code: 'CHECKPOINT_UNVERIFIED' });
  await fooled.close();
});

// One key is revoked because it was stolen; the thief can also write to the database.
const stolen = localSigner('Ed25519', new Uint8Array(32).fill(66));
const epochOfKey = (bytes: Uint8Array, epoch: number, isStolen: boolean) => {
  const at = '2026-01-01T00:00:00.000000+00:00';
  return {
    epoch,
    algorithm: 'ed25519',
    public_key_hex: toHex(bytes),
    fingerprint: qpLabel(publicKey('Ed25519', bytes)),
    created_at: at,
    rotated_at: isStolen ? at : null,
    status: isStolen ? 'retired' : 'active',
    ...(isStolen && { revoked_at: at, revoked_reason: 'stolen' }),
  };
};
const keyring = parseKeyring(
  toUtf8(
    JSON.stringify({
      version: 1,
      active_epoch: 1,
      epochs: [epochOfKey(stolen.publicKey, 0, true), epochOfKey(sealer().signer.publicKey, 1, false)],
    }),
  ),
);
const withKeyring = () => ({ ...sealer(), keyring });

test('nor over a record of a revoked key under the name of another, which would hide who signed', async () => {
  const file = await chainOf(2);
  forge(file, (text) => text, stolen);
  const store = await openStore({ url: file, sealer: withKeyring, onCheckpointError: () => undefined });
  await store.chain('c').append(input('adopts it'));
  await expect(store.chain('c').checkpoint()).rejects.toMatchObject({
    code: 'CHECKPOINT_UNVERIFIED',
    message:
      'No checkpoint is signed: this program did not seal record 2 of the chain c, and does not find it good: it names another key than the one that signed it.',
  });
  await store.close();
});

test('nor on the word of a checkpoint that a revoked key signed', async () => {
  const file = await chainOf(2);
  forge(file, (text) => text);
  const db = new Database(file);
  const { tree } = db.prepare('SELECT tree FROM chain').get() as { tree: Uint8Array };
  const origin = 'op.example/-/c';
  const root = Frontier.fromBytes(3, tree).root();
  const note = await signCheckpoint({ origin, size: 3, root, extensions: [] }, [
    { name: origin, signer: stolen },
  ]);
  db.prepare('INSERT INTO checkpoint (chain_key, origin, size, note) VALUES (1, ?, 3, ?)').run(origin, note);
  db.close();
  const store = await openStore({ url: file, sealer: withKeyring, onCheckpointError: () => undefined });
  // Neither is it given out as our newest, …
  await expect(store.chain('c').checkpoint()).rejects.toMatchObject({ code: 'CHECKPOINT_UNVERIFIED' });
  // … nor signed over with what is appended.
  await store.chain('c').append(input('adopts it'));
  await expect(store.chain('c').checkpoint()).rejects.toMatchObject({ code: 'CHECKPOINT_UNVERIFIED' });
  await store.close();
});

test('records of another process that one of our keys signed are verified and covered', async () => {
  const file = await chainOf(2);
  const [one, two] = [await openStore({ url: file, sealer }), await openStore({ url: file, sealer })];
  for (let i = 0; i < 3; i++) {
    await one.chain('c').append(input(`one ${i}`));
    await two.chain('c').append(input(`two ${i}`));
  }
  expect((await one.chain('c').checkpoint()).size).toBe(8);
  await two.chain('c').append(input('last'));
  expect((await two.chain('c').checkpoint()).size).toBe(9);
  await Promise.all([one.close(), two.close()]);
});

test('what this process adopted it has verified, whoever signed it', async () => {
  const foreign = join(temporaryFolder(), 'foreign.db');
  const theirs = await openStore({
    ...{ url: foreign, create: true, operator: 'op.example' },
    sealer: () => ({ signer: stranger }),
  });
  for (let i = 0; i < 4; i++) await theirs.chain('c').append(input(`n${i}`));
  const rows = await Array.fromAsync(theirs.chain('c').records());
  await theirs.close();
  const url = join(temporaryFolder(), 'store.db');
  for (const part of [rows.slice(0, 2), rows.slice(2)]) {
    const store = await openStore({ url, create: true, sealer, operator: 'op.example' });
    await store.chain('c').adopt(part);
    expect((await store.chain('c').checkpoint()).size).toBe(part.at(-1)!.sequence + 1);
    await store.close();
  }
});
