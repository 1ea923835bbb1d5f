import { BullaError } from '@bulla/core/error';
import { counted, visible } from '@bulla/core/text';
import { type Discovered, discover } from '../../app/index.ts';
import type { CheckedServer } from '../../discover/index.ts';
import type { Command } from '../command.ts';
import { ownProgram } from '../guard/host-config.ts';
import { COMPAT } from '../lock/compat.ts';
import { askYes, isAnswered } from '../terminal/ask.ts';
import {
  complain,
  EXIT,
  type Exit,
  type ReportOptions,
  report,
  reportOptions,
  say,
  showing,
} from '../terminal/io.ts';
import { discoveryText, problemDocument, serverDocument, shownTarget } from './text.ts';

interface DiscoverOptions extends ReportOptions {
  home?: string;
  project: string;
  lockAll?: boolean;
  locks?: string;
  check?: boolean;
  yes?: boolean;
}

export function define(command: Command): void {
  command
    .option('--home <folder>', 'whose clients to look at (default: your own)')
    .option('--project <folder>', 'the project whose configurations count too', '.')
    .option('--check', 'start each server that is locked, and compare it with its lock')
    .option('--lock-all', 'start and lock each server that is not locked')
    .option('--locks <folder>', 'where locks lie (default: BULLA_HOME/locks, and mcp-locks in the project)')
    .option('--yes', 'start servers without being asked')
    .use(reportOptions)
    .helpText(`
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
  $ bulla discover --lock-all`)
    .run(act);
}

async function act(options: DiscoverOptions): Promise<Exit> {
  const { project, locks, check, lockAll } = options;
  const found = await discover({
    ...{ user: options.home, project, locks, check, lockAll, own: ownProgram(), compat: COMPAT },
    permit: (servers) => isPermitted(servers, options),
    working: (server, index, count, work) =>
      options.quiet ? work() : showing(`scanning ${visible(server.name)} (${index} of ${count})…`, work),
  });
  if (found === null) {
    say('Nothing was started.');
    return EXIT.undecided;
  }
  const { servers, files, problems, result } = found;
  await report(options, documentOf(found), () => discoveryText(servers, files.length));
  if (!options.json) for (const problem of problems) complain(problem.error, visible(problem.file));
  if (check && !servers.some(({ outcome }) => outcome?.action === 'check' && outcome.error === null))
    complain(new BullaError('DISCOVER_NOTHING_CHECKED', 'No server was compared with its lock.'));
  return EXIT[result];
}

/** Shows what will be started, and asks whether it may. */
async function isPermitted(work: readonly CheckedServer[], options: DiscoverOptions): Promise<boolean> {
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

function documentOf({ result, servers, files, problems }: Discovered): Record<string, unknown> {
  return {
    ok: result === 'good',
    servers: servers.map(serverDocument),
    files: files.map(({ client, path, scope }) => ({ client: client.id, scope, path })),
    problems: problems.map(problemDocument),
  };
}
