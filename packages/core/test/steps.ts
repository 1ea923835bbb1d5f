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

/** No reader may cost more than this power of the size of what it reads. */
export const STEEP = 1.2;

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

/** With the usual young generation, the engine copies what is large again and again: its own growth, not ours. */
export const TIMING: readonly string[] = ['--max-semi-space-size=256', '--min-semi-space-size=256'];

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

/** Below this, in milliseconds, a measurement is mostly noise. */
const MEASURABLE = 20;
/** What noise adds differs from one time to the next; growth does not. */
const MEASUREMENTS = 3;

/** What every reader does at least: so many texts are made, and kept by name. Caches make that grow too. */
function keepTexts(items: number): Map<string, number> {
  const kept = new Map<string, number>();
  for (let i = 0; i < items; i++) kept.set(`text ${i}`, i);
  return kept;
}

/**
 * The same by the time of the processor, which counts everything; only where nobody waits, because time decides. How
 * much faster the same number of texts grows beyond its size is the machine's own, and taken off. What is refused at
 * once, however large it is, does not grow.
 */
export async function growthInTime(readers: readonly Reader[]): Promise<Growth[]> {
  const growths: Growth[] = [];
  for (const { name, input, read, from = 500 } of readers) {
    const milliseconds = (items: number) => {
      const given = input(items);
      return fastest(() => read(given));
    };
    // Inputs are large enough for the growth to show over what a call costs anyway, and none is too large to be made, or
    // so large that it is the memory of the machine that is measured.
    let items = from;
    const isMakeable = () => {
      try {
        return items < from * 64 && input(items << 4) !== undefined;
      } catch {
        return false;
      }
    };
    while ((await milliseconds(items)) < MEASURABLE && isMakeable()) items *= 2;
    const exponents: number[] = [];
    for (let i = 0; i < MEASUREMENTS && !exponents.some((one) => one < STEEP); i++) {
      const points: [number, number][] = [];
      const machine: [number, number][] = [];
      for (let i = 0; i < 4; i++) {
        points.push([items << i, await milliseconds(items << i)]);
        machine.push([items << i, await fastest(() => keepTexts(items << i))]);
      }
      const own = Math.max(0, slope(machine.map(logarithms)) - 1);
      exponents.push(points[3]![1] < MEASURABLE ? 0 : slope(points.map(logarithms)) - own);
    }
    growths.push({ name, exponent: Math.min(...exponents) });
  }
  return growths;
}

/** The least time of the processor that something takes, in milliseconds. */
async function fastest(read: () => unknown): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 3; i++) {
    const start = process.cpuUsage();
    await attempt(read);
    const { user, system } = process.cpuUsage(start);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}

const logarithms = ([x, y]: [number, number]): [number, number] => [Math.log2(x), Math.log2(y)];

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
