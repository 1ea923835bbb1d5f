import { createPrivateKey, createPublicKey, sign as nodeSign, verify as nodeVerify } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCapsule, sealSync } from '@bulla/core/capsule';
import {
  localSigner,
  type PublicKey,
  privateKey,
  publicKey,
  writePrivateKey,
  writePublicKey,
} from '@bulla/core/crypto';
import { environmentOf } from '@bulla/core/evidence';
import { openSource, verifyChain } from '../packages/bulla/src/chain/index.ts';
import { openStore } from '../packages/bulla/src/store/index.ts';
import { compare, fdatasyncRate, median, type Row, round3 } from './measure.ts';

// A test key.
const seed = new Uint8Array(32).fill(9);
const signer = localSigner('Ed25519', seed);
export const key: PublicKey = publicKey('Ed25519', signer.publicKey);
const bare = createPrivateKey(writePrivateKey(privateKey('Ed25519', seed), 'pem'));
const barePublic = createPublicKey(writePublicKey(key, 'pem'));
const message = new Uint8Array(64).fill(1);

const input = (i: number) => ({
  type: 'tool' as const,
  domain: 'gateway',
  trigger: { type: 'agent' as const, source: 'desktop-host 2.4', request: 'tools/call files/write_file' },
  context: {
    agent_id: 'release-bot',
    session_id: 'b7a0',
    environment: environmentOf({
      tool: { server: 'files', name: 'write_file' },
      args: { commitment: 'c0535e4be2b79ffd93291305436bf889314e4a3faec05ecffcbb7df31ad9e51a', of: 'jcs' },
    }),
  },
  outcome: { status: 'success' as const, summary: `wrote file ${i}` },
});
const now = new Date('2026-03-01T00:00:00Z');
const capsuleAt = (i: number, previous: string | null) =>
  createCapsule(
    { ...input(i), sequence: i, previous_hash: previous },
    { id: `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`, now },
  );

export function* sealedChain(length: number): Generator<string> {
  let previous: string | null = null;
  for (let i = 0; i < length; i++) {
    const { sealed, text } = sealSync(capsuleAt(i, previous), signer, { signedAt: now });
    previous = sealed.hash;
    yield text;
  }
}

export async function capsule(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bulla-bench-'));
  try {
    return [...sealing(), ...(await appending(folder)), ...(await verifying(folder))];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function sealing(): Row[] {
  const capsules = Array.from({ length: 64 }, (_, i) => capsuleAt(i + 1, 'a'.repeat(64)));
  let next = 0;
  return compare(
    'capsule',
    'seal in memory, one thread',
    () => sealSync(capsules[next++ % 64]!, signer, { signedAt: now }),
    {
      'node:crypto Ed25519 sign': () => nodeSign(null, message, bare),
    },
  );
}

function sealRate(): number {
  const started = performance.now();
  let count = 0;
  for (; performance.now() - started < 400; count++)
    sealSync(capsuleAt(count + 1, 'a'.repeat(64)), signer, { signedAt: now });
  return (count * 1000) / (performance.now() - started);
}

/** Appends from so many callers at once, a second. */
export async function appendRate(
  append: (i: number) => Promise<unknown>,
  callers: number,
  ms: number,
): Promise<number> {
  const started = performance.now();
  let count = 0;
  const caller = async () => {
    while (performance.now() - started < ms) await append(count++);
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return (count * 1000) / (performance.now() - started);
}

async function appending(folder: string): Promise<Row[]> {
  const store = await openStore({ url: join(folder, 'store.db'), create: true, sealer: () => ({ signer }) });
  const chain = store.chain('bench');
  const rates: number[] = [];
  const disk: number[] = [];
  const seals: number[] = [];
  await appendRate((i) => chain.append(input(i)), 64, 300);
  for (let round = 0; round < 7; round++) {
    disk.push(fdatasyncRate(folder));
    rates.push(await appendRate((i) => chain.append(input(i)), 64, 800));
    seals.push(sealRate());
  }
  // The same chain, short and long: 10³ against as many records as the rounds above have made, and 10⁶ in `store`.
  await store.close();
  const value = Math.round(median(rates));
  const ratio = (against: number[]) => round3(median(rates.map((rate, i) => rate / against[i]!)));
  return [
    {
      bench: 'capsule',
      case: 'durable append, one chain, 64 callers, SQLite',
      value,
      unit: 'records/s',
      ratio: ratio(disk),
      against: 'fdatasync of 2 KB',
    },
    {
      bench: 'capsule',
      case: 'durable append, sustained',
      value,
      unit: 'records/s',
      ratio: ratio(seals),
      against: 'seal rate',
    },
  ];
}

async function verifying(folder: string): Promise<Row[]> {
  const count = 100_000;
  const file = join(folder, 'chain.jsonl');
  let text = '';
  writeFileSync(file, '');
  for (const line of sealedChain(count)) {
    text += `${line}\n`;
    if (text.length > 1 << 24) {
      writeFileSync(file, text, { flag: 'a' });
      text = '';
    }
  }
  writeFileSync(file, text, { flag: 'a' });
  const signature = nodeSign(null, message, bare);
  const rates: number[] = [];
  const limits: number[] = [];
  for (let round = 0; round < 3; round++) {
    const bareStart = performance.now();
    let verified = 0;
    for (; performance.now() - bareStart < 1000; verified++) nodeVerify(null, message, barePublic, signature);
    limits.push((verified * 1000) / (performance.now() - bareStart));
    const started = performance.now();
    const report = await verifyChain(openSource(file), { keys: [key] });
    if (!report.ok || report.count !== count) throw new Error('the chain does not verify');
    rates.push((count * 1000) / (performance.now() - started));
  }
  return [
    {
      bench: 'capsule',
      case: 'full verification of 100,000 capsules, all cores',
      value: Math.round(median(rates)),
      unit: 'records/s',
      ratio: round3(median(rates.map((rate, i) => rate / limits[i]!))),
      against: 'node:crypto verify, one thread',
    },
  ];
}
