import { BullaError, withoutSecrets } from '@bulla/core/error';
import { CommanderError, Help, type Option } from 'commander';
import { describeTarget } from '../locks/index.ts';
import { VERSION } from '../version.ts';
import { Command, type Run } from './command.ts';
import { COMMANDS } from './commands.ts';
import { COMPAT, checkCompat, compatExit } from './lock/compat.ts';
import {
  colors,
  complain,
  EXIT,
  type Exit,
  errorDocument,
  exitOf,
  oneLine,
  print,
  printJson,
  say,
} from './terminal/io.ts';
import { streams } from './terminal/streams.ts';

// For a program that runs commands inside itself.
export { takeStandardInput } from '../os/index.ts';

/** Runs one command and gives the exit code of the process. */
export async function main(given: readonly string[]): Promise<Exit> {
  const argv = helpOf(given);
  let exit: Exit = EXIT.good;
  const run: Run =
    (action) =>
    async (...args) => {
      try {
        exit = compatExit((await action(...args)) ?? EXIT.good);
      } catch (thrown) {
        const error = firstFailure(thrown);
        complain(error);
        exit = compatExit(exitOf(error));
        const asked = args.some(
          (arg) => typeof arg === 'object' && arg !== null && (arg as { json?: boolean }).json,
        );
        if (asked && error instanceof BullaError) await printJson(errorDocument(error));
      }
    };
  const end = argv.indexOf('--');
  const called = new Set(argv.slice(2, end < 0 ? undefined : end));
  const program = await programOf(run, (name) => called.has(name));
  try {
    checkCompat();
    await program.parseAsync(argv);
  } catch (error) {
    if (error instanceof BullaError) complain(error);
    else if (!(error instanceof CommanderError)) throw error;
    else if (
      error.code === 'commander.unknownOption' &&
      end < 0 &&
      SERVER_COMMANDS.some((name) => called.has(name))
    )
      say([
        `The server's command stands after --, with its own options: ${separated(program, argv.slice(2))}`,
      ]);
    // Commander has printed what is wrong; help and version are no errors.
    const isGood = error instanceof CommanderError && error.exitCode === 0;
    exit = compatExit(isGood ? EXIT.good : EXIT.usage);
  }
  return exit;
}

/** What failed first, where closing a store at the end of its scope failed as well. */
function firstFailure(thrown: unknown): unknown {
  return thrown instanceof SuppressedError ? firstFailure(thrown.suppressed) : thrown;
}

/** `help chain verify` is `chain verify --help`: Commander's own looks at the first word alone. */
function helpOf(argv: readonly string[]): readonly string[] {
  const [node, program, first, ...words] = argv;
  return first === 'help' && words.length > 1 ? [node!, program!, ...words, '--help'] : argv;
}

/**
 * Lets what the engine itself would print, raw, go through the print boundary: warnings, and a defect that nobody
 * caught, after which nothing is decided. For the process that is ours alone.
 */
export function holdProcess(): void {
  if (process.listenerCount('warning') > 0) {
    process.removeAllListeners('warning');
    process.on('warning', (warning: Error & { code?: string }) => {
      const code = warning.code === undefined ? '' : ` ${colors.dim(`[${warning.code}]`)}`;
      say([`${colors.yellow('bulla:')} ${withoutSecrets(warning.message)}${code}`]);
    });
  }
  process.on('uncaughtException', (error) => {
    complain(error);
    process.exit(EXIT.undecided);
  });
}

/** All commands; those that are called are loaded, with their options and subcommands. */
export async function programOf(run: Run, isCalled: (name: string) => boolean): Promise<Command> {
  const program = new Command('bulla', run)
    .description('Bulla stands between an AI agent and its tools: it pins, permits, binds and seals.')
    .version(
      COMPAT ? `mcptrust version ${VERSION}` : VERSION,
      COMPAT ? '-v, --version' : '-V, --version',
      'print the version',
    )
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .configureHelp({ optionDescription })
    .configureOutput({
      writeOut: (text) => void print(text),
      writeErr: (text) => say(text.replace(/\n$/, '')),
      // It quotes words of the command line; its own second line is a suggestion.
      outputError: (text, write) =>
        write(
          withoutSecrets(text)
            .trimEnd()
            .split(/\n(?=\(Did you mean )/)
            .map(oneLine)
            .join('\n'),
        ),
      getOutHelpWidth: () => streams.stdout.columns ?? HELP_WIDTH,
      getErrHelpWidth: () => streams.stderr.columns ?? HELP_WIDTH,
    })
    .helpText(
      '\nExit codes: 0 good, 1 what was checked is bad, 2 wrong usage or unreadable input, 3 could not decide.\nKeys and records lie in BULLA_HOME (default: ~/.local/share/bulla, XDG_DATA_HOME/bulla if that is set; on macOS\n~/Library/Application Support/bulla; on Windows %LOCALAPPDATA%\\bulla).',
    );
  for (const [title, entries] of Object.entries(COMMANDS)) {
    for (const [name, summary, load, alias] of entries) {
      const command = program
        .command(name)
        .helpGroup(`${title}:`)
        .summary(summary)
        .description(`${summary[0]!.toUpperCase()}${summary.slice(1)}.`);
      if (alias !== undefined) command.alias(alias);
      if (isCalled(name) || (alias !== undefined && isCalled(alias))) (await load()).define(command);
    }
  }
  prepare(program, program.name());
  return program;
}

/** An option in help. The default of one that collects values is a list. */
function optionDescription(option: Option): string {
  return new Help().optionDescription(option).replace('default: []', 'may be repeated');
}

/** Those that start a server. Its options are not theirs. */
const SERVER_COMMANDS = ['scan', 'lock', 'check', 'diff', 'policy', 'run', 'guard', 'proxy'];

/** What was typed, with `--` before the first word that is neither ours nor the value of an option of ours. */
function separated(program: Command, words: readonly string[]): string {
  let command = program;
  let at = 0;
  for (let sub: Command | undefined; ; at++) {
    sub = command.commands.find((one) => one.name() === words[at] || one.alias() === words[at]);
    if (sub === undefined) break;
    command = sub;
  }
  const path = words.slice(0, at);
  for (; at < words.length && words[at]!.startsWith('-'); at++) {
    const option = command.options.find(({ short, long }) => short === words[at] || long === words[at]);
    if (option?.required) at++;
  }
  const typed =
    at < words.length
      ? [...words.slice(0, at), '--', ...words.slice(at)]
      : [...path, '--', 'npx', '-y', 'some-server'];
  return describeTarget({ kind: 'stdio', command: 'bulla', args: typed, env: [] });
}

const HELP_WIDTH = 100;

/** Commander must not end the process itself, at any depth of subcommands, and each points to its own help. */
function prepare(command: Command, path: string): void {
  command.exitOverride().showHelpAfterError(`(see '${path} --help')`);
  for (const sub of command.commands) prepare(sub, `${path} ${sub.name()}`);
}
