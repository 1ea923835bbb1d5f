import { existsSync } from 'node:fs';
import { type Artifact, LIST_KINDS, type RiskLevel, riskOf } from '@bulla/core/lock';
import { counted, visible } from '@bulla/core/text';
import { deceptions, isPrivateAllowed, type Locked } from '../../app/index.ts';
import { SIGNATURE_KINDS } from '../../locks/index.ts';
import { type HostConfig, hostConfig, hostConfigText, relativePaths, typed } from '../guard/host-config.ts';
import { colors, report } from '../terminal/io.ts';
import { COMPAT } from './compat.ts';
import { confineWords } from './confine.ts';
import type { LockOptions } from './lock.ts';
import { countWords, findingText } from './scan.ts';
import { textOf } from './scan-document.ts';
import { reachVariables, reachWords } from './server.ts';

const RISKS: readonly RiskLevel[] = ['HIGH', 'MEDIUM', 'LOW'];

/** Tells what became of the lockfile, what it holds, and what whoever made it should know. */
export async function tell(done: Locked, options: LockOptions): Promise<void> {
  const { artifact, authorization: _, target, leftOut, surface, warnings, ...state } = done;
  const levels = surface.tools.map((tool) => riskOf(tool).level);
  const risk = RISKS.map((level) => [level, levels.filter((other) => other === level).length] as const);
  const counts = Object.fromEntries(LIST_KINDS.map((kind) => [kind, surface[kind].length]));
  const findings = deceptions(surface);
  const config = configFor(done, options);
  const document = {
    ok: true,
    file: options.output,
    ...state,
    ...(artifact && { artifact: pinDocument(artifact) }),
    counts,
    ...(leftOut.size > 0 && { leftOut: [...leftOut] }),
    risk: Object.fromEntries(risk),
    warnings,
    findings,
    config,
  };
  await report(options, document, () => {
    if (COMPAT) return compatText(done, options);
    const remarks = [
      ...(target.kind === 'stdio' ? relativePaths(target) : []).map(
        (path) =>
          `${short(path)} is a path in this folder, which a host does not find; lock it by its absolute path.`,
      ),
      ...staleSignatures(done, options).map((file) => `${file} is of the lock before this one; sign anew.`),
      // A server can have any number of these, so they come last and their number is limited.
      ...warnings.map(({ code, message }) => `${short(message)} ${colors.dim(`[${code}]`)}`),
      ...findings.map(findingText),
    ];
    return summary(done, risk, remarks, options.output, config);
  });
}

/** How a host reaches the server through the guard. */
function configFor(
  { target, artifact, authorization, surface }: Locked,
  { output, ...options }: LockOptions,
): HostConfig {
  const name = textOf(surface.serverInfo, 'name');
  // A machine that has not fetched the package yet fetches it as it was fetched here.
  const isPrivate = artifact !== null && artifact.type !== 'oci' && isPrivateAllowed(options);
  return hostConfig({
    ...{ name, target, lock: output, pinned: artifact !== null },
    options: [
      ...(isPrivate ? ['--allow-private-registry'] : []),
      ...confineWords(options),
      ...reachWords(options, authorization.scheme === 'oauth'),
    ],
    variables: reachVariables(options),
  });
}

/** What is pinned, without the tree, which is as long as it is. */
function pinDocument(artifact: Artifact): Record<string, unknown> {
  const { type, name, version, integrity, image, digest, tree } = artifact;
  const packages = tree === null ? null : { digest: tree.digest, count: tree.packages.size };
  return type === 'oci' ? { type, image, digest } : { type, name, version, integrity, tree: packages };
}

function pinText({ type, name, version, image, digest, tree }: Artifact): string {
  if (type === 'oci') return visible(`${image}@${digest}`);
  const packages =
    tree === null ? 'without what it needs' : `${tree.packages.size} packages, tree ${tree.digest}`;
  return visible(`${name} ${version}: ${packages}`);
}

/** An address may be as long as a server likes. */
function short(text: string): string {
  return visible(text.length > MAX_REMARK ? `${text.slice(0, MAX_REMARK)}…` : text);
}

function staleSignatures({ state }: Locked, { output }: LockOptions): string[] {
  const files = Object.values(SIGNATURE_KINDS).map((ending) => `${output}${ending}`);
  return state === 'unchanged' ? [] : files.filter((file) => existsSync(file));
}

const MAX_NAMES = 20;

function fewNames(names: readonly string[]): string {
  const more = names.length > MAX_NAMES ? [`and ${names.length - MAX_NAMES} more`] : [];
  return [...names.slice(0, MAX_NAMES).map(short), ...more].join(', ');
}

const MAX_REMARKS = 10;
const MAX_REMARK = 400;

function summary(
  { state, format, artifact, leftOut, surface }: Locked,
  risk: readonly (readonly [RiskLevel, number])[],
  remarks: readonly string[],
  output: string,
  config: HostConfig,
): string {
  const what = { created: 'locked', updated: 'locked anew', unchanged: 'unchanged' }[state];
  const levels = risk.filter(([, count]) => count > 0).map(([level, count]) => `${count} ${level}`);
  const [tools, ...others] = countWords(surface);
  const counts = [`${tools}${levels.length === 0 ? '' : ` (risk: ${levels.join(', ')})`}`, ...others];
  const next = (...words: string[]) =>
    typed([...words.slice(0, 1), ...(output === 'mcp-lock.json' ? [] : ['-l', output]), ...words.slice(1)]);
  return [
    `${colors.green(what)}  ${output}: ${counts.join(', ')}`,
    ...(artifact === null ? [] : [`  ${colors.green('pinned')} ${pinText(artifact)}`]),
    ...(leftOut.size === 0
      ? []
      : [
          `  ${colors.yellow('left out')} ${counted(leftOut.size, 'tool')}, on purpose: ${fewNames([...leftOut])}`,
        ]),
    ...(format === 'native'
      ? []
      : [
          `  ${colors.yellow('note')} It holds hashes only: what changes is told, but cannot be shown. --format native keeps all.`,
        ]),
    ...remarks.slice(0, MAX_REMARKS).map((remark) => `  ${colors.yellow('warning')} ${remark}`),
    ...(remarks.length > MAX_REMARKS
      ? [`  ${colors.yellow('warning')} and ${remarks.length - MAX_REMARKS} more; --json lists them`]
      : []),
    colors.dim(
      state === 'unchanged'
        ? '  The server is as it was locked, and the file as it was.'
        : `  Next: ${next('check')}, before each use; ${next('sign', '-k', 'private.key')}, to hand it on`,
    ),
    colors.dim('  To put the guard before it, this is the configuration for your host:'),
    hostConfigText(config),
  ].join('\n');
}

/** The released program's words. */
function compatText({ state, surface }: Locked, { output, v3 }: LockOptions): string {
  const { tools, prompts, resourceTemplates } = surface;
  if (state === 'unchanged') return 'No drift detected - lockfile is up to date';
  if (!v3) return `✓ Lockfile created: ${output}\n  Locked ${tools.length} tool(s)`;
  return [
    `\n✓ Lockfile v3 created: ${output}`,
    `  Prompts: ${prompts.length}`,
    `  Templates: ${resourceTemplates.length}`,
    `  Tools: ${tools.length}`,
  ].join('\n');
}
