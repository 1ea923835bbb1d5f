import { BullaError } from '@bulla/core/error';
import { type CurrentManifest, createManifests, type StoredVersion } from '../../manifest/index.ts';
import type { Store } from '../../store/index.ts';
import type { Command } from '../command.ts';
import { openFor, type StoreOptions } from '../store.ts';
import { indented } from '../terminal/indented.ts';
import { colors, printExact, type ReportOptions, report, say } from '../terminal/io.ts';

type ShowOptions = StoredOptions & ReportOptions;

export function defineShow(command: Command): void {
  const reporting = (sub: Command) =>
    sub
      .use(storedOptions)
      .option('--json', 'print one JSON document')
      .option('--quiet', 'print no facts about it');

  reporting(command.subcommand('show', 'Print a stored version of an agent’s manifest.'))
    .argument('<agent>', 'whose manifest')
    .argument('[version]', 'its number, or latest', 'latest')
    .option('--bindings [digest]', 'print its bindings instead: the last ones, or those of this digest')
    .helpText(`
Prints the manifest on standard output, and its version, hash and origin on standard error; with --json all in one
document. What is read is hashed again. Exits with 2 if there is no such version.

Examples:
  $ bulla manifest show desk
  $ bulla manifest show desk 3 > manifest-3.json
  $ bulla manifest show desk 3 --bindings > bindings-3.json`)
    .run(show);

  reporting(command.subcommand('versions', 'List the stored versions of an agent’s manifest.'))
    .argument('<agent>', 'whose manifest')
    .helpText(`
The first one first. Exits with 2 if the agent has no manifest.

Example:
  $ bulla manifest versions desk`)
    .run(versions);
}

async function show(
  agent: string,
  version: string,
  options: ShowOptions & { bindings?: string | true },
): Promise<void> {
  const number = parseVersion(version);
  if (options.bindings !== undefined) return showBindings(agent, number, options.bindings, options);
  const found = await reading(options, (store) => storedVersion(store, agent, number));
  if (options.json) {
    await printExact(documentOf(found));
    return;
  }
  if (!options.quiet) say([factsOf(found), `  ${found.hash}`]);
  await printExact(`${indented(found.manifest.canonical)}\n`);
}

/** Prints the bindings as they were hashed, so that they can be traced to. */
async function showBindings(
  agent: string,
  number: number | null,
  wanted: string | true,
  options: ShowOptions,
): Promise<void> {
  const found = await reading(options, async (store) => {
    const { version } = await storedVersion(store, agent, number);
    const all = await createManifests(store).bindings(agent);
    return all.findLast((one) => (wanted === true ? one.version === version : one.digest === wanted));
  });
  if (found === undefined)
    throw new BullaError('MANIFEST_NOT_FOUND', `The agent ${agent} never had bindings of this digest.`);
  const { version, digest, by, at, capsuleId, canonical } = found;
  if (options.json) {
    const facts = JSON.stringify({
      ...{ agent_id: agent, capability_manifest_version: version, digest },
      ...{ bound_by: by, bound_at: new Date(at).toISOString(), capsule_id: capsuleId },
    });
    await printExact(`${facts.slice(0, -1)},"bindings":${canonical}}\n`);
    return;
  }
  if (!options.quiet)
    say([`${agent} version ${version}, bound by ${by} on ${new Date(at).toISOString()}`, `  ${digest}`]);
  await printExact(`${canonical}\n`);
}

/** The manifest is written as it was hashed. */
function documentOf(found: CurrentManifest): string {
  const facts = JSON.stringify({ agent_id: found.agent, ...versionDocument(found) });
  return `${facts.slice(0, -1)},"manifest":${found.manifest.canonical}}\n`;
}

async function versions(agent: string, options: ShowOptions): Promise<void> {
  const all = await reading(options, async (store) => {
    await storedVersion(store, agent, null);
    return createManifests(store).versions(agent);
  });
  const document = { agent_id: agent, versions: all.map(versionDocument) };
  await report(options, document, () => all.map((each) => `${factsOf(each)}  ${colors.dim(each.hash)}`));
}

function versionDocument({ version, hash, bytes, breaking, by, at, capsuleId }: StoredVersion) {
  return {
    capability_manifest_version: version,
    capability_manifest_hash: hash,
    ...{ bytes, breaking },
    pushed_by: by,
    pushed_at: new Date(at).toISOString(),
    capsule_id: capsuleId,
  };
}

function factsOf({ agent, version, breaking, by, at }: StoredVersion): string {
  const mark = breaking ? `, ${colors.red('breaking')}` : '';
  return `${agent} version ${version}, pushed by ${by} on ${new Date(at).toISOString()}${mark}`;
}

/** The options of the commands that read manifests from a store: no chain is asked for. */
export type StoredOptions = Pick<StoreOptions, 'store' | 'tenant'>;

export function storedOptions(command: Command): Command {
  return command
    .option('--store <url>', 'the store: a file or postgres://… (default: BULLA_HOME/store.db)')
    .option('--tenant <name>', 'whose agents (default: those of no tenant)');
}

/** Does something with the store, opened to read. */
export async function reading<Result>(
  options: StoredOptions,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  await using at = await openFor({ ...options, chain: 'default' }, 'read');
  return await work(at.store);
}

/** A version of an agent's manifest; null stands for the newest. Throws `MANIFEST_NOT_FOUND`. */
export async function storedVersion(
  store: Store,
  agent: string,
  version: number | null,
): Promise<CurrentManifest> {
  const manifests = createManifests(store);
  const found = version === null ? await manifests.current(agent) : await manifests.version(agent, version);
  if (found !== null) return found;
  const name = JSON.stringify(agent);
  const all = await manifests.versions(agent);
  throw new BullaError(
    'MANIFEST_NOT_FOUND',
    all.length === 0
      ? `The store has no manifest of the agent ${name}.`
      : `The store has no version ${version} of the manifest of ${name}; the newest is ${all.at(-1)!.version}.`,
  );
}

const VERSION = /^(?:[1-9][0-9]{0,14}|latest)$/;

/** The number of a version, or null for `latest`. Throws `MANIFEST_VERSION`. */
function parseVersion(text: string): number | null {
  if (!VERSION.test(text))
    throw new BullaError('MANIFEST_VERSION', `${JSON.stringify(text)} is no version: 1, 2, 3, … or latest.`);
  return text === 'latest' ? null : Number(text);
}

/**
 * The agent and the version that `AGENT@VERSION` names; null for the name of a file. What begins with `./`, `../` or `/`
 * is a file in any case, so that what lies in a folder never decides what is read.
 */
export function parseStored(
  text: string,
): { readonly agent: string; readonly version: number | null } | null {
  const at = text.lastIndexOf('@');
  if (at < 1 || /^\.{0,2}\//.test(text) || !VERSION.test(text.slice(at + 1))) return null;
  return { agent: text.slice(0, at), version: parseVersion(text.slice(at + 1)) };
}
