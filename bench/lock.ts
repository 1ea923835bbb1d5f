import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { toUtf8 } from '@bulla/core/crypto';
import { JsonObject, parse } from '@bulla/core/json';
import { drift, type Lock, readLock, writeLock } from '@bulla/core/lock';
import { median, type Row, round3 } from './measure.ts';

const here = dirname(fileURLToPath(import.meta.url));
const everything = join(here, '../node_modules/@modelcontextprotocol/server-everything/dist/index.js');
const cli = join(here, '../packages/bulla/dist/bulla.js');
const bench = 'lock';
const PROCESSES = 9;
const ROUNDS = 15;

export function lock(): Row[] {
  const folder = mkdtempSync(join(tmpdir(), 'bulla-bench-'));
  try {
    return [...locking(folder), ...checking(folder), ...comparing()];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(args: readonly string[], cwd: string): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}: ${stderr}`);
  return stdout;
}

/**
 * Hashing and writing as a share of the scan, each time in a process that has just begun, as a command is. The share
 * hangs on how slow the server is, so there are two: one written with the SDK, which prepares a validator for each
 * tool, and one that does nothing but print the same definitions, which is the least that a server can do.
 */
function locking(folder: string): Row[] {
  const sdk = [process.execPath, join(here, 'lock-server.ts'), '1000'];
  const file = join(folder, 'surface.json');
  const { tools } = JSON.parse(run([cli, 'scan', '--json', '--', ...sdk], folder)) as { tools: object[] };
  writeFileSync(file, JSON.stringify({ tools }));
  const bare = [process.execPath, join(here, '../packages/bulla/test/servers/surface.mjs'), file];
  return [
    share('hash and write 1,000 tools, in a new process', 'scan of an SDK server', sdk, folder),
    share('the same', 'scan of a server that only prints', bare, folder),
  ];
}

function share(name: string, against: string, server: readonly string[], folder: string): Row {
  const worker = ['--conditions=bulla-source', join(here, 'lock-worker.ts'), join(folder, 'many.json')];
  const times = Array.from(
    { length: PROCESSES },
    () => JSON.parse(run([...worker, ...server], folder)) as { tools: number; scan: number; lock: number },
  );
  if (times.some(({ tools }) => tools !== 1000)) throw new Error('not every tool was found');
  return {
    bench,
    case: name,
    value: round3(median(times.map((time) => time.lock))),
    unit: 'ms',
    ratio: round3(median(times.map((time) => time.lock / time.scan))),
    against,
  };
}

/** From the start of the process to the verdict, against a client of the SDK that only lists. */
function checking(folder: string): Row[] {
  const server = [process.execPath, everything];
  run([cli, 'lock', '--quiet', '--', ...server], folder);
  const timed = (args: readonly string[]) => {
    const start = performance.now();
    run(args, folder);
    return performance.now() - start;
  };
  const rounds = Array.from({ length: PROCESSES }, () => ({
    sdk: timed([join(here, 'lock-client.mjs'), ...server]),
    ours: timed([cli, 'check', '--quiet']),
  }));
  return [
    {
      bench,
      case: 'check server-everything, start to verdict',
      value: round3(median(rounds.map(({ ours }) => ours))),
      unit: 'ms',
      ratio: round3(median(rounds.map(({ ours, sdk }) => ours / sdk))),
      against: 'SDK client that lists',
    },
  ];
}

/** A lock of so many tools, of which in the second edition a tenth differ in words, and a tenth in their schema. */
function lockOf(count: number, edition: 1 | 2): Lock {
  const tools = Array.from({ length: count }, (_, i) => {
    const isOther = (part: number) => edition === 2 && i % 10 === part;
    return {
      name: `tool_${edition === 2 && i % 100 === 2 ? `new_${i}` : i}`,
      description: `Reads the record number ${i} of the store${isOther(0) ? ' and of its archive' : ''}, and gives back all of its fields.`,
      inputSchema: {
        type: 'object',
        properties: {
          id: { type: 'string', maxLength: isOther(1) ? 40 : 64 },
          depth: { type: 'integer', minimum: 0 },
        },
        required: ['id'],
      },
    };
  });
  const surface = {
    protocolVersion: '2025-11-25',
    era: 'initialize' as const,
    serverInfo: JsonObject.from([['name', 'many']]),
    instructions: null,
    capabilities: new JsonObject(),
    tools: parse(JSON.stringify(tools)) as JsonObject[],
    ...{ prompts: [], resources: [], resourceTemplates: [], contents: [] },
  };
  const identity = { transport: 'http' as const, url: 'https://example.invalid/' };
  return readLock(toUtf8(writeLock(surface, { generator: 'bench', updatedAt: new Date(0), identity }).text));
}

/** Twice the tools, twice the time. */
function comparing(): Row[] {
  const pairs = [2500, 5000].map((count) => [lockOf(count, 1), lockOf(count, 2)] as const);
  const timed = ([before, after]: readonly [Lock, Lock]) => {
    const start = performance.now();
    const found = drift(before, after);
    const ms = performance.now() - start;
    if (found.counts.total === 0) throw new Error('nothing was compared');
    return ms;
  };
  for (const pair of pairs) timed(pair);
  const rounds = Array.from({ length: ROUNDS }, () => pairs.map(timed) as [number, number]);
  return [
    {
      bench,
      case: 'drift of two locks of 5,000 tools',
      value: round3(median(rounds.map(([, large]) => large))),
      unit: 'ms',
      ratio: round3(median(rounds.map(([small, large]) => large / small))),
      against: '2,500 tools',
    },
  ];
}
