import { type CapabilityLink, computeInvocationContextHash, type LintFinding } from '@bulla/core/capability';
import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type JsonObject, parse, stringify } from '@bulla/core/json';
import { visible } from '@bulla/core/text';
import { Option } from 'commander';
import { type CapabilitySource, opaqueTools, readContext } from '../../app/index.ts';
import { replaceFile } from '../../os/index.ts';
import type { Command } from '../command.ts';
import { indented } from '../terminal/indented.ts';
import { colors, EXIT, type Exit, print, printExact, printJson, report } from '../terminal/io.ts';
import { SOURCE_HELP, type SourceOptions, sourceOptions, sourcesOf, tellOpaque } from './source.ts';

/** The hashes that can be asked for, and where a link has them. */
const FIELDS = {
  static: 'staticHash',
  runtime: 'runtimeHash',
  invocation: 'invocationHash',
  instructions: 'instructionsHash',
} as const satisfies Record<string, keyof CapabilityLink>;

interface HashCommandOptions extends SourceOptions {
  of: keyof typeof FIELDS;
}
interface LinkCommandOptions extends SourceOptions {
  output?: string;
}

export function defineHash(command: Command): void {
  command
    .subcommand(
      'hash',
      'Print one of the hashes of an agent: what is defined, what is enabled, what it is bound to.',
    )
    .argument('[source]', 'a module, an envelope or a link; for an invocation alone, none')
    .use(sourceOptions)
    .addOption(new Option('--of <hash>', 'which hash').choices(Object.keys(FIELDS)).default('static'))
    .helpText(`${SOURCE_HELP}

Examples:
  $ bulla capability hash ./agent.ts
  $ bulla capability hash ./agent.ts --of runtime --environment pro.json
  $ bulla capability hash --of invocation --context turn.json --allow tenantId,subjectId`)
    .run(hash);

  command
    .subcommand('link', 'Write the capability link of an agent: its hashes and those of its enabled tools.')
    .argument('[source]', 'a module, or an envelope whose link is taken')
    .use(sourceOptions)
    .option('--envelope', 'write the whole snapshot, with which everyone can compute the hashes again')
    .option('-o, --output <file>', 'where to write (default: standard output)')
    .helpText(`${SOURCE_HELP}

Examples:
  $ bulla capability link ./agent.ts --environment pro.json -o pro.link.json
  $ bulla capability link ./agent.ts --envelope -o agent.envelope.json`)
    .run(link);

  command
    .subcommand(
      'lint',
      'Tell what is weak in the definition of an agent: schemas that hash alike, twins, profiles.',
    )
    .argument('[source]', 'a module')
    .use(sourceOptions)
    .helpText(`${SOURCE_HELP}\nExits with 1 when there are findings.`)
    .run(lint);
}

async function hash(source: string | undefined, options: HashCommandOptions): Promise<void> {
  const field = FIELDS[options.of];
  const words = source === undefined ? [] : [source];
  if (words.length === 0 && options.module.length === 0 && options.of === 'invocation')
    return contextHash(options);
  const sources = await sourcesOf(words, options, 1);
  const { name, link, findings } = sources[0]!;
  if (options.json) {
    const { profile, schemaSource, staticHash, runtimeHash } = link;
    await printJson({
      ...{ ok: true, source: name, profile, schema_source: schemaSource },
      hashes: {
        static: staticHash,
        runtime: runtimeHash,
        invocation: link.invocationHash ?? null,
        instructions: link.instructionsHash ?? null,
      },
      tools: link.toolRefs.map(({ toolKey, toolHash }) => ({ name: toolKey, hash: toolHash })),
      ...{ disabled: sources[0]!.disabled, opaque: opaqueTools(sources[0]!.envelope), findings },
    });
    return;
  }
  const value = link[field];
  if (value === undefined) {
    const why = `There is no hash of the ${options.of}${options.of === 'invocation' ? '; give --context' : ''}.`;
    throw new BullaError('USAGE', why);
  }
  tellOpaque(sources, options);
  await print(`${value}\n`);
}

/** The hash of a context needs no agent. */
async function contextHash(options: HashCommandOptions): Promise<void> {
  const context = readContext(options.context);
  if (context === undefined) throw new BullaError('USAGE', 'Name a source, or give --context.');
  const { profile = 'khora', allow } = options;
  const value = computeInvocationContextHash(context, { profile, allowlist: allow });
  if (options.json) await printJson({ ok: true, profile, hashes: { invocation: value } });
  else await print(`${value}\n`);
}

async function link(source: string | undefined, options: LinkCommandOptions): Promise<void> {
  const sources = await sourcesOf(source === undefined ? [] : [source], options, 1);
  const { name, link: made, envelope } = sources[0]!;
  if (options.envelope && envelope === undefined) {
    throw new BullaError('USAGE', `${name} is a link, which cannot be made an envelope again.`);
  }
  tellOpaque(sources, options);
  const text = options.envelope ? envelopeText(sources[0]!) : `${JSON.stringify(made, null, 2)}\n`;
  if (options.output === undefined) {
    await printExact(text);
    return;
  }
  replaceFile(options.output, toUtf8(text));
  const written = { ok: true, file: options.output, link: made };
  await report(options, written, () => {
    return `${options.envelope ? 'envelope' : 'link'} of ${visible(made.agentName)} with ${tools(made)}: ${options.output}`;
  });
}

function tools({ toolRefs }: CapabilityLink): string {
  return toolRefs.length === 1 ? '1 tool' : `${toolRefs.length} tools`;
}

function envelopeText({ input }: CapabilitySource): string {
  const json = input instanceof Uint8Array ? parse(input) : (input as JsonObject);
  return `${indented(stringify(json))}\n`;
}

async function lint(source: string | undefined, options: SourceOptions): Promise<Exit> {
  const [found] = await sourcesOf(source === undefined ? [] : [source], options, 1);
  const { name, findings, envelope } = found!;
  // Of a file only the marks are known, and of a link not even those.
  if (envelope === undefined || found!.input instanceof Uint8Array) {
    const why = `${name} holds no definition that could be looked at; name the module.`;
    throw new BullaError('USAGE', why);
  }
  await report(options, { ok: findings.length === 0, source: name, findings }, () =>
    findings.length === 0 ? 'Nothing to tell.' : findings.map(findingText).join('\n'),
  );
  return findings.length === 0 ? EXIT.good : EXIT.bad;
}

function findingText({ code, place, message }: LintFinding): string {
  return `${colors.yellow(code)}  ${colors.bold(visible(place))}\n  ${visible(message)}`;
}
