// Runs the scenarios of @modelcontextprotocol/conformance for servers and clients, and compares what two of them make of it.
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative, resolve } from 'node:path';
import { parse } from 'yaml';
import * as z from 'zod';

const repo = resolve(import.meta.dirname, '../../..');
const suite = join(repo, 'node_modules/@modelcontextprotocol/conformance');

/** The versions that have a set of required scenarios. */
export const VERSIONS = ['2025-11-25', '2026-07-28'] as const;
export type Version = (typeof VERSIONS)[number];

const STATUSES = ['SUCCESS', 'FAILURE', 'WARNING', 'SKIPPED', 'INFO'] as const;
export type Status = (typeof STATUSES)[number];

/** One check of a scenario. The second check with an id is called `id (2)`, and so on. */
export interface Check {
  readonly id: string;
  readonly status: Status;
  /** What the suite says against it. */
  readonly message?: string;
}

export interface Outcome {
  /** `none`: nothing was checked. A warning is no pass: it says that a SHOULD was not followed. */
  readonly verdict: 'pass' | 'fail' | 'none';
  readonly checks: readonly Check[];
}
export type Verdicts = ReadonlyMap<string, Outcome>;

export interface Scenario {
  readonly name: string;
  /** Whether the version requires it. The others came after its release, or are not final. */
  readonly required: boolean;
}

/** Which side the suite tests. */
export type Role = 'server' | 'client';

const Requirements = z.object({
  server: z.array(z.string()),
  client: z.array(z.string()),
  not_scored: z.array(z.object({ scenario: z.string(), leg: z.string(), reason: z.string() })),
});

/** The scenarios of a version, without those of extensions. */
export async function scenarios(version: Version, role: Role = 'server'): Promise<readonly Scenario[]> {
  const text = await readFile(join(suite, 'requirements', `${version}.yaml`), 'utf8');
  const { [role]: required, not_scored } = Requirements.parse(parse(text));
  const more = not_scored.filter(({ leg, reason }) => leg === role && reason !== 'extension');
  return [
    ...required.map((name) => ({ name, required: true })),
    ...more.map(({ scenario }) => ({ name: scenario, required: false })),
  ];
}

export interface RunOptions {
  /** Only these; else all of `scenarios(version, role)`. */
  readonly only?: readonly string[];
  /** How long one scenario may take (default 15,000). One that takes longer fails. */
  readonly timeoutMs?: number;
}

/**
 * Runs server scenarios, one after the other: all of them in one process of the suite, or each of `only` in its own.
 * Throws when the suite leaves one of them without a result.
 */
export async function verdicts(url: string, version: Version, options: RunOptions = {}): Promise<Verdicts> {
  const names = options.only ?? (await scenarios(version)).map(({ name }) => name);
  return withResults(names, async (folder) => {
    const common = ['server', '--url', url, ...commonWords(folder, options)];
    if (options.only === undefined) return (await run([...common, '--requirements', version])).said;
    let said = '';
    for (const name of names)
      said += (await run([...common, '--scenario', name, '--spec-version', version])).said;
    return said;
  });
}

/**
 * Runs client scenarios, one after the other, with `conformance-client.ts`, which puts a gateway between itself and the
 * suite's server where the words of a command are given; `{url}` stands for the server. A client that ends with an error
 * where the scenario allows none fails. Throws when the suite leaves a scenario without a result.
 */
export async function clientVerdicts(
  gateway: readonly string[] | undefined,
  version: Version,
  options: RunOptions = {},
): Promise<Verdicts> {
  const names = options.only ?? (await scenarios(version, 'client')).map(({ name }) => name);
  const env = gateway && { BULLA_CONFORMANCE_GATEWAY: JSON.stringify(gateway) };
  // The suite takes a command apart at its spaces and gives it to a shell.
  const command = `node ${relative(process.cwd(), join(import.meta.dirname, 'conformance-client.ts'))}`;
  const failed = new Set<string>();
  const found = await withResults(names, async (folder) => {
    const common = ['client', '--command', command, ...commonWords(folder, options)];
    let all = '';
    for (const name of names) {
      const { said, code } = await run([...common, '--scenario', name, '--spec-version', version], env);
      if (code !== 0) failed.add(name);
      all += said;
    }
    return all;
  });
  const fail = (outcome: Outcome): Outcome => ({ ...outcome, verdict: 'fail' });
  return new Map(Array.from(found, ([name, outcome]) => [name, failed.has(name) ? fail(outcome) : outcome]));
}

function commonWords(folder: string, { timeoutMs = 15_000 }: RunOptions): string[] {
  return ['--timeout', String(timeoutMs), '--output-dir', folder];
}

/** Has the suite write its results into a folder, and reads those of these scenarios. */
async function withResults(
  names: readonly string[],
  action: (folder: string) => Promise<string>,
): Promise<Map<string, Outcome>> {
  const folder = await mkdtemp(join(tmpdir(), 'bulla-conformance-'));
  try {
    const said = await action(folder);
    const found = await results(folder);
    return new Map(
      names.map((name) => {
        const outcome = found.get(name);
        if (!outcome) throw new Error(`The suite gave no result for ${name}.\n${said.slice(-2000)}`);
        return [name, outcome];
      }),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs the suite's program. For a server, its exit code only repeats what it wrote into files. */
async function run(
  words: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ said: string; code: number | null }> {
  const child = spawn(process.execPath, [join(suite, 'dist/index.js'), ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env.PATH}`, ...env },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  const code = await new Promise<number | null>((done, failed) =>
    child.on('close', done).on('error', failed),
  );
  return { said, code };
}

const Checks = z.array(
  z.object({ id: z.string(), status: z.enum(STATUSES), errorMessage: z.string().optional() }),
);

/** Reads `[server-]SCENARIO-TIME/checks.json`; the name of a scenario can have a slash in it. */
async function results(folder: string): Promise<Map<string, Outcome>> {
  const found = new Map<string, Outcome>();
  for (const name of await readdir(folder, { recursive: true })) {
    const path = /^(?:server-)?(.+)-\d{4}-\d\d-\d\dT[\d-]+Z\/checks\.json$/.exec(name.replaceAll('\\', '/'));
    if (path === null) continue;
    const scenario = path[1]!;
    const text = await readFile(join(folder, name), 'utf8');
    found.set(scenario, outcomeOf(Checks.parse(JSON.parse(text))));
  }
  return found;
}

function outcomeOf(list: z.infer<typeof Checks>): Outcome {
  const counts = new Map<string, number>();
  const checks = list.map(({ id, status, errorMessage }): Check => {
    const count = (counts.get(id) ?? 0) + 1;
    counts.set(id, count);
    const numbered = count === 1 ? id : `${id} (${count})`;
    return { id: numbered, status, ...(errorMessage !== undefined && { message: errorMessage }) };
  });
  const has = (...statuses: Status[]) => checks.some(({ status }) => statuses.includes(status));
  const verdict = has('FAILURE', 'WARNING') ? 'fail' : has('SUCCESS') ? 'pass' : 'none';
  return { verdict, checks };
}

/** One check that came out differently. */
export interface Difference {
  readonly scenario: string;
  readonly check: string;
  readonly direct: Status | 'absent';
  readonly other: Status | 'absent';
}

/** Compares check by check. Notes (INFO) count only where the other side has a status in their place. */
export function differences(direct: Verdicts, other: Verdicts): Difference[] {
  const found: Difference[] = [];
  for (const scenario of new Set([...direct.keys(), ...other.keys()])) {
    const [one, two] = [statuses(direct.get(scenario)), statuses(other.get(scenario))];
    for (const check of new Set([...one.keys(), ...two.keys()])) {
      const pair = { direct: one.get(check) ?? 'absent', other: two.get(check) ?? 'absent' } as const;
      const isNote = [pair.direct, pair.other].every((status) => status === 'INFO' || status === 'absent');
      if (pair.direct !== pair.other && !isNote) found.push({ scenario, check, ...pair });
    }
  }
  return found;
}

function statuses(outcome: Outcome | undefined): Map<string, Status> {
  return new Map(outcome?.checks.map(({ id, status }) => [id, status]));
}

const Expected = z.array(
  z.strictObject({
    column: z.string(),
    version: z.enum(VERSIONS),
    scenario: z.string(),
    checks: z.record(z.string(), z.enum([...STATUSES, 'absent'])),
    reason: z.string().min(1),
  }),
);
/** Differences of one scenario that have a reason: check → its status in the column. */
export type Expectation = z.infer<typeof Expected>[number];

/** Reads a list of expectations. Throws when it is no such list, or names a scenario twice. */
export function parseExpected(text: string): Expectation[] {
  const { data: list, error } = Expected.safeParse(JSON.parse(text));
  if (error) throw new Error(z.prettifyError(error));
  const keys = list.map(({ column, version, scenario }) => JSON.stringify([column, version, scenario]));
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  if (twice !== undefined) throw new Error(`There are two entries for ${twice}.`);
  return list;
}

export interface Judgement {
  /** Differences that no expectation names with this status. */
  readonly unexpected: readonly Difference[];
  /** Expected checks that do not differ, or differ in another way. */
  readonly stale: readonly { readonly scenario: string; readonly check: string }[];
}

/** Holds the differences of one column at one version against what is expected of them. */
export function judge(found: readonly Difference[], expected: readonly Expectation[]): Judgement {
  const key = (scenario: string, check: string, status: string) => JSON.stringify([scenario, check, status]);
  const seen = new Set(found.map(({ scenario, check, other }) => key(scenario, check, other)));
  const rows = expected.flatMap(({ scenario, checks }) =>
    Object.entries(checks).map(([check, status]) => ({ scenario, check, status })),
  );
  const named = new Set(rows.map(({ scenario, check, status }) => key(scenario, check, status)));
  return {
    unexpected: found.filter(({ scenario, check, other }) => !named.has(key(scenario, check, other))),
    stale: rows
      .filter(({ scenario, check, status }) => !seen.has(key(scenario, check, status)))
      .map(({ scenario, check }) => ({ scenario, check })),
  };
}

export interface Fixture extends AsyncDisposable {
  readonly url: string;
}

/** Starts `servers/conformance.ts` over HTTP; further words are its options. */
export async function startFixture(...words: string[]): Promise<Fixture> {
  const program = join(import.meta.dirname, 'servers/conformance.ts');
  const child = spawn(process.execPath, [program, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise<void>((done) => child.on('close', () => done()));
  const line = await new Promise<string>((done, failed) => {
    child.stdout.setEncoding('utf8').once('data', done);
    child.on('error', failed).on('close', () => failed(new Error('The fixture has ended.')));
  });
  const { url } = z.strictObject({ url: z.url() }).parse(JSON.parse(line));
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
    },
  };
}
