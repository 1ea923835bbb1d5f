import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

export const repo: string = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');

export interface Result {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the built CLI as a user would. */
export function bulla(
  args: string[],
  input: string | Uint8Array = '',
  env: Record<string, string> = {},
): Result {
  const { status, stdout, stderr } = spawnSync(join(repo, 'bin/bulla'), args, {
    input,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
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
