import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { COUNTING, type Growth } from './steps.ts';

/** No reader may cost more than this power of the size of what it reads. */
const MOST = 1.2;

/**
 * The readers whose work grows faster than what they read, of at least so many that the worker has. It is measured in a
 * process that has nothing but the readers in it.
 */
export async function steepReaders(worker: URL, by: 'steps' | 'time', least: number): Promise<Growth[]> {
  const flags = by === 'steps' ? COUNTING : [];
  const first = ['--import', new URL('./steps.ts', import.meta.url).href];
  const args = [...flags, ...first, '--conditions=bulla-source', fileURLToPath(worker), `--${by}`];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1 << 26 });
  const growths: Growth[] = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  if (growths.length < least) throw new Error(`only ${growths.length} readers were tried`);
  return growths.filter(({ exponent }) => !(exponent < MOST));
}
