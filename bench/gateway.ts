import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect, type Host, initialize, type Open, stdio } from './gateway-host.ts';
import { lockOf, storeOf } from './gateway-place.ts';
import { fdatasyncRate, median, type Row, round3 } from './measure.ts';

const here = dirname(fileURLToPath(import.meta.url));
const cli = join(here, '../packages/bulla/dist/bulla.js');
const everything = [
  process.execPath,
  join(here, '../node_modules/@modelcontextprotocol/server-everything/dist/index.js'),
];
const filler = [process.execPath, join(here, 'gateway-server.mjs')];
const pipe = join(here, 'gateway-pipe.mjs');

const ROUNDS = 9;
/** Calls one after the other in a round. */
const CALLS = 60;
const CALLERS = 64;
const THROUGHPUT_MS = 500;
const STARTS = 9;
const LARGE = 10_000_000;
const [SHORT, LONG] = [1000, 100_000];

/** What the guard costs a host, against the server alone and against a pipe that only copies bytes. */
export async function gateway(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bulla-bench-'));
  try {
    const lock = await lockOf(folder, 'everything', everything);
    return [
      ...(await calling(folder, lock)),
      ...(await sharing(folder, lock)),
      ...(await passingLarge(folder)),
      ...(await starting(folder, lock)),
      ...(await lasting(folder, lock)),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface GuardOptions {
  readonly lock: string;
  readonly store?: string;
  /** Whether calls pass a rule and a consent that was granted. */
  readonly gates?: boolean;
}

function guarded(options: GuardOptions, server: readonly string[]): Open {
  const words = ['--conditions=bulla-source', join(here, 'gateway-guard.ts')];
  return stdio([...words, JSON.stringify({ ...options, server })]);
}

const echo = (host: Host) => host.ask('tools/call', { name: 'echo', arguments: { message: 'hello there' } });

async function start<Name extends string>(peers: Record<Name, Open>): Promise<Record<Name, Host>> {
  const hosts = {} as Record<Name, Host>;
  for (const name in peers) hosts[name] = await initialize(connect(peers[name]));
  return hosts;
}

async function stop(hosts: Readonly<Record<string, Host>>): Promise<void> {
  for (const host of Object.values(hosts)) await host.close();
}

/** The median time of a call, one after the other. */
async function latency(host: Host): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < CALLS; i++) {
    const started = performance.now();
    await echo(host);
    times.push(performance.now() - started);
  }
  return median(times);
}

/** Calls a second with so many in flight. */
async function rate(host: Host): Promise<number> {
  const started = performance.now();
  let count = 0;
  const caller = async () => {
    for (; performance.now() - started < THROUGHPUT_MS; count++) await echo(host);
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return (count * 1000) / (performance.now() - started);
}

type Peer = 'direct' | 'pipe' | 'lock' | 'full';

/** The time of a call, calls a second, and waits for the disk a second. */
interface Round {
  readonly ms: Readonly<Record<Peer, number>>;
  readonly rates: Readonly<Record<Peer, number>>;
  readonly disk: number;
}

async function calling(folder: string, lock: string): Promise<Row[]> {
  // A guard with lazy outcomes belongs here, against the pipe and one wait for the disk, as soon as there is one.
  const hosts = await start({
    direct: stdio(everything.slice(1)),
    pipe: stdio([pipe, ...everything]),
    lock: guarded({ lock }, everything),
    full: guarded({ lock, store: await storeOf(folder, 'calling'), gates: true }, everything),
  });
  const names = Object.keys(hosts) as Peer[];
  const each = async (measure: (host: Host) => Promise<number>) => {
    const found = {} as Record<Peer, number>;
    for (const name of names) found[name] = await measure(hosts[name]);
    return found;
  };
  const rounds: Round[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const measured = { ms: await each(latency), rates: await each(rate), disk: fdatasyncRate(folder, 4096) };
    // The first one warms up.
    if (round > 0) rounds.push(measured);
  }
  await stop(hosts);
  const added = ({ ms }: Round, name: Peer) => ms[name] - ms.direct;
  const row = (
    name: string,
    unit: string,
    value: (round: Round) => number,
    against: string,
    peer: (round: Round) => number,
  ): Row => ({
    ...{ bench: 'gateway', case: name, value: round3(median(rounds.map(value))), unit },
    ...{ ratio: round3(median(rounds.map((round) => value(round) / peer(round)))), against },
  });
  return [
    row(
      'added to a call: lock, rules, consent, 2 capsules',
      'ms',
      (round) => added(round, 'full'),
      'pipe + 2 fdatasync of 4 KB',
      (round) => added(round, 'pipe') + 2000 / round.disk,
    ),
    row(
      'calls, 64 in flight: the same',
      'calls/s',
      ({ rates }) => rates.full,
      'fdatasync of 4 KB',
      ({ disk }) => disk,
    ),
    row(
      'added to a call: lock, no record',
      'ms',
      (round) => added(round, 'lock'),
      'pipe',
      (round) => added(round, 'pipe'),
    ),
    row(
      'calls, 64 in flight: lock, no record',
      'calls/s',
      ({ rates }) => rates.lock,
      'pipe',
      ({ rates }) => rates.pipe,
    ),
  ];
}

/** Two guards on one store, each with 64 calls in flight, against one alone. */
async function sharing(folder: string, lock: string): Promise<Row[]> {
  const store = await storeOf(folder, 'shared');
  const options = { lock, store, gates: true };
  const { one, other } = await start({
    one: guarded(options, everything),
    other: guarded(options, everything),
  });
  const rounds: { alone: number; least: number }[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const alone = await rate(one);
    const least = Math.min(...(await Promise.all([rate(one), rate(other)])));
    if (round > 0) rounds.push({ alone, least });
  }
  await stop({ one, other });
  return [
    {
      ...{ bench: 'gateway', case: 'the slower of two guards on one store' },
      ...{ value: round3(median(rounds.map(({ least }) => least))), unit: 'calls/s' },
      ratio: round3(median(rounds.map(({ least, alone }) => least / alone))),
      against: 'one guard',
    },
  ];
}

/** A result of 10 MB in one text block, and how much memory the guard takes for it. */
async function passingLarge(folder: string): Promise<Row[]> {
  const lock = await lockOf(folder, 'filler', filler);
  const store = await storeOf(folder, 'large');
  const hosts = await start({
    pipe: stdio([pipe, ...filler]),
    lock: guarded({ lock }, filler),
    record: guarded({ lock, store }, filler),
  });
  const fill = (host: Host, bytes: number) => host.ask('tools/call', { name: 'fill', arguments: { bytes } });
  const timed = async (host: Host) => {
    const started = performance.now();
    await fill(host, LARGE);
    return LARGE / (performance.now() - started) / 1000;
  };
  for (const host of Object.values(hosts)) for (let i = 0; i < 50; i++) await fill(host, 1000);
  const before = { lock: await hosts.lock.usage(), record: await hosts.record.usage() };
  const rounds: Record<keyof typeof hosts, number>[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const found = {
      pipe: await timed(hosts.pipe),
      lock: await timed(hosts.lock),
      record: await timed(hosts.record),
    };
    if (round > 0) rounds.push(found);
  }
  const after = { lock: await hosts.lock.usage(), record: await hosts.record.usage() };
  await stop(hosts);
  return (['lock', 'record'] as const).flatMap((name): Row[] => {
    const what = `10 MB in one text block: lock, ${name === 'lock' ? 'no record' : '2 capsules'}`;
    const growth = after[name].maxRss - before[name].rss;
    return [
      {
        ...{ bench: 'gateway', case: what },
        ...{ value: round3(median(rounds.map((round) => round[name]))), unit: 'MB/s' },
        ...{ ratio: round3(median(rounds.map((round) => round[name] / round.pipe))), against: 'pipe' },
      },
      {
        ...{ bench: 'gateway', case: 'memory for it, at most' },
        ...{ value: Math.round(growth / 1e6), unit: 'MB' },
        ...{ ratio: round3(growth / LARGE), against: 'the message' },
      },
    ];
  });
}

/** From the start of the process to the answer to `tools/list`. */
async function starting(folder: string, lock: string): Promise<Row[]> {
  const env = { BULLA_HOME: join(folder, 'home') };
  const timed = async (open: Open) => {
    const started = performance.now();
    const host = await initialize(connect(open));
    const ms = performance.now() - started;
    await host.close();
    return ms;
  };
  const guard = stdio([cli, 'guard', '--quiet', '--lock', lock, '--', ...everything], env);
  // The first start makes the keyring and the store, and leaves compiled code in the cache.
  await timed(guard);
  const rounds: { alone: number; ours: number }[] = [];
  for (let round = 0; round < STARTS; round++)
    rounds.push({ alone: await timed(stdio(everything.slice(1))), ours: await timed(guard) });
  return [
    {
      ...{ bench: 'gateway', case: 'start to the first list' },
      ...{ value: round3(median(rounds.map(({ ours }) => ours))), unit: 'ms' },
      ratio: round3(median(rounds.map(({ ours, alone }) => ours / alone))),
      against: 'the server alone',
    },
  ];
}

/** Memory after many calls of one session. */
async function lasting(folder: string, lock: string): Promise<Row[]> {
  const store = await storeOf(folder, 'lasting');
  const { host } = await start({ host: guarded({ lock, store, gates: true }, everything) });
  let left = 0;
  const call = async (count: number) => {
    left = count;
    const caller = async () => {
      while (left-- > 0) await echo(host);
    };
    await Promise.all(Array.from({ length: CALLERS }, caller));
    return (await host.usage()).rss;
  };
  const early = await call(SHORT);
  const late = await call(LONG - SHORT);
  await stop({ host });
  return [
    {
      ...{ bench: 'gateway', case: 'memory after 100,000 calls in one session' },
      ...{ value: Math.round(late / 1e6), unit: 'MB RSS' },
      ...{ ratio: round3(late / early), against: 'after 1,000 calls' },
    },
  ];
}
