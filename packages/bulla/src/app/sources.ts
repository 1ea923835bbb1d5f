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
import { readInput } from '../os/index.ts';
import { isModule, type ModuleLimits, runModule } from './module.ts';

/** Where agents, envelopes and links are read from, and how modules are run. */
interface SourcesInput {
  /** Modules, whatever their names end with. */
  readonly module: readonly string[];
  readonly profile?: CapabilityProfile | undefined;
  /** Files: what policies are asked in; one for all modules, or one for each. */
  readonly environment: readonly string[];
  /** The file of the context of the invocation. */
  readonly context?: string | undefined;
  /** Only these keys of the context count. */
  readonly allow?: readonly string[] | undefined;
  /** Whether the whole snapshot is wanted, with the agent's own context. */
  readonly envelope?: boolean | undefined;
  readonly limits: ModuleLimits;
}

/** Something that has hashes. */
export interface CapabilitySource {
  readonly name: string;
  readonly link: CapabilityLink;
  readonly envelope?: AgentSnapshotEnvelope;
  /** As it was read, for those that read it themselves. */
  readonly input: unknown;
  readonly findings: readonly LintFinding[];
  readonly disabled: readonly { readonly name: string; readonly deniedBy: readonly string[] }[];
}

/**
 * Opens `count` sources, in the order in which they are named. What is opened is whole: an envelope recomputes, and a
 * link's tools hash to its runtime hash. Throws `USAGE` for too many or too few, and what the readers and
 * `runModule` throw.
 */
export async function openSources(
  /** Files of JSON, `-` for standard input, or modules by their names. */
  sources: readonly string[],
  input: SourcesInput,
  count: number,
): Promise<CapabilitySource[]> {
  const { environment: environments } = input;
  const named = [
    ...sources.map((word) => ({ word, module: isModule(word) })),
    ...input.module.map((word) => ({ word, module: true })),
  ];
  if (named.length !== count)
    throw new BullaError('USAGE', `Name ${count === 1 ? 'one source' : 'two sources'}.`);
  const modules = named.filter(({ module }) => module).length;
  if (environments.length > Math.max(1, modules) || (environments.length > 0 && modules === 0)) {
    const why = 'An environment is for a module: one for all of them, or one for each.';
    throw new BullaError('USAGE', why);
  }
  const opened: CapabilitySource[] = [];
  let next = 0;
  for (const { word, module } of named) {
    if (!module) opened.push(openFile(word, input));
    else opened.push(await openModule(word, input, environments[next++] ?? environments[0]));
  }
  return opened;
}

/** The context of an invocation in a file; undefined for none. */
export function readContext(file: string | undefined): unknown {
  return file === undefined ? undefined : plainFile(file);
}

function plainFile(file: string): unknown {
  return toPlain(parse(readInput(file, 'document')));
}

async function openModule(
  module: string,
  { profile, context, allow, envelope: staticContext = false, limits }: SourcesInput,
  environment: string | undefined,
): Promise<CapabilitySource> {
  const env = environment === undefined ? {} : plainFile(environment);
  const asked = { profile, allow, staticContext, context: readContext(context), env };
  const { envelope, json, findings, disabled } = await runModule(module, asked, limits);
  const name = environment === undefined ? module : `${module} in ${environment}`;
  return { name, link: envelope.runtime.link, envelope, input: json, findings, disabled };
}

function openFile(file: string, { profile }: SourcesInput): CapabilitySource {
  const bytes = readInput(file, 'document');
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

/** Tools whose hashes know nothing of their schemas. */
export function opaqueTools(envelope: AgentSnapshotEnvelope | undefined): string[] {
  const tools = envelope?.runtime.affordances.tools ?? {};
  return Object.keys(tools).filter((name) => tools[name]!.opaque);
}
