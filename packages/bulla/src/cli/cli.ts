import { BullaError } from '@bulla/core/error';
import { Command, CommanderError } from 'commander';
import { COMMANDS, type Run } from './commands.ts';
import { COMPAT, checkCompat, compatExit } from './compat.ts';
import { complain, EXIT, errorDocument, exitOf, print } from './io.ts';
import { VERSION } from './version.ts';

export async function main(argv: readonly string[]): Promise<void> {
  const program = new Command('bulla')
    .description('Bulla stands between an AI agent and its tools: it pins, permits, binds and seals.')
    .version(
      COMPAT ? `mcptrust version ${VERSION}` : VERSION,
      COMPAT ? '-v, --version' : '-V, --version',
      'print the version',
    )
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .showHelpAfterError("(see 'bulla --help')")
    .addHelpText(
      'after',
      '\nExit codes: 0 good, 1 what was checked is bad, 2 wrong usage or unreadable input, 3 could not decide.',
    );
  const end = argv.indexOf('--');
  const called = new Set(argv.slice(2, end < 0 ? undefined : end));
  for (const { title, entries } of COMMANDS) {
    for (const { name, alias, summary, load } of entries) {
      const command = program
        .command(name)
        .helpGroup(`${title}:`)
        .summary(summary)
        .description(`${summary[0]!.toUpperCase()}${summary.slice(1)}.`);
      if (alias !== undefined) command.alias(alias);
      if (called.has(name) || (alias !== undefined && called.has(alias))) (await load()).define(command, run);
    }
  }
  overrideExits(program);
  try {
    checkCompat();
    await program.parseAsync(argv);
  } catch (error) {
    if (error instanceof BullaError) complain(error);
    else if (!(error instanceof CommanderError)) throw error;
    // Commander has printed what is wrong; help and version are no errors.
    const isGood = error instanceof CommanderError && error.exitCode === 0;
    process.exitCode = compatExit(isGood ? EXIT.good : EXIT.usage);
  }
}

/** Commander must not end the process itself, at any depth of subcommands. */
function overrideExits(command: Command): void {
  command.exitOverride();
  for (const sub of command.commands) overrideExits(sub);
}

const run: Run =
  (action) =>
  async (...args) => {
    try {
      process.exitCode = compatExit(await action(...args));
    } catch (error) {
      complain(error);
      process.exitCode = compatExit(exitOf(error));
      const asked = args.some(
        (arg) => typeof arg === 'object' && arg !== null && (arg as { json?: boolean }).json,
      );
      if (asked && error instanceof BullaError) await print(`${JSON.stringify(errorDocument(error))}\n`);
    }
  };
