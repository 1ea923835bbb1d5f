import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { listeningGuard } from '../../../test/guard-process.ts';
import { bullaIn } from '../../../test/lockfiles.ts';
import { answersOf, asksFor, failuresOf, type Offered, offeredTo, partOf } from '../../../test/real-asks.ts';
import { connectHost, HOSTS, type HostKind, type RealHost } from '../../../test/real-hosts.ts';
import { type RealServer, realServers } from '../../../test/real-servers.ts';
import { repo } from '../../../test/run.ts';

// As a user has it: the built program between hosts that are made with the SDK and servers from npm. Every tool,
// prompt, resource, template and completion is asked for with and without the guard, and the answers are compared.

const guard = [process.execPath, join(repo, 'packages/bulla/dist/bulla.js'), 'guard'];
const PASS = ['roots', 'sampling', 'elicitation'];
/** Every host with every server is for the long run. */
const isLong = inject('soak') > 1;

const folder = mkdtempSync(join(tmpdir(), 'bulla-'));
const servers = new Map(realServers(folder).map((server) => [server.key, server]));
const lockFor = (key: string) => join(folder, `${key}.lock.json`);

beforeAll(async () => {
  await Promise.all(
    [...servers.values()].map(async ({ key, words, env, reset }) => {
      reset();
      const names = Object.keys(env).flatMap((name) => ['--env', name]);
      const lock = ['lock', '--quiet', '-o', lockFor(key), ...names, '--', ...words];
      expect((await bullaIn(folder, lock, { ...env })).status).toBe(0);
    }),
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** As the SDK starts programs: with few variables of its own environment. */
const environment = { ...getDefaultEnvironment(), BULLA_HOME: join(folder, 'home') };

/** What a server offers and answers to a host, and says of itself. */
interface Direct {
  readonly offered: Offered;
  readonly answers: Readonly<Record<string, unknown>>;
  readonly self: readonly unknown[];
}
const asked = new Map<string, Direct>();
const selfOf = (host: RealHost) => [host.getServerVersion(), host.getInstructions()];

/** The same without the guard. Only one of these servers speaks the stateless era. */
async function directly(kind: HostKind, server: RealServer): Promise<Direct> {
  const as = kind === 'v1' || server.key === 'context7' ? kind : 'legacy';
  const known = asked.get(`${as} ${server.key}`);
  if (known) return known;
  const env = { ...getDefaultEnvironment(), ...server.env };
  const host = await connectHost(as, { words: server.words, env, cwd: folder });
  const offered = await offeredTo(host);
  server.reset();
  const answers = await answersOf(host, asksFor(offered, server));
  const direct = { offered, answers, self: selfOf(host) };
  asked.set(`${as} ${server.key}`, direct);
  // Some servers end only when they are killed, two seconds later; nothing here waits for that.
  void host.close();
  return direct;
}

/** Lists as a host of this kind reads them: tools have no `execution` in the stateless era. */
function listsFor(kind: HostKind, { capabilities: _, ...lists }: Offered): Omit<Offered, 'capabilities'> {
  if (kind === 'v1' || kind === 'legacy') return lists;
  return { ...lists, tools: lists.tools.map(({ execution: __, ...tool }) => tool) };
}

/** Expects that the guarded server is to the host what the server is. */
async function expectSame(kind: HostKind, host: RealHost, server: RealServer): Promise<void> {
  const { offered, answers, self } = await directly(kind, server);
  // Tasks do not pass.
  const { tasks: _, ...capabilities } = offered.capabilities;
  expect(await offeredTo(host)).toEqual({ ...listsFor(kind, offered), capabilities });
  expect(selfOf(host)).toEqual(self);
  server.reset();
  expect(await answersOf(host, asksFor(offered, server))).toEqual(answers);
}

test.for<[string, readonly HostKind[]]>([
  ['everything', HOSTS],
  ['files', ['v1', 'pinned']],
  ['memory', ['legacy', 'auto']],
  ['thinking', ['v1', 'auto']],
  ['context7', ['legacy', 'auto', 'pinned']],
  ['git', ['pinned']],
])('%s answers the same through the guard', async ([key, kinds]) => {
  const server = servers.get(key)!;
  const { words, env } = server;
  for (const kind of isLong ? HOSTS : kinds) {
    const to = [...guard, '--lock', lockFor(key), '--pass', ...PASS, '--', ...words];
    const host = await connectHost(kind, { words: to, env: { ...environment, ...env }, cwd: folder });
    await expectSame(kind, host, server);
    await host.close();
  }
});

test('few of these answers are errors', async () => {
  const found: Record<string, [number, string[]]> = {};
  for (const [key, server] of servers) {
    const { answers } = await directly('legacy', server);
    const failed = failuresOf(answers).map((what) => what.split(' ')[0]!);
    found[key] = [Object.keys(answers).length, failed];
  }
  // All options at once contradict each other, for these.
  const files = ['read_file', 'read_text_file', 'edit_file'];
  const git = ['changelog_analyze', 'checkout', 'cherry_pick', 'clone', 'commit', 'commit', 'diff', 'fetch'];
  const more = ['log', 'pull', 'push', 'rebase', 'reflog', 'remote', 'reset'];
  expect(found).toEqual({
    // The text is no URL.
    everything: [43, ['trigger-url-elicitation', 'trigger-url-elicitation']],
    files: [20, files],
    memory: [10, []],
    thinking: [2, []],
    git: [59, [...git, ...more].map((name) => `git_${name}`)],
    context7: [2, []],
  });
});

test('over HTTP without a token, one server answers the same', async () => {
  const server = servers.get('everything')!;
  const words = ['--lock', lockFor('everything'), '--no-token', '--pass', ...PASS, '--', ...server.words];
  const url = await listeningGuard(words, { cwd: folder, env: environment });
  // Stateless hosts of one agent have one process of the server, and so the one state that it has.
  for (const kind of ['v1', 'legacy', 'pinned'] as const) {
    const host = await connectHost(kind, { url });
    await expectSame(kind, host, server);
    await host.close();
  }
});

test.for<['HTTP' | 'standard streams', readonly HostKind[]]>([
  ['HTTP', HOSTS],
  ['standard streams', ['v1', 'pinned']],
])('several servers of a configuration answer the same over %s', async ([over, kinds]) => {
  const several = [...servers.values()].filter(({ key }) => isLong || key !== 'git');
  const config = join(folder, 'bulla.json');
  const members = several.map(({ key, words: [command, ...args], env }) => {
    const values = Object.entries(env).map(([name, value]) => [name, { value }]);
    return [key, { command, args, env: Object.fromEntries(values), lock: lockFor(key), pass: PASS }];
  });
  const agents = HOSTS.map((kind) => [kind, { token: `env:TOKEN_OF_${kind.toUpperCase()}` }]);
  writeFileSync(
    config,
    JSON.stringify({ servers: Object.fromEntries(members), agents: Object.fromEntries(agents) }),
  );
  const tokens = HOSTS.map((kind) => [`TOKEN_OF_${kind.toUpperCase()}`, `token-of-${kind}`]);
  const env = { ...environment, ...Object.fromEntries(tokens) };
  const url = over === 'HTTP' ? await listeningGuard(['--config', config], { cwd: folder, env }) : undefined;
  for (const kind of isLong ? HOSTS : kinds) {
    const words = [...guard, '--config', config];
    const host = await connectHost(
      kind,
      url ? { url, token: `token-of-${kind}` } : { words, env, cwd: folder },
    );
    const all = await offeredTo(host);
    for (const server of several) {
      const { offered, answers } = await directly(kind, server);
      const lists = listsFor(kind, offered);
      expect(partOf(all, server, lists)).toEqual(lists);
      server.reset();
      expect(await answersOf(host, asksFor(offered, server), `${server.key}_`)).toEqual(answers);
    }
    await host.close();
  }
});

test('the record of all that verifies, and each call in it has its outcome', async () => {
  expect((await bullaIn(folder, ['chain', 'verify', '--quiet'])).status).toBe(0);
  const { stdout } = await bullaIn(folder, ['chain', 'stats', '--json']);
  expect(JSON.parse(stdout).history.unfinished).toEqual({ count: 0, first: [] });
});
