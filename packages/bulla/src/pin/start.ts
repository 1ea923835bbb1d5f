import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { BullaError } from '@bulla/core/error';
import { leadsToRunner } from '../mcp/index.ts';
import type { Installed } from './install.ts';
import type { Program } from './program.ts';

/** The words that start a program of an installed package: Node, the fence around the tree, and the script. */
export function commandOf({ fence }: Installed, program: Program, args: readonly string[]): string[] {
  return [process.execPath, '--require', fence, ...program.flags, program.script, ...args];
}

/** Variables by which Node loads other code than what is pinned. */
const LOADING = ['NODE_OPTIONS', 'NODE_PATH', 'NODE_COMPILE_CACHE', 'NODE_REPL_EXTERNAL_MODULE'];

/**
 * The environment for a pinned program: without what makes Node load other code, unless the lock names it, and without
 * what leads to the runner of a CI job.
 */
export function pinnedEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  named: readonly string[],
): Record<string, string | undefined> {
  const isLeft = (name: string) =>
    leadsToRunner(name) || (LOADING.includes(name.toUpperCase()) && !named.includes(name));
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !isLeft(name)));
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Does something during which a signal ends the process, but in good order: what was begun is cleared away. */
export async function interruptible<Result>(action: () => Promise<Result>): Promise<Result> {
  const end = (signal: NodeJS.Signals) => process.exit(128 + constants.signals[signal]);
  for (const signal of SIGNALS) process.on(signal, end);
  try {
    return await action();
  } finally {
    for (const signal of SIGNALS) process.off(signal, end);
  }
}

/**
 * Runs a command with our standard streams, and gives the exit code: its own, or 128 and the number of the signal that
 * ended it. What we are told to do by a signal is told to it. Rejects with `PIN_INSTALL_FAILED`.
 */
export async function runCommand(
  words: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const [command, ...args] = words;
  const child = spawn(command!, args, { stdio: 'inherit', env: { ...env } });
  const forward = (signal: NodeJS.Signals) => {
    // A terminal's interrupt reaches the whole group by itself.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  for (const signal of SIGNALS) process.on(signal, forward);
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  } catch (cause) {
    throw new BullaError('PIN_INSTALL_FAILED', 'The program cannot be started.', { cause });
  } finally {
    for (const signal of SIGNALS) process.off(signal, forward);
  }
}
