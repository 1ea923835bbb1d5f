import {
  type AgentSnapshotEnvelope,
  type CapabilityLink,
  type CapabilityProfile,
  checkEnvelope,
  computeRuntimeHash,
  type LintFinding,
  readSnapshot,
} from '@bulla/core/capability';
import { BullaError } from '@bulla/core/error';
import { parse, toPlain } from '@bulla/core/json';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { positiveInteger } from '../terminal/input.ts';
import { colors, type ReportOptions, readInput, say } from '../terminal/io.ts';
import { isModule, runModule } from './module.ts';

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

/** Something that has hashes. */
export interface Source {
  readonly name: string;
  readonly link: CapabilityLink;
  readonly envelope?: AgentSnapshotEnvelope;
  /** As it was read, for those that read it themselves. */
  readonly input: unknown;
  readonly findings: readonly LintFinding[];
  readonly disabled: readonly { readonly name: string; readonly deniedBy: readonly string[] }[];
}

const collect = (value: string, previous: string[]) => [...previous, value];

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
    .option('-m, --module <file>', 'a module, whatever its name ends with; may be repeated', collect, [])
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
    .option('--env <name>', 'a variable that the module may see; may be repeated', collect, [])
    .option('--timeout <ms>', 'how long a module may take', positiveInteger, 30_000)
    .option('--memory <mb>', 'how much memory a module may use', positiveInteger, 512)
    .option('--json', 'print one JSON document')
    .option('--quiet', 'print nothing but what was asked for; the exit code tells');
}

/**
 * Opens `count` sources, in the order in which they are named. What is opened is whole: an envelope recomputes, and a
 * link's tools hash to its runtime hash. Throws `USAGE` for too many or too few, and what the readers and
 * `runModule` throw.
 */
export async function openSources(
  words: readonly string[],
  options: SourceOptions,
  count: number,
): Promise<Source[]> {
  const named = [
    ...words.map((word) => ({ word, module: isModule(word) })),
    ...options.module.map((word) => ({ word, module: true })),
  ];
  const { environment } = options;
  if (named.length !== count)
    throw new BullaError('USAGE', `Name ${count === 1 ? 'one source' : 'two sources'}.`);
  const modules = named.filter(({ module }) => module).length;
  if (environment.length > Math.max(1, modules) || (environment.length > 0 && modules === 0)) {
    const why = 'An environment is for a module: one for all of them, or one for each.';
    throw new BullaError('USAGE', why);
  }
  const sources: Source[] = [];
  let place = 0;
  for (const { word, module } of named) {
    if (!module) sources.push(openFile(word, options));
    else sources.push(await openModule(word, options, environment[place++] ?? environment[0]));
  }
  return sources;
}

/** The context of the invocation that was named, or undefined. */
export function contextOf({ context }: Pick<SourceOptions, 'context'>): unknown {
  return context === undefined ? undefined : plainFile(context);
}

function plainFile(file: string): unknown {
  return toPlain(parse(readInput(file)));
}

async function openModule(
  module: string,
  options: SourceOptions,
  environment: string | undefined,
): Promise<Source> {
  const { envelope, json, findings, disabled } = await runModule(
    {
      module,
      profile: options.profile,
      environment: environment === undefined ? {} : plainFile(environment),
      context: contextOf(options),
      allow: options.allow,
      staticContext: options.envelope ?? false,
    },
    {
      timeoutMs: options.timeout,
      memoryMb: options.memory,
      env: options.env,
      isShown: !options.quiet,
    },
  );
  const name = environment === undefined ? module : `${module} in ${environment}`;
  return { name, link: envelope.runtime.link, envelope, input: json, findings, disabled };
}

function openFile(file: string, { profile }: SourceOptions): Source {
  const bytes = readInput(file);
  const snapshot = readSnapshot(bytes, profile && { profile });
  const rest = { name: file, input: bytes, findings: [], disabled: [] };
  const made = (snapshot.kind === 'envelope' ? snapshot.envelope.runtime : snapshot).link.profile;
  if (profile !== undefined && profile !== made) {
    throw new BullaError('USAGE', `${file} was hashed under ${made}; only a module can be hashed anew.`);
  }
  if (snapshot.kind === 'envelope') {
    const envelope = checkEnvelope(snapshot.envelope);
    return { ...rest, link: envelope.runtime.link, envelope };
  }
  const { link } = snapshot;
  if (computeRuntimeHash(link.toolRefs, link) !== link.runtimeHash) {
    const why = 'The tool refs do not hash to the runtime hash.';
    throw new BullaError('CAPABILITY_ENVELOPE_INVALID', why, { path: '/runtimeHash' });
  }
  return { ...rest, link };
}

/** Tells on standard error of tools whose hashes know nothing of their schemas. */
export function tellOpaque(sources: readonly Source[], { quiet }: ReportOptions): void {
  if (quiet) return;
  const names = new Set(sources.flatMap(({ envelope }) => opaqueTools(envelope)));
  if (names.size === 0) return;
  const list = [...names].map((name) => JSON.stringify(name)).join(', ');
  say(
    `bulla: ${colors.yellow('opaque schemas')}: ${list}. Their hashes know only who made the schema; another one of the same library would hash alike.`,
  );
}

export function opaqueTools(envelope: AgentSnapshotEnvelope | undefined): string[] {
  const tools = envelope?.runtime.affordances.tools ?? {};
  return Object.keys(tools).filter((name) => tools[name]!.opaque);
}
