import { BullaError } from '@bulla/core/error';
import { Command, CommanderError } from 'commander';
import { COMPAT, checkCompat, compatExit } from './compat.ts';
import { complain, EXIT, type Exit, errorDocument, exitOf, print } from './io.ts';
import { VERSION } from './version.ts';

/** A command module: it adds its options and its action, which gives the exit code. */
export interface CommandModule {
  define(command: Command, run: Run): void;
}
/** Wraps an action, so that its exit code and its errors reach the process. */
export type Run = <A extends unknown[]>(
  action: (...args: A) => Promise<Exit>,
) => (...args: A) => Promise<void>;

/** Every command, in the order of the help text. Only the one that is called is loaded. */
const COMMANDS: { name: string; alias?: string; summary: string; load(): Promise<CommandModule> }[] = [
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
  { name: 'scan', summary: 'show all that a tool server offers', load: () => import('./scan.ts') },
  {
    name: 'lock',
    summary: 'pin all that a tool server offers in a lockfile',
    load: () => import('./lock.ts'),
  },
  {
    name: 'check',
    summary: 'tell whether a server still is as it was locked',
    load: () => import('./check.ts'),
  },
  {
    name: 'diff',
    summary: 'show what changed since a lock, or between two',
    load: () => import('./diff.ts'),
  },
  {
    name: 'keygen',
    summary: 'make a pair of keys to sign lockfiles with',
    load: () => import('./keygen.ts'),
  },
  { name: 'sign', summary: 'sign a lockfile', load: () => import('./sign.ts') },
  {
    name: 'bundle',
    summary: 'pack a signed lock to hand on, and verify such a bundle',
    load: () => import('./bundle.ts'),
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
    name: 'guard',
    alias: 'proxy',
    summary: 'stand between a host and its tool server: pass what is locked, record every call',
    load: () => import('./guard.ts'),
  },
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
  for (const { name, alias, summary, load } of COMMANDS) {
    const command = program
      .command(name)
      .summary(summary)
      .description(`${summary[0]!.toUpperCase()}${summary.slice(1)}.`);
    if (alias !== undefined) command.alias(alias);
    if (called.has(name) || (alias !== undefined && called.has(alias))) (await load()).define(command, run);
  }
  for (const command of [program, ...program.commands, ...program.commands.flatMap((c) => c.commands)]) {
    command.exitOverride();
  }
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
