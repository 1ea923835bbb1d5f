import { BullaError } from '@bulla/core/error';
import { type Drift, driftJson, driftText } from '@bulla/core/lock';
import { Option } from 'commander';
import { type LockFormat, lock } from '../../app/index.ts';
import type { Command } from '../command.ts';
import { note, type RecordOptions, recorded, recordOptions } from '../receipt.ts';
import { type FetchOptions, fetchOptions, observing } from '../run/options.ts';
import { askKey, askYes, isAnswered } from '../terminal/ask.ts';
import {
  complain,
  EXIT,
  type Exit,
  print,
  printExact,
  type ReportOptions,
  reportOptions,
  say,
  tones,
} from '../terminal/io.ts';
import { streams } from '../terminal/streams.ts';
import { type ChoiceOptions, choiceOf, choiceOptions } from './choice.ts';
import { COMPAT } from './compat.ts';
import { type ConfineOptions, confinementOf, confineOptions } from './confine.ts';
import { accessOf, SERVER_HELP, type ServerOptions, serverOptions } from './server.ts';
import { tell } from './summary.ts';

export interface LockOptions
  extends ServerOptions,
    ConfineOptions,
    ReportOptions,
    FetchOptions,
    ChoiceOptions,
    Partial<RecordOptions> {
  output: string;
  force?: boolean;
  yes?: boolean;
  v3?: boolean;
  format?: LockFormat;
  compatGo?: boolean;
  pin?: boolean;
}

export function define(command: Command): void {
  command
    .argument('[server...]', 'the server, after --; without it the one of the lockfile')
    .use(serverOptions, confineOptions, choiceOptions, fetchOptions, recordOptions)
    .option('-o, --output <file>', 'the lockfile', 'mcp-lock.json')
    .option('-f, --force', 'replace the lockfile even if the server changed, or if it cannot be read')
    .option('--yes', 'accept what changed without being asked')
    .option('--v3', 'the same as --format v3')
    .addOption(
      new Option(
        '--format <format>',
        'native (version 3 with every definition), or exactly what the released lock program writes',
      ).choices(['native', 'v1', 'v2', 'v3']),
    )
    .option('--compat-go', "hash numbers in schemas by the released lock program's rule")
    .option('--pin', 'pin the program too: an npm package with all that it needs, or the digest of an image')
    .option('--no-pin', 'drop what the lockfile pins of the program')
    .use(reportOptions)
    .helpText(`${SERVER_HELP}
If the server changed since it was locked, the difference is shown. On a terminal you are asked: one key where only
prose changed, the word yes for anything else. Elsewhere it ends with 1, and the lockfile stays as it is.

With --only, --except or --choose only some of the tools are locked. The others are left out on purpose: the guard hides
them, and check passes while they are there. The next lock keeps the choice; --only '*' takes it back.

With --pin the package that npx, npm exec or docker run names is resolved once, and what is locked is what that very
package shows; bulla run then runs it, and nothing else.

Examples:
  $ bulla lock -- npx -y @modelcontextprotocol/server-everything
  $ bulla lock --only 'read_*' list_directory -- npx -y @modelcontextprotocol/server-filesystem /tmp
  $ bulla lock --pin -- npx -y @modelcontextprotocol/server-filesystem /tmp`)
    .run(recorded('lock', act));
}

async function act(words: string[], options: LockOptions): Promise<Exit> {
  const { output, force, v3, compatGo, pin, allowPrivateRegistry, env } = options;
  const done = await lock({
    ...{ server: words, env, output, compatGo, pin, allowPrivateRegistry, compat: COMPAT },
    format: v3 ? 'v3' : options.format,
    replaceUnreadable: force,
    // The released program looks at none when it writes version 3.
    ignoreOld: COMPAT && v3,
    ...choiceOf(options),
    ...accessOf(options),
    confine: confinementOf(options, [output]),
    ...observing(options),
    onTarget: async () => {
      if (COMPAT && !options.json && !options.quiet) await print('Scanning MCP server...\n');
    },
    onFacts: note,
    accept: (found) => isAccepted(found, options),
  });
  if (done.state !== 'refused') {
    await tell(done, options);
    return EXIT.good;
  }
  const head = JSON.stringify({ ok: false, code: 'LOCK_DRIFT', file: output }).slice(0, -1);
  if (options.json)
    await printExact(`${head},"drift":${driftJson(done.drift, { lockfile: output }).trimEnd()}}\n`);
  const message =
    isAnswered() && !options.quiet
      ? 'The server changed since it was locked, and that was not accepted: nothing was written, the lock stays as it was.'
      : 'The server changed since it was locked, and the lock stays as it was. Accept it with --yes.';
  complain(new BullaError('LOCK_DRIFT', message));
  return EXIT.bad;
}

/** Shows what changed, and whether it is to be the new baseline. */
async function isAccepted(found: Drift, options: LockOptions): Promise<boolean> {
  const isGranted = options.force === true || options.yes === true;
  if (!options.quiet) say(driftText(found, tones(streams.stderr)));
  if (isGranted || options.quiet || !isAnswered()) return isGranted;
  const isGentle = found.items.every(({ prose, severity }) => prose === true || severity === 'info');
  return isGentle ? askKey('Only prose changed. Accept it?') : askYes('Is this the server that you want?');
}
