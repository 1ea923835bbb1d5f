import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { inject } from 'vitest';
import { repo } from './run.ts';

export interface Started extends ChildProcess {
  /** The lines that it has written so far. */
  output(): string[];
  readonly done: Promise<number | null>;
}

/** The path of a program that was made from a script in this folder. */
export function program(script: string): string {
  return join(inject('programs'), script.replace(/\.ts$/, '.mjs'));
}

/** Starts one of the worker scripts, made from the sources. */
export function startWorker(
  script: string,
  args: readonly string[],
  stderr: 'inherit' | 'ignore' = 'inherit',
): Started {
  return start([program(script), ...args], stderr);
}

/** Starts the built CLI. */
export function startCommand(args: readonly string[], stderr: 'inherit' | 'ignore' = 'inherit'): Started {
  return start([join(repo, 'packages/bulla/dist/bulla.js'), ...args], stderr);
}

function start(args: readonly string[], stderr: 'inherit' | 'ignore'): Started {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', stderr] });
  let text = '';
  child.stdout!.on('data', (chunk: Buffer) => {
    text += chunk;
  });
  // The pipe is read to its end, so that nothing that was said is missed.
  const done = new Promise<number | null>((resolve) => child.on('close', resolve));
  // A last line that was cut off by a kill does not count.
  return Object.assign(child, { output: () => text.split('\n').slice(0, -1), done });
}
