import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** One line of a bench's output. `ratio` compares with a peer or limit that ran interleaved with it. */
export interface Row {
  bench: string;
  case: string;
  value: number;
  unit: string;
  ratio: number;
  against: string;
}

const ROUNDS = 15;
const SAMPLE_MS = 25;

function sample(work: () => unknown, runs: number): number {
  const start = performance.now();
  for (let i = 0; i < runs; i++) keep = work();
  return (performance.now() - start) / runs;
}
/** Results are kept, so that the engine cannot leave the work out. */
export let keep: unknown;

function calibrate(work: () => unknown): number {
  let runs = 1;
  for (;;) {
    const ms = sample(work, runs) * runs;
    if (ms >= SAMPLE_MS || runs > 1e7)
      return Math.max(1, Math.round((runs * SAMPLE_MS) / Math.max(ms, 0.01)));
    runs *= 4;
  }
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1]!;
}

/** Milliseconds a run, the works taking turns; for each the median of all rounds, after one to warm up. */
export function interleave<Name extends string>(works: Record<Name, () => unknown>): Record<Name, number[]> {
  const names = Object.keys(works) as Name[];
  const runs = Object.fromEntries(names.map((name) => [name, calibrate(works[name])])) as Record<
    Name,
    number
  >;
  const times = Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Name, number[]>;
  for (let round = 0; round <= ROUNDS; round++) {
    for (const name of names) {
      const ms = sample(works[name], runs[name]);
      if (round > 0) times[name].push(ms);
    }
  }
  return times;
}

/** Compares our work with peers: operations a second, and how many of the peer's operations one of ours is worth. */
export function compare(
  bench: string,
  name: string,
  ours: () => unknown,
  peers: Record<string, () => unknown>,
): Row[] {
  const times = interleave({ ours, ...peers } as Record<string, () => unknown>);
  return Object.keys(peers).map((peer) => ({
    bench,
    case: name,
    value: Math.round(1000 / median(times.ours!)),
    unit: 'op/s',
    ratio: round3(median(times[peer]!.map((ms, i) => ms / times.ours![i]!))),
    against: peer,
  }));
}

export function round3(value: number): number {
  return Math.round(value * 1000) / 1000;
}

/** Writes of so many bytes that each wait for the disk, a second. */
export function fdatasyncRate(folder: string, bytes = 2048): number {
  const file = openSync(join(folder, 'fsync'), 'w');
  const block = Buffer.alloc(bytes, 1);
  const started = performance.now();
  let count = 0;
  while (performance.now() - started < 400) {
    writeSync(file, block);
    fdatasyncSync(file);
    count++;
  }
  closeSync(file);
  return (count * 1000) / (performance.now() - started);
}
