import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import {
  type AgentSnapshotEnvelope,
  checkEnvelope,
  type LintFinding,
  readEnvelope,
} from '@bulla/core/capability';
import { isCode } from '@bulla/core/codes';
import { BullaError } from '@bulla/core/error';
import { JsonObject, type JsonValue, parse, toPlain } from '@bulla/core/json';
import { environmentOf } from '../mcp/index.ts';
import type { RunnerRequest } from './runner.ts';

/** How a module is run. */
export interface ModuleLimits {
  readonly timeoutMs: number;
  /** For its JavaScript objects; what it allocates elsewhere is not limited. */
  readonly memoryMb: number;
  /** The variables of the environment that it sees beside those that programs need. */
  readonly env: readonly string[];
  /** Takes what it prints, a sink for each of its streams. It is not ours: it must not move a terminal. */
  readonly output?: (() => ModuleOutput) | undefined;
}

interface ModuleOutput {
  take(chunk: Uint8Array): void;
  end(): void;
}

interface ModuleAnswer {
  readonly envelope: AgentSnapshotEnvelope;
  /** The same as it came. */
  readonly json: JsonObject;
  readonly findings: readonly LintFinding[];
  readonly disabled: readonly { readonly name: string; readonly deniedBy: readonly string[] }[];
}

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Evaluates the agent of a module, in a process of its own. That keeps its output, its time, its memory and the rest of
 * the environment apart; it is no sandbox, and the module is code that runs with your rights. What comes back must
 * recompute. Throws `CAPABILITY_MODULE`, `CAPABILITY_MODULE_TIMEOUT`, `CAPABILITY_MODULE`, `MCP_TARGET_ENV` for a variable
 * that is not set, and the codes with which the agent could not be evaluated.
 */
export async function runModule(
  /** The file, with `#export` behind it where one is meant. */
  module: string,
  question: Omit<RunnerRequest, 'module' | 'exportName'>,
  limits: ModuleLimits,
): Promise<ModuleAnswer> {
  const { path, exportName } = exportIn(module);
  const request: RunnerRequest = { ...question, module: pathToFileURL(path).href, exportName };
  const answer = read(await ask(JSON.stringify(request), limits));
  if (answer.get('ok') !== true) {
    const [code, message, where] = ['code', 'message', 'path'].map((key) => answer.get(key));
    if (!isCode(code) || typeof message !== 'string') throw unreadable();
    throw new BullaError(code, message, typeof where === 'string' ? { path: where } : {});
  }
  const json = answer.get('envelope');
  if (!(json instanceof JsonObject)) throw unreadable();
  return {
    envelope: checkEnvelope(readEnvelope(json)),
    json,
    findings: plain(answer.get('findings')) as ModuleAnswer['findings'],
    disabled: plain(answer.get('disabled')) as ModuleAnswer['disabled'],
  };
}

/** Whether a word names a module and not a file of JSON. */
export function isModule(word: string): boolean {
  return /\.[cm]?[jt]s(?:#[^#]+)?$/.test(word);
}

function exportIn(word: string): { path: string; exportName: string | null } {
  const cut = word.lastIndexOf('#');
  const [path, exportName] =
    cut < 0 || isFile(word) ? [word, null] : [word.slice(0, cut), word.slice(cut + 1)];
  if (isFile(path)) return { path, exportName };
  throw new BullaError('CAPABILITY_MODULE', `There is no module ${path}.`);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

/** The child's code lies beside this file: as a source under test, as a bundle when it is built. */
function runner(): URL {
  const here = import.meta.url;
  if (here.endsWith('.ts')) return new URL('./runner.ts', here);
  return new URL(here.includes('/chunks/') ? '../capability-runner.cjs' : './capability-runner.cjs', here);
}

async function ask(request: string, limits: ModuleLimits): Promise<Uint8Array> {
  const conditions = process.execArgv.filter((flag) => flag.startsWith('--conditions='));
  const flags = [
    ...conditions,
    `--max-old-space-size=${limits.memoryMb}`,
    '--disable-warning=ExperimentalWarning',
  ];
  const target = { kind: 'stdio' as const, command: process.execPath, args: [], env: limits.env };
  const child = spawn(process.execPath, [...flags, fileURLToPath(runner())], {
    env: environmentOf(target, process.env),
    stdio: [
      'pipe',
      ...(limits.output ? (['pipe', 'pipe'] as const) : (['ignore', 'ignore'] as const)),
      'pipe',
    ],
  });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    child.kill('SIGKILL');
  }, limits.timeoutMs);
  const ended = new Promise<string>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(signal ?? `code ${code}`));
  });
  const printed = Promise.all(
    [child.stdout, child.stderr].map((stream) => stream && pour(stream, limits.output!())),
  );
  child.stdin!.on('error', () => undefined).end(request);
  const answer = child.stdio[3] as Readable;
  const taken = take(answer, () => child.kill('SIGKILL'));
  try {
    const how = await ended;
    // A process that the module left behind may hold the channel open: nobody waits for it.
    const enough = new Promise<null>((resolve) => setTimeout(resolve, 1000, null).unref());
    const bytes = await Promise.race([taken, enough]);
    await Promise.race([printed, enough]);
    if (late) {
      const why = `The module did not answer in ${limits.timeoutMs} ms.`;
      throw new BullaError('CAPABILITY_MODULE_TIMEOUT', why);
    }
    if (bytes === null || bytes.length === 0) {
      const why = `The module's process ended (${how}) without an answer; it may use ${limits.memoryMb} MB.`;
      throw new BullaError('CAPABILITY_MODULE', why);
    }
    return bytes;
  } finally {
    clearTimeout(timer);
    answer.destroy();
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

async function pour(stream: Readable, output: ModuleOutput): Promise<void> {
  stream.on('data', (chunk: Buffer) => output.take(chunk));
  await new Promise((resolve) => stream.once('close', resolve));
  output.end();
}

/** All that comes over the channel; null when it is too much. */
async function take(stream: Readable, tooMuch: () => void): Promise<Uint8Array | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream) {
      size += chunk.length;
      if (size > MAX_ANSWER_BYTES) {
        tooMuch();
        return null;
      }
      chunks.push(chunk);
    }
  } catch {
    return null;
  }
  return Buffer.concat(chunks);
}

function read(bytes: Uint8Array): JsonObject {
  try {
    const value = parse(bytes);
    if (value instanceof JsonObject) return value;
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
  }
  throw unreadable();
}

function plain(value: JsonValue | undefined): unknown {
  return Array.isArray(value) ? toPlain(value) : [];
}

function unreadable(): BullaError {
  const why =
    "The answer of the module's process cannot be read; the module may have written into its channel.";
  return new BullaError('CAPABILITY_MODULE', why);
}
