import { homedir } from 'node:os';
import type { BullaError } from '@bulla/core/error';
import { counted, visible } from '@bulla/core/text';
import { type DiscoveredServer, type Outcome, stateOf } from '../../app/index.ts';
import {
  type CheckedServer,
  HIDDEN,
  isGuarded,
  type Problem,
  runnerOf,
  shownUrl,
  shownWords,
} from '../../discover/index.ts';
import { colors } from '../terminal/io.ts';

/** How a server is reached, with nothing in it that may be a secret. */
export function shownTarget({ entry }: CheckedServer): string[] {
  if (entry.transport === 'client') return [];
  return entry.transport === 'http' ? [shownUrl(entry.url!)] : shownWords(entry.command, entry.args);
}

/** Why the next start may run something else; null where nothing says so. */
function floatingWords({ target }: CheckedServer): string | null {
  if (target?.kind !== 'stdio') return null;
  const runner = runnerOf(target.command, target.args);
  if (runner?.isFloating !== true) return null;
  return /^(?:docker|podman|nerdctl)$/.test(runner.name)
    ? `${runner.name} takes whatever the image's tag means at that time; name it by its digest`
    : `${runner.name} takes whatever version is newest; name one`;
}

const UNKNOWN_GUARD =
  'the bulla on the path is not this program, or there is none: whether it guards is not known';

function isUnknownGuard({ guard, why }: CheckedServer): boolean {
  return guard?.isThis === false && why === null;
}

/** One server as a document. */
export function serverDocument(told: DiscoveredServer): Record<string, unknown> {
  const { server, outcome } = told;
  const { client, entry, why } = server;
  const shown = shownTarget(server);
  const words = entry.transport === 'http' ? [entry.url!] : [entry.command, ...entry.args];
  const state = stateOf(told);
  return {
    client: client.id,
    scope: server.scope,
    project: server.project,
    file: server.file,
    name: server.name,
    transport: entry.transport,
    target: shown,
    exact: shown.length > 0 && shown.every((word, i) => word === words[i]),
    env: [...entry.env.keys()],
    headers: [...entry.headers.keys(), ...entry.envHeaders.keys()],
    disabled: server.disabled,
    guarded: isGuarded(server),
    ...(isUnknownGuard(server) && { guard: UNKNOWN_GUARD }),
    state,
    lock: state === 'unpinned' ? null : server.lockFile,
    floating: floatingWords(server),
    ...(why && { code: why.code, message: why.message }),
    ...(outcome && { outcome: outcomeDocument(outcome) }),
  };
}

function outcomeDocument({ action, error, drift }: Outcome): Record<string, unknown> {
  return {
    action,
    ok: error === null,
    ...(error && { code: error.code, message: error.message }),
    ...(drift && { differences: drift.counts }),
  };
}

export function problemDocument({ client, file, error }: Problem): Record<string, unknown> {
  return {
    client: client?.id ?? null,
    file,
    code: error.code,
    message: error.message,
    ...(error.path !== undefined && { path: error.path }),
    ...(error.offset !== undefined && { offset: error.offset }),
  };
}

const PAINT = { locked: colors.green, changed: colors.red, unpinned: colors.yellow } as const;

/** All servers for people, under the file in which they stand. */
export function discoveryText(all: readonly DiscoveredServer[], fileCount: number): string {
  if (all.length === 0) return `No servers are configured here (${counted(fileCount, 'file')} read).`;
  const groups = Map.groupBy(all, ({ server }) => server.file);
  const width = all.reduce((most, { server }) => Math.max(most, visible(server.name).length), 0);
  const blocks = [...groups].map(([file, list]) => {
    const head = `${colors.bold(list[0]!.server.client.name)}  ${colors.dim(visible(short(file)))}`;
    return [head, ...list.flatMap((told) => serverLines(told, width))].join('\n');
  });
  const states = (['locked', 'changed', 'unpinned'] as const)
    .map((state) => [state, all.filter((told) => stateOf(told) === state).length] as const)
    .filter(([, number]) => number > 0);
  const sum = `${counted(all.length, 'server')} in ${counted(groups.size, 'file')}: ${states
    .map(([state, number]) => `${number} ${PAINT[state](state)}`)
    .join(', ')}.`;
  return [...blocks, '', sum].join('\n');
}

function serverLines(told: DiscoveredServer, width: number): string[] {
  const { server } = told;
  const state = stateOf(told);
  const name = visible(server.name);
  const target = shownTarget(server).map((word) => visible(word.includes(' ') ? `'${word}'` : word));
  const marks = [
    ...(server.disabled ? ['disabled'] : []),
    ...(isGuarded(server) ? ['guarded'] : []),
    ...(server.project !== null && !server.isShared ? [`in ${visible(short(server.project))}`] : []),
  ];
  const first = [
    `  ${name.padEnd(width)}`,
    `${PAINT[state](state)}${' '.repeat('unpinned'.length - state.length)}`,
    target.length === 0 ? colors.dim('(started by the client)') : target.join(' '),
    ...(marks.length === 0 ? [] : [colors.dim(`[${marks.join(', ')}]`)]),
  ].join('  ');
  const indent = ' '.repeat(width + 4);
  return [first, ...remarks(told, state).map((line) => `${indent}${colors.dim(line)}`)];
}

function remarks(told: DiscoveredServer, state: CheckedServer['state']): string[] {
  const { server, outcome } = told;
  const { entry } = server;
  const given = [
    ...[...entry.env.keys()].map((name) => `${name}=${HIDDEN}`),
    ...[...entry.headers.keys(), ...entry.envHeaders.keys()].map((name) => `${name}: ${HIDDEN}`),
  ];
  const floating = floatingWords(server);
  return [
    ...(given.length === 0 ? [] : [`set: ${visible(given.join(', '))}`]),
    ...(state === 'locked' ? [`lock: ${visible(short(server.lockFile))}`] : []),
    ...(state === 'changed' ? [changedWords(told)] : []),
    ...(outcome?.error ? [errorWords(outcome.error)] : server.why ? [errorWords(server.why)] : []),
    ...(isUnknownGuard(server) ? [UNKNOWN_GUARD] : []),
    ...(floating === null ? [] : [floating]),
  ];
}

function changedWords({ server, outcome }: DiscoveredServer): string {
  const file = visible(short(server.lockFile));
  if (outcome?.drift) return `${counted(outcome.drift.counts.total, 'difference')} from ${file}`;
  if (server.why !== null) return `not as ${file} has it`;
  return `${file} is of another command or address`;
}

function errorWords({ code, message }: BullaError): string {
  return `${visible(message)} [${code}]`;
}

/** A path with the home folder left out. */
function short(path: string): string {
  const home = homedir();
  return home !== '/' && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}
