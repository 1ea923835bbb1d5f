import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { COUNTING, type Growth, STEEP, TIMING } from './steps.ts';

/** How each reader of the worker grows. It is measured in a process that has nothing but the readers in it. */
export async function growthsOf(worker: URL, by: 'steps' | 'time'): Promise<Growth[]> {
  const flags = by === 'steps' ? COUNTING : TIMING;
  const first = ['--import', new URL('./steps.ts', import.meta.url).href];
  const args = [...flags, ...first, '--conditions=bulla-source', fileURLToPath(worker), `--${by}`];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 26 });
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** Those whose work grows faster than what they read. */
export function steep(growths: readonly Growth[]): Growth[] {
  return growths.filter(({ exponent }) => !(exponent < STEEP));
}

/** By these verbs, whoever reads what others wrote is called. */
const READS = /^(?:parse|read|open|detect|validate|inspect|lint)(?:[A-Z]|$)/;

/** The readers that modules export and nobody tried; a reader's name begins with that of its function. */
export function untried(modules: Readonly<Record<string, object>>, growths: readonly Growth[]): string[] {
  const tried = new Set(growths.map(({ name }) => /^\w+/.exec(name)?.[0]));
  return Object.entries(modules).flatMap(([path, module]) =>
    Object.entries(module)
      .filter(([name, value]) => typeof value === 'function' && READS.test(name) && !tried.has(name))
      .map(([name]) => `${path} ${name}`),
  );
}
