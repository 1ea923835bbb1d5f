import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** One call of the CLI. */
export interface Call {
  readonly args: readonly string[];
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly input?: string | Uint8Array;
}

export interface Result {
  status: number | null;
  stdout: string;
  stderr: string;
}

const HOST = join(dirname(fileURLToPath(import.meta.url)), 'command-host.mjs');
/** The CLI reads these when it is loaded. */
const READ_ONCE = ['BULLA_COMPAT', 'NO_COLOR', 'FORCE_COLOR', 'NODE_OPTIONS'];

const started = new Set<string>();

/**
 * Whether a call must be a process of its own: the first call of each command in a test file, so that each is also
 * tested as a user runs it, and one whose environment matters when the CLI is loaded.
 */
export function isOwnProcess({ args, env }: Call): boolean {
  const command = args[0] ?? '';
  const isFirst = !started.has(command);
  started.add(command);
  return isFirst || READ_ONCE.some((name) => env[name] !== undefined);
}

function lineOf({ args, env, cwd, input = '' }: Call): string {
  const stdin = Buffer.from(input as string).toString('base64');
  return `${JSON.stringify({ args, env, cwd, stdin })}\n`;
}

interface Output {
  /** Standard output and standard error. */
  readonly files: [number, number];
  /** What the command wrote that ended with this answer of its host. */
  take(answer: string): Result;
  close(): void;
}

/** Files that a host writes to; they are gone when nobody has them open. */
function outputIn(folder: string): Output {
  const files: [number, number] = [openSync(join(folder, 'out'), 'a+'), openSync(join(folder, 'err'), 'a+')];
  const text = (file: number) => {
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(size);
    for (let at = 0; at < size; ) at += readSync(file, bytes, at, size - at, at);
    ftruncateSync(file, 0);
    return bytes.toString();
  };
  return {
    files,
    take(answer) {
      const status = answer === '' ? null : Number.parseInt(answer, 10);
      return { status, stdout: text(files[0]), stderr: text(files[1]) };
    },
    close: () => files.forEach(closeSync),
  };
}

/** Whether the host that gave this answer takes another call. */
const goesOn = (answer: string) => /^\d+\n$/.test(answer);

/** Both ends of a pipe on which a process can wait without its event loop. */
function pipeAt(path: string): { read: number; write: number } {
  execFileSync('mkfifo', [path]);
  // Neither end can be opened alone without waiting for the other.
  const both = openSync(path, 'r+');
  const ends = { read: openSync(path, 'r'), write: openSync(path, 'w') };
  closeSync(both);
  return ends;
}

interface WaitedHost {
  run(call: Call): { answer: string; result: Result };
  close(): void;
}

function startWaitedHost(): WaitedHost {
  const folder = mkdtempSync(join(tmpdir(), 'bulla-host-'));
  const output = outputIn(folder);
  const calls = pipeAt(join(folder, 'calls'));
  const answers = pipeAt(join(folder, 'answers'));
  rmSync(folder, { recursive: true });
  const stdio = ['ignore', ...output.files, calls.read, answers.write] as const;
  spawn(process.execPath, [HOST], { stdio: [...stdio] }).unref();
  // Now the host alone has these ends: if it dies, ours say so.
  closeSync(calls.read);
  closeSync(answers.write);
  const chunk = Buffer.alloc(16);
  return {
    run(call) {
      writeSync(calls.write, lineOf(call));
      let answer = '';
      while (!answer.endsWith('\n')) {
        const size = readSync(answers.read, chunk);
        if (size === 0) break;
        answer += chunk.toString('latin1', 0, size);
      }
      return { answer, result: output.take(answer) };
    },
    close() {
      output.close();
      closeSync(calls.write);
      closeSync(answers.read);
    },
  };
}

let waited: WaitedHost | undefined;

/** Runs a command to its end; nothing else happens here meanwhile. */
export function runSync(call: Call): Result {
  waited ??= startWaitedHost();
  const { answer, result } = waited.run(call);
  if (!goesOn(answer)) {
    waited.close();
    waited = undefined;
  }
  return result;
}

interface Host {
  run(call: Call): Promise<{ answer: string; result: Result }>;
  close(): void;
}

function startHost(): Host {
  const folder = mkdtempSync(join(tmpdir(), 'bulla-host-'));
  const output = outputIn(folder);
  rmSync(folder, { recursive: true });
  const child = spawn(process.execPath, [HOST], { stdio: ['ignore', ...output.files, 'pipe', 'pipe'] });
  const [calls, answers] = [child.stdio[3] as Socket, child.stdio[4] as Socket];
  child.unref();
  answers.setEncoding('latin1').unref();
  calls.on('error', () => undefined).unref();
  return {
    async run(call) {
      answers.ref();
      calls.write(lineOf(call));
      let answer = '';
      while (!answer.endsWith('\n')) {
        // Whichever does not come stops listening.
        const other = new AbortController();
        const { signal } = other;
        const [text] = await Promise.race([
          once(answers, 'data', { signal }),
          once(answers, 'end', { signal }),
        ]);
        other.abort();
        if (text === undefined) break;
        answer += text;
      }
      answers.unref();
      return { answer, result: output.take(answer) };
    },
    close() {
      output.close();
      calls.destroy();
      answers.destroy();
    },
  };
}

/** More would only take turns on the cores. */
const MOST = 2;
const idle: Host[] = [];
const waiting: ((host: Host) => void)[] = [];
let hosts = 0;

/** Runs a command while other things happen here, such as servers that it asks. */
export async function run(call: Call): Promise<Result> {
  let host = idle.pop();
  if (host === undefined && hosts < MOST) {
    host = startHost();
    hosts++;
  }
  host ??= await new Promise<Host>((resolve) => waiting.push(resolve));
  const { answer, result } = await host.run(call);
  let next: Host | undefined = host;
  if (!goesOn(answer)) {
    host.close();
    next = waiting.length > 0 ? startHost() : undefined;
    if (next === undefined) hosts--;
  }
  if (next !== undefined) {
    const first = waiting.shift();
    if (first === undefined) idle.push(next);
    else first(next);
  }
  return result;
}
