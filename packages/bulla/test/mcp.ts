import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BullaError } from '@bulla/core/error';
import { expect } from 'vitest';
import { type ScanOptions, type StdioTarget, type Surface, scan } from '../src/mcp/index.ts';
import { repo, temporaryFolder } from './run.ts';

/** A server that is installed with the repository. */
export function packaged(name: string, ...args: string[]): StdioTarget {
  const script = join(repo, 'node_modules/@modelcontextprotocol', name, 'dist/index.js');
  return { kind: 'stdio', command: process.execPath, args: [script, ...args], env: [] };
}

/** One of the scripts in `test/servers`. */
export function script(name: string, ...args: string[]): StdioTarget {
  const path = join(repo, 'packages/bulla/test/servers', name);
  return { kind: 'stdio', command: process.execPath, args: [path, ...args], env: [] };
}

/** Scans one of the hostile servers, and sees to it that nothing of it is left. */
export async function scanHostile(
  behaviour: string,
  options: ScanOptions = {},
  words: string[] = [],
): Promise<Surface> {
  const pids = join(temporaryFolder(), 'pids');
  try {
    return await scan(script('hostile.mjs', pids, behaviour, ...words), options);
  } finally {
    await expectGone(pids);
  }
}

/** How often a hostile server was started is told by the length of what this returns. */
export async function expectGone(file: string): Promise<number[]> {
  const pids = readFileSync(file, 'utf8').trim().split('\n').map(Number);
  expect(pids.length).toBeGreaterThan(0);
  // A killed process may need a moment to vanish.
  for (let i = 0; i < 100 && pids.some(runs); i++) await sleep(20);
  expect(pids.filter(runs)).toEqual([]);
  return pids;
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A process that nobody waits for has ended all the same.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** The code and sentence with which something is refused. */
export async function refusal(
  promise: Promise<unknown>,
): Promise<{ code: string; message: string; cause?: unknown }> {
  try {
    await promise;
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    const { code, message, cause } = error;
    return { code, message, ...(cause instanceof BullaError && { cause: cause.code }) };
  }
  throw new Error('It was not refused.');
}
