import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { isOwnProcess, type Result, runSync } from './command-host.ts';

export const repo: string = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');

export type { Result } from './command-host.ts';

/** Runs the built CLI; the first call of each command in a test file as a user would, by `bin/bulla`. */
export function bulla(
  args: string[],
  input: string | Uint8Array = '',
  env: Record<string, string> = {},
): Result {
  const call = {
    ...{ args, input, cwd: process.cwd() },
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
  };
  if (!isOwnProcess(call)) return runSync(call);
  const { status, stdout, stderr } = spawnSync(join(repo, 'bin/bulla'), args, {
    ...call,
    maxBuffer: 1 << 28,
  });
  return { status, stdout: stdout.toString(), stderr: stderr.toString() };
}

/** A folder that is gone after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bulla-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
