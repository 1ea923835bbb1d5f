import type { ChildProcess } from 'node:child_process';
import { BullaError } from '@bulla/core/error';
import spawn from 'cross-spawn';
import { signalGroup, unwatchGroup, watchGroup } from './group.ts';
import type { Environment } from './home.ts';

interface OutputOptions {
  readonly env: Environment;
  readonly cwd: string;
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

/**
 * What a program prints on standard output until it has ended and everybody has closed it. It is started without a
 * shell and gets no input; what it writes on standard error is only counted, because it may quote the secret. Rejects
 * with `SECRET_COMMAND` when it cannot be started or fails, `SECRET_TOO_LARGE` and `SECRET_TIMEOUT`. Whatever it
 * started is killed with it, at a limit and when this process ends before.
 */
export async function runForOutput(
  program: string,
  args: readonly string[],
  options: OutputOptions,
): Promise<Uint8Array> {
  const { maxBytes, timeoutMs } = options;
  const error = (code: 'SECRET_COMMAND' | 'SECRET_TIMEOUT' | 'SECRET_TOO_LARGE', sentence: string) =>
    new BullaError(code, `The program ${JSON.stringify(program)} ${sentence}`);
  // Errors of the system name the arguments, so only their code is told.
  const notStarted = (cause: unknown) =>
    error('SECRET_COMMAND', `cannot be started (${(cause as NodeJS.ErrnoException).code ?? 'unknown'}).`);

  let child: ChildProcess;
  try {
    child = start(program, args, options);
  } catch (cause) {
    throw notStarted(cause);
  }
  // When nothing is left of the group, its number may be given to others, who must not get our signal.
  let isGone = child.pid === undefined;
  child.on('exit', () => {
    isGone = !signalGroup(child, 0);
  });
  const kill = () => {
    if (!isGone) signalGroup(child, 'SIGKILL');
  };
  if (child.pid !== undefined) watchGroup(child.pid, kill);

  const chunks: Buffer[] = [];
  let [size, errorBytes] = [0, 0];
  let timer: NodeJS.Timeout | undefined;
  try {
    const [code, signal] = await new Promise<[number | null, string | null]>((resolve, reject) => {
      timer = setTimeout(() => reject(error('SECRET_TIMEOUT', `did not end in ${timeoutMs} ms.`)), timeoutMs);
      child.on('error', (cause) => reject(notStarted(cause)));
      child.on('close', (...how) => resolve(how));
      child.stderr!.on('data', (chunk: Buffer) => {
        errorBytes += chunk.length;
      });
      child.stdout!.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size <= maxBytes) chunks.push(chunk);
        else reject(error('SECRET_TOO_LARGE', `prints more than ${maxBytes} bytes.`));
      });
    });
    if (code === 0) return Buffer.concat(chunks, size);
    const how = code === null ? `was ended by ${signal}` : `ended with exit code ${code}`;
    throw error('SECRET_COMMAND', `${how}; it wrote ${errorBytes} bytes on standard error.`);
  } catch (cause) {
    kill();
    throw cause;
  } finally {
    clearTimeout(timer);
    if (child.pid !== undefined) unwatchGroup(child.pid);
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

function start(program: string, args: readonly string[], { env, cwd }: OutputOptions): ChildProcess {
  return spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env },
    cwd,
    // A group of its own, so that what it starts can be ended too. On Windows it would open a window.
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
}
