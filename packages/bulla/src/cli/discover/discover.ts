import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { visible } from '@bulla/core/text';
import type { Command } from 'commander';
import { discover, type Judged, judge, type Problem } from '../../discover/index.ts';
import type { Run } from '../commands.ts';
import { ownProgram } from '../guard/host-config.ts';
import { home } from '../place.ts';
import { askYes, isAnswered } from '../terminal/ask.ts';
import { complain, EXIT, type Exit, type ReportOptions, report, say, showing } from '../terminal/io.ts';
import { counted } from '../terminal/words.ts';
import { checkServer, lockServer } from './scan.ts';
import {
  discoveryText,
  isChanged,
  type Outcome,
  problemDocument,
  serverDocument,
  shownTarget,
  stateOf,
  type Told,
} from './text.ts';

interface DiscoverOptions extends ReportOptions {
  home?: string;
  project: string;
  lockAll?: boolean;
  locks?: string;
  check?: boolean;
  yes?: boolean;
}

export function define(command: Command, run: Run): void {
  command
    .option('--home <folder>', 'whose clients to look at (default: your own)')
    .option('--project <folder>', 'the project whose configurations count too', '.')
    .option('--check', 'start each server that is locked, and compare it with its lock')
    .option('--lock-all', 'start and lock each server that is not locked')
    .option('--locks <folder>', 'where locks lie (default: BULLA_HOME/locks, and mcp-locks in the project)')
    .option('--yes', 'start servers without being asked')
    .option('--json', 'print one JSON document')
    .option('--quiet', 'print nothing but errors; the exit code tells')
    .addHelpText(
      'after',
      `
Looks into the configurations of Claude Desktop, Claude Code, Cursor, VS Code, GitHub Copilot, Windsurf, Zed, Codex,
Gemini CLI, Antigravity, Cline, Roo Code, Continue, Goose, Amazon Q, Kiro, Junie, OpenCode and LM Studio. A server is
locked if there is a lock for exactly its command or address, changed if its lock is of another, and else unpinned.
Values of variables and headers, and whatever may be a secret in a command, are shown as …

Nothing is started, except with --check and --lock-all: these list what they will start and ask first; where nobody
can answer they need --yes. Disabled servers are never started.

Exits with 0 when all could be read and nothing changed (with --check: every enabled server was compared; with
--lock-all: every one is locked), 1 when something changed or was refused, 3 when it cannot be told.

Examples:
  $ bulla discover
  $ bulla discover --lock-all`,
    )
    .action(run(act));
}

async function act(options: DiscoverOptions): Promise<Exit> {
  const isOther = options.home !== undefined;
  for (const named of [options.project, ...(isOther ? [options.home!] : [])]) checkFolder(named);
  if (!isOther && !isAbsolute(homedir()))
    throw new BullaError('HOME_NOT_ABSOLUTE', 'The home folder must be an absolute path.');
  const found = discover(
    {
      platform: process.platform,
      home: isOther ? resolve(options.home!) : homedir(),
      project: resolve(options.project),
      env: isOther ? {} : process.env,
    },
    ownProgram(),
  );
  const folder = options.locks === undefined ? null : resolve(options.locks);
  const { judged, problems } = judge(found.servers, {
    user: folder ?? join(home(), 'locks'),
    project: folder,
  });
  const work = judged.filter((server) => workOf(server, options) !== null);
  if (work.length > 0 && !(await isPermitted(work, options))) {
    say('Nothing was started.');
    return EXIT.undecided;
  }
  const told = await workAll(judged, work, folder, options);
  const all = [...found.problems, ...problems];
  const exit = exitFor(told, all, options);
  await report(options, documentOf(told, all, found.files, exit), () =>
    discoveryText(told, found.files.length),
  );
  if (!options.json) for (const problem of all) complain(problem.error, visible(problem.file));
  if (options.check && !told.some(({ outcome }) => outcome?.action === 'check' && outcome.error === null))
    complain(new BullaError('DISCOVER_NOTHING_CHECKED', 'No server was compared with its lock.'));
  return exit;
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
function workOf(server: Judged, { lockAll, check }: DiscoverOptions): Outcome['action'] | null {
  if (server.disabled || server.target === null || server.why !== null) return null;
  if (lockAll && server.state === 'unpinned') return 'lock';
  return check && server.state === 'locked' ? 'check' : null;
}

/** Configurations may be somebody else's: what will be started is shown, and a person says whether it may. */
async function isPermitted(work: readonly Judged[], options: DiscoverOptions): Promise<boolean> {
  if (options.yes) return true;
  if (!isAnswered()) {
    throw new BullaError(
      'USAGE',
      `${counted(work.length, 'server')} would be started, and nobody is here to be asked; look at the list, then say --yes.`,
    );
  }
  const lines = work.map(
    (server) =>
      `  ${visible(server.name)}: ${shownTarget(server)
        .map((word) => visible(word))
        .join(' ')}`,
  );
  say(`These are started or called, with your rights:\n${lines.join('\n')}`);
  return askYes('Do you trust them so far?');
}

/** One after the other; the same server in two configurations is started once. */
async function workAll(
  judged: readonly Judged[],
  work: readonly Judged[],
  folder: string | null,
  options: DiscoverOptions,
): Promise<Told[]> {
  const done = new Map<string, Outcome>();
  const told: Told[] = [];
  for (const server of judged) {
    const action = workOf(server, options);
    if (action === null) {
      told.push({ server, outcome: null });
      continue;
    }
    const key = `${action}\0${server.lockFile}\0${JSON.stringify(server.target)}`;
    const outcome =
      done.get(key) ??
      (await shown(server, work, options, () =>
        action === 'lock' ? lockServer(server, folder) : checkServer(server),
      ));
    done.set(key, outcome);
    told.push({ server, outcome });
  }
  return told;
}

/** Shows on a terminal which server is being looked at. */
async function shown(
  server: Judged,
  work: readonly Judged[],
  { quiet }: DiscoverOptions,
  action: () => Promise<Outcome>,
): Promise<Outcome> {
  if (quiet) return action();
  return showing(`scanning ${visible(server.name)} (${work.indexOf(server) + 1} of ${work.length})…`, action);
}

/** Bad is what changed or was refused; undecided what could not be read, reached, compared or locked. */
function exitFor(
  told: readonly Told[],
  problems: readonly Problem[],
  { check, lockAll }: DiscoverOptions,
): Exit {
  const used = told.filter(({ server }) => !server.disabled);
  const isBad = used.some(
    (one) =>
      stateOf(one) === 'changed' ||
      one.outcome?.error?.kind === 'bad' ||
      (one.outcome && isChanged(one.outcome)),
  );
  if (isBad) return EXIT.bad;
  const lockable = used.filter(({ server }) => server.why?.code !== 'DISCOVER_BY_CLIENT');
  const isLeft = lockable.some(
    (one) =>
      (one.outcome?.error ?? null) !== null ||
      (lockAll && stateOf(one) !== 'locked') ||
      (check && (one.outcome === null || stateOf(one) !== 'locked')),
  );
  const isNothing = check === true && lockable.length === 0;
  return problems.length > 0 || isLeft || isNothing ? EXIT.undecided : EXIT.good;
}

function documentOf(
  told: readonly Told[],
  problems: readonly Problem[],
  files: ReturnType<typeof discover>['files'],
  exit: Exit,
): Record<string, unknown> {
  return {
    ok: exit === EXIT.good,
    servers: told.map(serverDocument),
    files: files.map(({ client, path, scope }) => ({ client: client.id, scope, path })),
    problems: problems.map(problemDocument),
  };
}
