import { Session } from 'node:inspector';

/** Something that reads what others write: an input of about so many items, and what is done with it. */
export interface Reader<Input = unknown> {
  readonly name: string;
  readonly input: (items: number) => Input;
  readonly read: (input: Input) => unknown;
  /** How many items the smaller of two inputs has. Default 500. */
  readonly from?: number;
}

export function reader<Input>(
  name: string,
  input: (items: number) => Input,
  read: (input: Input) => unknown,
  from?: number,
): Reader {
  return { name, input, read, from } as Reader;
}

/** By which power of the size of the input the work grows. */
export interface Growth {
  readonly name: string;
  readonly exponent: number;
}

/** A refusal is an answer too; what it cost counts. */
async function attempt(read: () => unknown): Promise<void> {
  try {
    await read();
  } catch {}
}

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
  }[];
}

/** Our sources; what is asked of them, such as this file, does not count. */
const OURS = /\/packages\/(?:core|bulla)\/src\//;

/** Without these, the engine loses some counts of what it optimises. */
export const COUNTING: readonly string[] = [
  '--no-opt',
  '--no-maglev',
  '--no-flush-bytecode',
  '--no-lazy-feedback-allocation',
];

const counting = process.argv.includes('--steps') ? startCounting() : null;

/**
 * Blocks are counted only in functions that are compiled afterwards; in others, only calls are, and no loop is seen. So
 * this module is loaded before the sources (`--import`), and refuses to come later.
 */
function startCounting(): Session {
  const session = new Session();
  session.connect();
  let isEarly = false;
  session.post('Profiler.enable');
  session.post('Profiler.getBestEffortCoverage', (_error: Error | null, found: Coverage) => {
    isEarly = !found.result.some(({ url }) => OURS.test(url));
  });
  if (!isEarly) throw new Error('The sources were loaded before their steps could be counted.');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  return session;
}

/**
 * Reads inputs that double in size, and counts how often each block of our sources runs: the same number every time,
 * whatever else the machine does. Loops of the engine, such as those of regular expressions, are not counted.
 */
export async function growthInSteps(readers: readonly Reader[]): Promise<Growth[]> {
  const session = counting!;
  const ask = (method: string, parameters?: object) =>
    new Promise<unknown>((resolve, reject) =>
      session.post(method, parameters as never, (error: Error | null, result: unknown) =>
        error === null ? resolve(result) : reject(error),
      ),
    );
  const stepsOf = async (action: () => unknown): Promise<number> => {
    await ask('Profiler.takePreciseCoverage'); // sets the counters back
    await attempt(action);
    const { result } = (await ask('Profiler.takePreciseCoverage')) as Coverage;
    let steps = 0;
    for (const { url, functions } of result) {
      if (!OURS.test(url)) continue;
      for (const { ranges } of functions) for (const { count } of ranges) steps += count;
    }
    return steps;
  };
  const growths: Growth[] = [];
  for (const { name, input, read, from = 500 } of readers) {
    const [small, half, whole] = [input(Math.ceil(from / 10)), input(from), input(2 * from)];
    // What is done once in a process, such as filling a table, does not count.
    await attempt(() => read(small));
    const first = await stepsOf(() => read(half));
    const second = await stepsOf(() => read(whole));
    growths.push({ name, exponent: Math.log2(second / first) });
  }
  return growths;
}

/** The same by time, which counts everything; only where nobody waits, because time decides. */
export async function growthInTime(readers: readonly Reader[]): Promise<Growth[]> {
  const growths: Growth[] = [];
  for (const { name, input, read, from = 500 } of readers) {
    const seconds = async (items: number) => {
      const given = input(items);
      let best = Number.POSITIVE_INFINITY;
      for (let i = 0; i < 3; i++) {
        const start = performance.now();
        await attempt(() => read(given));
        best = Math.min(best, performance.now() - start);
      }
      return best;
    };
    // Inputs are large enough for the growth to show over what a call costs anyway.
    let items = from;
    while (items < from * 1024 && (await seconds(items)) < 20) items *= 2;
    const points: [number, number][] = [];
    for (let i = 0; i < 4; i++) points.push([Math.log2(items << i), Math.log2(await seconds(items << i))]);
    growths.push({ name, exponent: slope(points) });
  }
  return growths;
}

/** The exponent that fits the points best, by least squares. */
function slope(points: readonly [number, number][]): number {
  const mean = (at: 0 | 1) => points.reduce((sum, point) => sum + point[at], 0) / points.length;
  const [x, y] = [mean(0), mean(1)];
  const over = points.reduce((sum, [a, b]) => sum + (a - x) * (b - y), 0);
  return over / points.reduce((sum, [a]) => sum + (a - x) ** 2, 0);
}

/** Prints the growth of each reader as a line of JSON; by time with `--time`. */
export async function printGrowth(readers: readonly Reader[]): Promise<void> {
  const growth = process.argv.includes('--time') ? growthInTime : growthInSteps;
  for (const line of await growth(readers)) console.log(JSON.stringify(line));
}
