import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { BullaError } from '@bulla/core/error';
import spawn from 'cross-spawn';
import { signalGroup, unwatchGroup, watchGroup } from '../os/index.ts';
import { type Confinement, confined } from './confine.ts';
import { coverDescriptors } from './confine-descriptors.ts';
import { quote } from './transport.ts';

interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface ChildOptions {
  /** The environment of the server; nothing else is passed on. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string | undefined;
  /** Start it in a sandbox, or not at all. Default: it may do what this user may. */
  readonly confine?: Confinement | undefined;
  /** Given what the server writes on standard error; else only its end is kept, for error messages. */
  readonly onStderr?: ((chunk: Uint8Array) => void) | undefined;
}

export type Child = Awaited<ReturnType<typeof startChild>>;

const STDERR_TAIL = 4096;
/** Package managers end with where their log is, and say some lines earlier what was wrong. */
const LAST_LINES = 8;

/**
 * Starts a program without a shell, in a process group with everything that it starts: they end together. Rejects with
 * `MCP_SPAWN_FAILED` when it cannot be started, and as `confined` throws. Should this process end without stopping it, by `process.exit` or a
 * signal, the group is killed on the way.
 */
export async function startChild(command: string, args: readonly string[], options: ChildOptions) {
  const { env, confine } = options;
  const start = confine === undefined ? { command, args, env } : confined(command, args, confine, options);
  using descriptors = confine === undefined ? null : coverDescriptors();
  let child: ChildProcess;
  try {
    child = spawn(start.command, start.args, {
      stdio: ['pipe', 'pipe', 'pipe', ...(descriptors?.stdio ?? [])],
      env: start.env,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      // A group of its own, so that what `npx` starts can be ended too. On Windows it would open a window.
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    await once(child, 'spawn');
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? (cause as Error).message;
    throw new BullaError('MCP_SPAWN_FAILED', `The server ${quote(command)} cannot be started (${reason}).`, {
      cause,
    });
  }
  const { stdin, stdout, stderr } = child as ChildProcess & {
    stdin: Writable;
    stdout: Readable;
    stderr: Readable;
  };
  const pid = child.pid!;
  const exit = new Promise<Exit>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) {
      resolve({ code: child.exitCode, signal: child.signalCode });
    }
    child.on('exit', (code, signal) => resolve({ code, signal }));
  });
  const closed = new Promise<void>((resolve) => {
    child.on('close', () => resolve());
  });
  // Errors of the pipes show where they are used; without a listener they would end this process.
  for (const stream of [child, stdin, stdout, stderr]) stream.on('error', () => {});

  let tail = Buffer.alloc(0);
  stderr.on('data', (chunk: Buffer) => {
    options.onStderr?.(chunk);
    tail = Buffer.concat([tail.subarray(-STDERR_TAIL), chunk.subarray(-STDERR_TAIL)]).subarray(-STDERR_TAIL);
  });

  // When nothing is left of the group, its number may be given to others, who must not get our signals.
  let isGone = false;
  const signal = (name: 'SIGTERM' | 'SIGKILL' | 0): void => {
    if (!isGone) isGone = !signalGroup(child, name);
  };
  watchGroup(pid, () => signal('SIGKILL'));
  exit.then(() => {
    signal(0);
    if (isGone) unwatchGroup(pid);
  });
  return {
    pid,
    stdin,
    stdout,
    /** Resolves when the process itself has ended; what it started may still run. */
    exit,
    /** Resolves when moreover all of its streams have ended. */
    closed,
    /** Sends a signal to the whole group; does nothing when nothing is left of it. */
    signal,
    /** The last lines that the server wrote on standard error, each short and in quotes, or null. */
    lastWords(): string | null {
      const lines = tail
        .toString()
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '')
        .slice(-LAST_LINES);
      return lines.length === 0 ? null : lines.map(quote).join(', ');
    },
  };
}

/**
 * Ends a server as the specification asks (2025-11-25, Lifecycle, Shutdown): closes its input, waits, asks it to
 * end, waits, kills it. Whatever it started and left behind is killed too.
 */
export async function stopChild(child: Child, graceMs: number, termMs: number): Promise<void> {
  // What was written last goes out first.
  child.stdin.uncork();
  // What the server does not read would keep the pipe open.
  if (child.stdin.writableLength > 0) child.stdin.destroy();
  else child.stdin.end();
  if (!(await within(child.exit, graceMs))) {
    child.signal('SIGTERM');
    if (!(await within(child.exit, termMs))) {
      child.signal('SIGKILL');
      await child.exit;
    }
  }
  child.signal('SIGKILL');
  unwatchGroup(child.pid);
  child.stdin.destroy();
  child.stdout.destroy();
}

/** Whether the promise settled in time. */
export async function within(promise: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  try {
    return await Promise.race([promise.then(() => true as const), late]);
  } finally {
    clearTimeout(timer);
  }
}
