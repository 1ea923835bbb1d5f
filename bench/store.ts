import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { localSigner } from '@bulla/core/crypto';
import { openStore, type Row as StoredRow } from '../packages/bulla/src/store/index.ts';
import { hasPostgres, startPostgres } from '../packages/bulla/test/postgres.ts';
import { appendRate } from './capsule.ts';
import { median, type Row, round3 } from './measure.ts';

// A test key.
const signer = localSigner('Ed25519', new Uint8Array(32).fill(9));
const sealer = () => ({ signer });
const input = (i: number) => ({
  type: 'tool' as const,
  outcome: { status: 'success' as const, summary: `record ${i}` },
});

export async function store(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bulla-bench-'));
  try {
    return [...(await growth(folder)), ...(hasPostgres ? await postgres() : [])];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Appends to a chain of a thousand and to one of a million records; the long one is filled without sealing. */
async function growth(folder: string): Promise<Row[]> {
  const opened = await openStore({ url: join(folder, 'growth.db'), create: true, sealer });
  // The first record names the log of its chain, and can stand in no other one.
  await opened.chain('short').append(input(0));
  const sample = await opened.chain('short').append(input(1));
  const data = JSON.stringify(sample);
  const fill = async (name: string, from: number, to: number) => {
    for (let at = from; at < to; at += 5000) {
      const rows: StoredRow[] = Array.from({ length: Math.min(5000, to - at) }, (_, i) => ({
        sequence: at + i,
        hash: sample.hash,
        data,
      }));
      await opened.chain(name).adopt(rows);
    }
  };
  await fill('short', 2, 1000);
  await fill('long', 0, 1_000_000);
  const [short, long]: [number[], number[]] = [[], []];
  await appendRate((i) => opened.chain('long').append(input(i)), 64, 500);
  for (let round = 0; round < 7; round++) {
    short.push(await appendRate((i) => opened.chain('short').append(input(i)), 64, 500));
    long.push(await appendRate((i) => opened.chain('long').append(input(i)), 64, 500));
  }
  await opened.close();
  const ratio = round3(median(short.map((rate, i) => rate / long[i]!)));
  return [
    {
      bench: 'store',
      case: 'append at a million records',
      value: Math.round(median(long)),
      unit: 'records/s',
      ratio,
      against: 'time of an append at a thousand records',
    },
  ];
}

async function postgres(): Promise<Row[]> {
  const server = await startPostgres();
  try {
    const url = server.database('bench');
    const opened = await openStore({ url, create: true, sealer });
    const one = (i: number) => opened.chain('one').append(input(i));
    const many = (i: number) => opened.chain(`chain-${i % 64}`).append(input(i));
    await appendRate(one, 64, 1000);
    await appendRate(many, 64, 1000);
    const rounds: { one: number; many: number; single: number; parallel: number }[] = [];
    const pgbench = server.pgbench(
      'bench',
      'CREATE TABLE IF NOT EXISTS plain (id BIGSERIAL PRIMARY KEY, data TEXT)',
      `INSERT INTO plain (data) VALUES (repeat('x', 1200));`,
    );
    for (let round = 0; round < 5; round++) {
      rounds.push({
        single: pgbench(1, 2),
        one: await appendRate(one, 64, 2000),
        parallel: pgbench(32, 2),
        many: await appendRate(many, 64, 2000),
      });
    }
    await opened.close();
    const row = (name: string, mine: 'one' | 'many', peer: 'single' | 'parallel', against: string): Row => ({
      bench: 'store',
      case: `PostgreSQL, 64 callers, ${name}`,
      value: Math.round(median(rounds.map((round) => round[mine]))),
      unit: 'records/s',
      ratio: round3(median(rounds.map((round) => round[mine] / round[peer]))),
      against,
    });
    return [
      row('one chain', 'one', 'single', 'pgbench single insert, 1 client'),
      row('64 chains', 'many', 'parallel', 'pgbench single insert, 32 clients'),
    ];
  } finally {
    await server.stop();
  }
}
