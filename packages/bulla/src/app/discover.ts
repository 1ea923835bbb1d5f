import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, resolve } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { verdict } from '@bulla/core/lock';
import {
  type CheckedServer,
  checkServers,
  type Discovery,
  discover as discoverServers,
  type OwnProgram,
  type Problem,
} from '../discover/index.ts';
import { checkConfigured, lockConfigured, type Outcome } from './configured.ts';
import { pathsOf } from './paths.ts';

export interface DiscoverInput {
  /** The data directory. */
  readonly home?: string | undefined;
  /** Whose clients to look at. Default: the home folder of this user, with its environment. */
  readonly user?: string | undefined;
  /** The project whose configurations count too. */
  readonly project: string;
  /** Where locks lie. Default: `locks` in the data directory, and `mcp-locks` in the project. */
  readonly locks?: string | null | undefined;
  /** Start each server that is locked, and compare it with its lock. */
  readonly check?: boolean | undefined;
  /** Start and lock each server that is not locked. */
  readonly lockAll?: boolean | undefined;
  /** By what a configuration is known to start this very program. */
  readonly own: OwnProgram;
  /** Lock as the released lock program does. */
  readonly compat?: boolean | undefined;
  /**
   * Whether these may be started. Configurations may be somebody else's: what will be started is shown, and a person
   * says whether it may. Default: no.
   */
  readonly permit?: ((servers: readonly CheckedServer[]) => boolean | Promise<boolean>) | undefined;
  /** Wraps the work with one server, such as the second of five. */
  readonly working?:
    | ((
        server: CheckedServer,
        index: number,
        count: number,
        work: () => Promise<Outcome>,
      ) => Promise<Outcome>)
    | undefined;
}

/** A server with what became of it. */
export interface DiscoveredServer {
  readonly server: CheckedServer;
  readonly outcome: Outcome | null;
}

export interface Discovered {
  /** Bad is what changed or was refused; undecided what could not be read, reached, compared or locked. */
  readonly result: 'good' | 'bad' | 'undecided';
  readonly servers: readonly DiscoveredServer[];
  readonly files: Discovery['files'];
  readonly problems: readonly Problem[];
}

/**
 * Finds the servers that the clients on this machine are configured to use, and checks or locks them where that is
 * asked for and permitted; null where it was not permitted. Rejects with `INPUT_UNREADABLE` and `HOME_NOT_ABSOLUTE`.
 */
export async function discover(input: DiscoverInput): Promise<Discovered | null> {
  const { user, project, permit } = input;
  for (const named of [project, ...(user === undefined ? [] : [user])]) checkFolder(named);
  if (user === undefined && !isAbsolute(homedir()))
    throw new BullaError('HOME_NOT_ABSOLUTE', 'The home folder must be an absolute path.');
  const found = discoverServers(
    {
      platform: process.platform,
      home: user === undefined ? homedir() : resolve(user),
      project: resolve(project),
      env: user === undefined ? process.env : {},
    },
    input.own,
  );
  const locks = input.locks == null ? null : resolve(input.locks);
  const { checked, problems } = checkServers(found.servers, {
    user: locks ?? pathsOf(input.home).locks,
    project: locks,
  });
  const work = checked.filter((server) => workOf(server, input) !== null);
  if (work.length > 0 && !(await permit?.(work))) return null;
  const servers = await workAll(checked, work, { ...input, locks });
  const all = [...found.problems, ...problems];
  return { result: resultOf(servers, all, input), servers, files: found.files, problems: all };
}

/** Where there is no folder, nothing is configured, and that says nothing about the one that was meant. */
function checkFolder(path: string): void {
  try {
    readdirSync(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new BullaError('INPUT_UNREADABLE', `${path} cannot be read (${code}).`, { cause });
  }
}

/** What is to be done with a server, if it may be started and can be locked at all. */
function workOf(server: CheckedServer, { lockAll, check }: DiscoverInput): Outcome['action'] | null {
  if (server.disabled || server.target === null || server.why !== null) return null;
  if (lockAll && server.state === 'unpinned') return 'lock';
  return check && server.state === 'locked' ? 'check' : null;
}

/** One after the other; the same server in two configurations is started once. */
async function workAll(
  checked: readonly CheckedServer[],
  work: readonly CheckedServer[],
  input: DiscoverInput,
): Promise<DiscoveredServer[]> {
  const { working = (_server, _index, _count, act) => act() } = input;
  const done = new Map<string, Outcome>();
  const told: DiscoveredServer[] = [];
  for (const server of checked) {
    const action = workOf(server, input);
    if (action === null) {
      told.push({ server, outcome: null });
      continue;
    }
    const key = `${action}\0${server.lockFile}\0${JSON.stringify(server.target)}`;
    const outcome =
      done.get(key) ??
      (await working(server, work.indexOf(server) + 1, work.length, () =>
        action === 'lock' ? lockConfigured(server, input) : checkConfigured(server),
      ));
    done.set(key, outcome);
    told.push({ server, outcome });
  }
  return told;
}

/** The state of a server after what was done. */
export function stateOf({ server, outcome }: DiscoveredServer): CheckedServer['state'] {
  if (outcome === null || outcome.error !== null) return server.state;
  if (outcome.action === 'lock') return 'locked';
  return isChanged(outcome) ? 'changed' : 'locked';
}

/** Whether a check found what `check` fails on. */
function isChanged({ drift }: Outcome): boolean {
  return drift !== null && verdict(drift).outcome === 'FAIL';
}

function resultOf(
  told: readonly DiscoveredServer[],
  problems: readonly Problem[],
  { check, lockAll }: DiscoverInput,
): Discovered['result'] {
  const used = told.filter(({ server }) => !server.disabled);
  const isBad = used.some(
    (one) =>
      stateOf(one) === 'changed' ||
      one.outcome?.error?.kind === 'bad' ||
      (one.outcome && isChanged(one.outcome)),
  );
  if (isBad) return 'bad';
  const lockable = used.filter(({ server }) => server.why?.code !== 'DISCOVER_BY_CLIENT');
  const isLeft = lockable.some(
    (one) =>
      (one.outcome?.error ?? null) !== null ||
      (lockAll && stateOf(one) !== 'locked') ||
      (check && (one.outcome === null || stateOf(one) !== 'locked')),
  );
  const isNothing = check === true && lockable.length === 0;
  return problems.length > 0 || isLeft || isNothing ? 'undecided' : 'good';
}
