import type { CapabilityProfile } from '@bulla/core/capability';
import { InvalidArgumentError, Option } from 'commander';
import { type CapabilitySource, opaqueTools, openSources } from '../../app/index.ts';
import type { Command } from '../command.ts';
import { tellLines } from '../lock/server-lines.ts';
import { durationOption, positiveInteger } from '../terminal/input.ts';
import { collect, colors, type ReportOptions, say } from '../terminal/io.ts';

/** The options of the commands that read an agent, an envelope or a link. */
export interface SourceOptions extends ReportOptions {
  module: string[];
  profile?: CapabilityProfile;
  environment: string[];
  context?: string;
  allow?: string[];
  env: string[];
  timeout: number;
  memory: number;
  /** Whether the whole snapshot is wanted, with the agent's own context. */
  envelope?: boolean;
}

/** Keys between commas; none for the empty text. */
function keys(text: string): string[] {
  const list = text === '' ? [] : text.split(',').map((key) => key.trim());
  if (list.includes('')) throw new InvalidArgumentError('Keys stand between commas, none of them empty.');
  return list;
}

export function allowOption(): Option {
  const words = 'only these keys of the context count, between commas; none for ""';
  return new Option('--allow <keys>', words).argParser(keys);
}

export const SOURCE_HELP = `
A source is a JSON file (an envelope or a link; - is standard input) or a module, such as ./agent.ts or
./agent.ts#support, that exports what createRegisteredAgent made: under that name, else as agent, else as default.
A module is code and runs with your rights, in a process of its own; of the environment it sees what --env names.`;

/** Adds the options by which a source is read. */
export function sourceOptions(command: Command): Command {
  return command
    .option('-m, --module <file>', 'a module, whatever its name ends with', collect, [])
    .addOption(
      new Option(
        '-p, --profile <id>',
        'hash under this profile; for a link that names none, the one it was made under',
      ).choices(['khora', 'khora-icu']),
    )
    .option(
      '-e, --environment <file>',
      'a JSON object: what policies are asked in (default: {}); twice, one for each of two modules',
      collect,
      [],
    )
    .option('-c, --context <file>', 'a JSON object: the context of the invocation')
    .addOption(allowOption())
    .option('--env <name>', 'a variable that the module may see', collect, [])
    .addOption(durationOption('--timeout', 'how long a module may take', { initial: '30s' }))
    .option('--memory <mb>', 'how much memory a module may use', positiveInteger, 512)
    .option('--json', 'print one JSON document')
    .option('--quiet', 'print nothing but what was asked for; the exit code tells');
}

/** Opens the sources that a command names. */
export function sourcesOf(
  words: readonly string[],
  options: SourceOptions,
  count: number,
): Promise<CapabilitySource[]> {
  const output = options.quiet ? undefined : () => tellLines('module');
  const limits = { timeoutMs: options.timeout, memoryMb: options.memory, env: options.env, output };
  return openSources(words, { ...options, limits }, count);
}

/** Tells on standard error of tools whose hashes know nothing of their schemas. */
export function tellOpaque(sources: readonly CapabilitySource[], { quiet }: ReportOptions): void {
  if (quiet) return;
  const names = new Set(sources.flatMap(({ envelope }) => opaqueTools(envelope)));
  if (names.size === 0) return;
  const list = [...names].map((name) => JSON.stringify(name)).join(', ');
  say(
    `bulla: ${colors.yellow('opaque schemas')}: ${list}. Their hashes know only who made the schema; another one of the same library would hash alike.`,
  );
}
