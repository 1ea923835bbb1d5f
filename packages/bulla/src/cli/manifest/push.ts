import { userInfo } from 'node:os';
import { type Decision, resultOf } from '@bulla/core/consent';
import { changeJson, diffText, ManifestError, type ManifestProblem } from '@bulla/core/manifest';
import { counted } from '@bulla/core/text';
import { pushManifest } from '../../app/index.ts';
import type { Pushed } from '../../manifest/index.ts';
import { readInput } from '../../os/index.ts';
import type { Command } from '../command.ts';
import { openFor, type StoreOptions, sealOptions } from '../store.ts';
import {
  capsuleNames,
  colors,
  EXIT,
  type Exit,
  printJson,
  type ReportOptions,
  report,
  reportOptions,
  say,
} from '../terminal/io.ts';
import { problemLines } from './validate.ts';

interface PushOptions extends StoreOptions, ReportOptions {
  agent: string;
  bindings?: string;
  idempotencyKey?: string;
}

export function definePush(command: Command): void {
  command
    .subcommand('push', 'Make a manifest the next version of an agent’s, and seal that.')
    .argument('<file>', 'the manifest; - is standard input')
    .requiredOption('--agent <id>', 'whose manifest it is')
    .use(sealOptions)
    .option('--bindings <file>', 'which tools of servers its tools are (default: what they were)')
    .option('--idempotency-key <key>', 'the same key is one version, however often it is sent')
    .use(reportOptions)
    .helpText(`
Every version is kept. When it breaks with the one before it, what people granted rests until they have reviewed it.
Exits with 0 if it was accepted, 1 if it is not valid, 2 for what cannot be read or is not JSON. The stored version is
untouched then. A tool that was bound before and is bound to another one, or to none, breaks with the version before it.
--json answers as the specification says: agent_id, capability_manifest_version, capability_manifest_hash and
breaking_changes, each with its code, path and message; and more beside them.

Examples:
  $ bulla manifest push manifest.json --agent desk
  $ bulla manifest push manifest.json --agent desk --bindings bindings.json`)
    .run(push);
}

async function push(file: string, options: PushOptions): Promise<Exit> {
  const bytes = readInput(file, 'document');
  const bindings = options.bindings === undefined ? undefined : readInput(options.bindings, 'document');
  const { agent, chain, idempotencyKey } = options;
  await using at = await openFor(options, 'write');
  try {
    const by = userInfo().username;
    const request = { agent, manifest: bytes, bindings, idempotencyKey, by, chain };
    const { pushed, ended } = await pushManifest(at.store, request);
    await report(options, documentOf(pushed, ended), () => textOf(pushed, ended));
    return EXIT.good;
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    return refuse(file, bytes, error.problems, options);
  }
}

/** The first four members are those of the specification's answer. */
function documentOf(pushed: Pushed, ended: readonly Decision[]) {
  const { agent, version, hash, bytes, breaking, rebound, repeated, diff, warnings, capsule } = pushed;
  return {
    agent_id: agent,
    capability_manifest_version: version,
    capability_manifest_hash: hash,
    breaking_changes: (diff?.breaking ?? []).map(changeJson),
    non_breaking_changes: (diff?.non_breaking ?? []).map(changeJson),
    ...{ ok: true, bytes, bindings: pushed.bindings.digest, breaking, rebound, repeated, warnings },
    ended: ended.map(({ id }) => id),
    ...capsuleNames(capsule),
  };
}

function textOf(pushed: Pushed, ended: readonly Decision[]): string {
  const { agent, version, hash, repeated, diff, warnings, capsule } = pushed;
  const lines = [
    `${colors.green(repeated ? 'known' : 'pushed')}  ${agent} version ${version}`,
    `  ${colors.dim(hash)}`,
    ...(capsule === null ? [] : [`  ${colors.dim(`sealed as ${capsule.hash}`)}`]),
    ...warnings.flatMap((warning) => problemLines(warning, null, colors.yellow('warning'))),
  ];
  if (diff !== null) lines.push('', diffText(diff).trimEnd());
  return [...lines, ...reboundLines(pushed.rebound), ...endedLines(ended)].join('\n');
}

export function reboundLines(rebound: readonly string[]): string[] {
  return rebound.map(
    (tool) => `${colors.yellow('rebound')} ${tool}: what people granted rests until they review it`,
  );
}

export function endedLines(ended: readonly Decision[]): string[] {
  return ended.map((decision) => {
    const result = resultOf(decision);
    const reason = result === null || result.status === 'ok' ? '' : `: ${result.reason}`;
    return `ended ${decision.id}${reason}`;
  });
}

async function refuse(
  file: string,
  bytes: Uint8Array,
  problems: readonly ManifestProblem[],
  options: PushOptions,
): Promise<Exit> {
  const { code, message } = problems[0]!;
  if (options.json) await printJson({ ok: false, code, message, problems });
  const lines = problems.flatMap((problem) => problemLines(problem, bytes, 'problem'));
  say([`${file} was not pushed: ${counted(problems.length, 'problem')}`, ...lines]);
  return code.startsWith('JSON_') ? EXIT.usage : EXIT.bad;
}
