import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { repo } from './run.ts';

/** Starts one of the worker scripts on the sources. */
export function startWorker(
  script: string,
  args: readonly string[],
  stderr: 'inherit' | 'ignore' = 'inherit',
): ChildProcess & { output: () => string[]; done: Promise<number | null> } {
  const child = spawn(
    process.execPath,
    ['--conditions=bulla-source', join(repo, 'packages/bulla/test', script), ...args],
    {
      stdio: ['ignore', 'pipe', stderr],
    },
  );
  let text = '';
  child.stdout!.on('data', (chunk: Buffer) => {
    text += chunk;
  });
  // The pipe is read to its end, so that nothing that was said is missed.
  const done = new Promise<number | null>((resolve) => child.on('close', resolve));
  // A last line that was cut off by a kill does not count.
  return Object.assign(child, { output: () => text.split('\n').slice(0, -1), done });
}
