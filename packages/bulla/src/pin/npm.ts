import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BullaError } from '@bulla/core/error';
import spawn from 'cross-spawn';
import { readFound } from '../os/index.ts';

const MAX_OUTPUT = 64 * 1024 * 1024;
const MAX_LOCKFILE = 64 * 1024 * 1024;
const TAIL = 2000;
const NPM_MS = 300_000;

/** Else a package.json in a folder above, which may be one for everybody's files, could make this one a part of it. */
const ALONE = '--no-workspaces';

/**
 * Runs npm in a folder of its own, where no project can configure it, and gives what it wrote and the folder's
 * `package-lock.json`. Rejects with `PIN_NPM_FAILED` and `PIN_TREE`.
 */
export async function runNpm(args: readonly string[]): Promise<{ stdout: string; lock: Uint8Array | null }> {
  const folder = mkdtempSync(join(tmpdir(), 'bulla-npm-'));
  try {
    // Without it npm would look for a project in the folders above.
    writeFileSync(join(folder, 'package.json'), '{"private":true}\n');
    const stdout = await output(args, folder);
    return { stdout, lock: readLockfile(join(folder, 'package-lock.json')) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Null where there is none. How large it becomes is up to a registry. Throws `PIN_TREE`. */
function readLockfile(path: string): Uint8Array | null {
  if (!existsSync(path)) return null;
  const bytes = readFound(path, MAX_LOCKFILE);
  if (bytes === null)
    throw new BullaError('PIN_TREE', `npm wrote a lockfile of more than ${MAX_LOCKFILE} bytes.`);
  return bytes;
}

async function output(args: readonly string[], cwd: string): Promise<string> {
  const child = spawn('npm', [args[0]!, ALONE, ...args.slice(1)], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: NPM_MS,
    windowsHide: true,
    env: { ...process.env, npm_config_update_notifier: 'false' },
  });
  const chunks: Buffer[] = [];
  let [size, tail] = [0, ''];
  child.stdout!.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > MAX_OUTPUT) child.kill('SIGKILL');
    else chunks.push(chunk);
  });
  child.stderr!.on('data', (chunk: Buffer) => {
    tail = `${tail}${chunk}`.slice(-TAIL);
  });
  const [code] = await once(child, 'close').catch((cause) => {
    const message = 'npm cannot be started; it resolves what a package needs.';
    throw new BullaError('PIN_NPM_FAILED', message, { cause });
  });
  if (code === 0) return Buffer.concat(chunks).toString();
  throw new BullaError('PIN_NPM_FAILED', `npm ${args[0]} failed (${code ?? 'ended'}): ${reason(tail)}`);
}

/** The lines in which npm says what is wrong, without the one that names a log file. */
function reason(stderr: string): string {
  const lines = stderr
    .split('\n')
    .flatMap((line) => /^npm (?:error|ERR!) ?(.*)$/.exec(line)?.[1]?.trim() || []);
  return (
    lines.filter((line) => !/complete log of this run|-debug-0\.log/.test(line)).join('; ') || 'no reason'
  );
}
