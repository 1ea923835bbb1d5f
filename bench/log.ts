import { createPublicKey, verify as nodeVerify, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Capsule,
  createCapsule,
  hashCapsule,
  type SealedCapsule,
  signHashed,
  verifyCapsule,
} from '@bulla/core/capsule';
import { localSigner, publicKey, sha256, toUtf8, writePublicKey } from '@bulla/core/crypto';
import { type JsonObject, parse } from '@bulla/core/json';
import { Frontier, leafData, leafHash, readAnchor, signCheckpoint } from '@bulla/core/log';
import Database from 'better-sqlite3';
import { openSource, verifyChain } from '../packages/bulla/src/chain/index.ts';
import { exportTiles, openPublished } from '../packages/bulla/src/log/index.ts';
import { openStore, proveInclusion, type TileSource } from '../packages/bulla/src/store/index.ts';
import { appendRate, sealedChain } from './capsule.ts';
import { median, type Row, round3 } from './measure.ts';

// A test key.
const signer = localSigner('Ed25519', new Uint8Array(32).fill(9));
const key = publicKey('Ed25519', signer.publicKey);
const input = (i: number) => ({
  type: 'tool' as const,
  outcome: { status: 'success' as const, summary: `record ${i}` },
});

export async function log(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bulla-bench-'));
  try {
    return [...(await appending(folder)), ...(await verifying(folder)), ...(await proving(folder))];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The store, and the same records queued, sealed, signed, stored and acknowledged without a tree. */
async function appending(folder: string): Promise<Row[]> {
  const store = await openStore({ url: join(folder, 'with.db'), create: true, sealer: () => ({ signer }) });
  const chain = store.chain('bench');
  const withTree = (i: number) => chain.append(input(i));

  const db = new Database(join(folder, 'without.db'));
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec(`CREATE TABLE chain (name TEXT PRIMARY KEY, length INTEGER, head_hash TEXT);
    INSERT INTO chain VALUES ('bench', 0, NULL);
    CREATE TABLE record (record_key INTEGER PRIMARY KEY, chain_key INTEGER, sequence INTEGER, hash TEXT, data TEXT);
    CREATE UNIQUE INDEX by_sequence ON record (chain_key, sequence);`);
  const add = db.prepare('INSERT INTO record (chain_key, sequence, hash, data) VALUES (1, ?, ?, ?)');
  const move = db.prepare("UPDATE chain SET length = ?, head_hash = ? WHERE name = 'bench'");
  const head = db.prepare("SELECT length, head_hash FROM chain WHERE name = 'bench'");
  const commit = db.transaction((rows: { sequence: number; hash: string; data: string }[]) => {
    head.get();
    for (const { sequence, hash, data } of rows) add.run(sequence, hash, data);
    move.run(rows.at(-1)!.sequence + 1, rows.at(-1)!.hash);
  });
  let previous: string | null = null;
  let length = 0;
  let queue: { capsule: Capsule; resolve(sealed: SealedCapsule): void }[] = [];
  const flush = async () => {
    const batch = queue;
    queue = [];
    const signedAt = new Date();
    const hashed = batch.map(({ capsule }) => {
      const content = hashCapsule({ ...capsule, sequence: length, previous_hash: previous });
      previous = content.hash;
      return { content, sequence: length++ };
    });
    const signed = await Promise.all(hashed.map(({ content }) => signHashed(content, signer, { signedAt })));
    commit.immediate(
      signed.map(({ sealed, text }, i) => ({ sequence: hashed[i]!.sequence, hash: sealed.hash, data: text })),
    );
    for (const [i, { resolve }] of batch.entries()) resolve(signed[i]!.sealed);
  };
  const withoutTree = (i: number) =>
    new Promise<SealedCapsule>((resolve) => {
      const capsule = createCapsule(input(i), { id: randomUUID(), now: new Date() });
      if (queue.push({ capsule, resolve }) === 1) setImmediate(flush);
    });

  const rate = (work: (i: number) => Promise<unknown>) => appendRate(work, 64, 600);
  await rate(withTree);
  await rate(withoutTree);
  const rounds: { tree: number; none: number }[] = [];
  for (let round = 0; round < 9; round++)
    rounds.push({ tree: await rate(withTree), none: await rate(withoutTree) });
  await store.close();
  db.close();
  return [
    {
      bench: 'log',
      case: 'durable append with the tree and checkpoints',
      value: Math.round(median(rounds.map(({ tree }) => tree))),
      unit: 'records/s',
      ratio: round3(median(rounds.map(({ tree, none }) => tree / none))),
      against: 'append without them, 64 callers',
    },
  ];
}

/** One signature and every hash, against every hash and every signature. */
async function verifying(folder: string): Promise<Row[]> {
  const count = 100_000;
  const lines = [...sealedChain(count)];
  const file = join(folder, 'chain.jsonl');
  writeFileSync(file, `${lines.join('\n')}\n`);
  const tree = new Frontier();
  for (const line of lines) tree.push(leafHash(leafData(parse(line) as JsonObject)));
  const checkpoint = { origin: 'bench.example', size: count, root: tree.root(), extensions: [] };
  const note = await signCheckpoint(checkpoint, [{ name: 'bench.example', signer }]);
  const anchors = { anchors: [readAnchor(note, { keys: [key] })] };

  const bareKey = createPublicKey(writePublicKey(key, 'pem'));
  const withNodeCrypto = () => {
    for (const line of lines) {
      const record = parse(line) as JsonObject;
      if (!verifyCapsule(record, { keys: [key], signatures: 'by checkpoint' }).ok)
        throw new Error('bad hash');
      const signature = Buffer.from(record.get('signature') as string, 'hex');
      if (!nodeVerify(null, toUtf8(record.get('hash') as string), bareKey, signature))
        throw new Error('bad signature');
    }
  };
  const byCheckpoint = async (threads: number) => {
    const report = await verifyChain(openSource(file), { keys: [key], anchors, byCheckpoint: true, threads });
    if (!report.ok || report.count !== count) throw new Error('the chain does not verify');
  };
  const seconds = async (work: () => unknown) => {
    const started = performance.now();
    await work();
    return (performance.now() - started) / 1000;
  };
  const rounds: { one: number; all: number; full: number; ours: number }[] = [];
  for (let round = 0; round < 3; round++) {
    rounds.push({
      full: await seconds(withNodeCrypto),
      one: await seconds(() => byCheckpoint(0)),
      all: await seconds(() => byCheckpoint(2)),
      ours: await seconds(() => verifyChain(openSource(file), { keys: [key], threads: 2 })),
    });
  }
  const row = (name: string, mine: 'one' | 'all', peer: 'full' | 'ours', against: string): Row => ({
    bench: 'log',
    case: `hash-and-checkpoint verification of 100,000, ${name}`,
    value: Math.round(count / median(rounds.map((round) => round[mine]))),
    unit: 'records/s',
    ratio: round3(median(rounds.map((round) => round[peer] / round[mine]))),
    against,
  });
  return [
    row('one thread', 'one', 'full', 'full verification with node:crypto, one thread'),
    row('two threads', 'all', 'full', 'full verification with node:crypto, one thread'),
    row('two threads', 'all', 'ours', 'our full verification, two threads'),
  ];
}

/** Proofs from tiles in a folder, for a short and for a long log. */
async function proving(folder: string): Promise<Row[]> {
  const publish = async (size: number) => {
    const levels: Uint8Array[][] = [[], [], [], []];
    const tree = new Frontier();
    for (let i = 0; i < size; i++) {
      const leaf = sha256(toUtf8(String(i)));
      levels[0]!.push(leaf);
      tree.push(leaf, (height, _, hash) => {
        if (height % 8 === 0) levels[height / 8]!.push(hash);
      });
    }
    const tiles: TileSource = {
      tile: async (level, index, width) =>
        Buffer.concat(levels[level]!.slice(index * 256, index * 256 + width)),
    };
    const origin = `bench.example/${size}`;
    const note = await signCheckpoint({ origin, size, root: tree.root(), extensions: [] }, [
      { name: origin, signer },
    ]);
    const target = join(folder, String(size));
    const leaves = async function* () {
      for (let i = 0; i < size; i++) yield toUtf8(String(i));
    };
    await exportTiles({ tiles, leaves, checkpoint: note }, target);
    return openPublished(target);
  };
  const sizes = [1000, 1_000_000] as const;
  const logs = [await publish(sizes[0]), await publish(sizes[1])] as const;
  const proofs = async (which: 0 | 1) => {
    const started = performance.now();
    for (let i = 0; i < 300; i++) await proveInclusion(logs[which], (i * 7919) % sizes[which], sizes[which]);
    return (performance.now() - started) / 300;
  };
  await proofs(0);
  await proofs(1);
  const rounds: { short: number; long: number }[] = [];
  for (let round = 0; round < 9; round++) rounds.push({ short: await proofs(0), long: await proofs(1) });
  return [
    {
      bench: 'log',
      case: 'inclusion proof at 10⁶ leaves, from tiles',
      value: Math.round(1000 / median(rounds.map(({ long }) => long))),
      unit: 'proofs/s',
      ratio: round3(median(rounds.map(({ short, long }) => long / short))),
      against: 'time of one at 10³ leaves',
    },
  ];
}
