import { BullaError } from '@bulla/core/error';
import { Command, CommanderError } from 'commander';
import { complain, EXIT, type Exit, errorDocument, exitOf, print } from './io.ts';

declare const BULLA_VERSION: string;

/** A command module: it adds its options and its action, which gives the exit code. */
export interface CommandModule {
  define(command: Command, run: Run): void;
}
/** Wraps an action, so that its exit code and its errors reach the process. */
export type Run = <A extends unknown[]>(
  action: (...args: A) => Promise<Exit>,
) => (...args: A) => Promise<void>;

/** Every command, in the order of the help text. Only the one that is called is loaded. */
const COMMANDS: { name: string; summary: string; load(): Promise<CommandModule> }[] = [
  {
    name: 'canon',
    summary: 'write the canonical bytes of a JSON document',
    load: () => import('./canon.ts'),
  },
  { name: 'hash', summary: 'print the digest of a JSON document', load: () => import('./hash.ts') },
  {
    name: 'profiles',
    summary: 'list the canonical forms that are known',
    load: () => import('./profiles.ts'),
  },
  {
    name: 'lint',
    summary: 'tell where a document is hashed differently by others',
    load: () => import('./lint.ts'),
  },
  { name: 'verify', summary: 'verify any artifact that Bulla knows', load: () => import('./verify.ts') },
  { name: 'keys', summary: 'make, rotate, list, show and convert keys', load: () => import('./keys.ts') },
  {
    name: 'capsule',
    summary: 'seal, verify, show, export, import and resolve capsules',
    load: () => import('./capsule.ts'),
  },
  {
    name: 'chain',
    summary: 'verify a chain, tell its head and its statistics',
    load: () => import('./chain.ts'),
  },
  {
    name: 'checkpoint',
    summary: 'make, list and show checkpoints of a chain',
    load: () => import('./checkpoint.ts'),
  },
  {
    name: 'prove',
    summary: 'write a proof that a capsule is in its chain',
    load: () => import('./prove.ts'),
  },
  {
    name: 'consistency',
    summary: 'prove that a log only grew between two checkpoints',
    load: () => import('./consistency.ts'),
  },
  {
    name: 'witness',
    summary: 'run a witness, add one to the policy, tell what they cosigned',
    load: () => import('./witness.ts'),
  },
  { name: 'tiles', summary: 'publish the log of a chain as static files', load: () => import('./tiles.ts') },
  {
    name: 'kill',
    summary: 'stop an agent, or everything, until it is lifted',
    load: () => import('./kill.ts'),
  },
  { name: 'demo', summary: 'show, in a minute, what is here', load: () => import('./demo.ts') },
];

export async function main(argv: readonly string[]): Promise<void> {
  const program = new Command('bulla')
    .description('Bulla stands between an AI agent and its tools: it pins, permits, binds and seals.')
    .version(BULLA_VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .showHelpAfterError("(see 'bulla --help')")
    .addHelpText(
      'after',
      '\nExit codes: 0 good, 1 what was checked is bad, 2 wrong usage or unreadable input, 3 could not decide.',
    );
  const called = new Set(argv.slice(2));
  for (const { name, summary, load } of COMMANDS) {
    const command = program
      .command(name)
      .summary(summary)
      .description(`${summary[0]!.toUpperCase()}${summary.slice(1)}.`);
    if (called.has(name)) (await load()).define(command, run);
  }
  for (const command of [program, ...program.commands, ...program.commands.flatMap((c) => c.commands)]) {
    command.exitOverride();
  }
  try {
    await program.parseAsync(argv);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // Commander has printed what is wrong; help and version are no errors.
    process.exitCode = error.exitCode === 0 ? EXIT.good : EXIT.usage;
  }
}

const run: Run =
  (action) =>
  async (...args) => {
    try {
      process.exitCode = await action(...args);
    } catch (error) {
      complain(error);
      process.exitCode = exitOf(error);
      const asked = args.some(
        (arg) => typeof arg === 'object' && arg !== null && (arg as { json?: boolean }).json,
      );
      if (asked && error instanceof BullaError) await print(`${JSON.stringify(errorDocument(error))}\n`);
    }
  };
