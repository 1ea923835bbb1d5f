import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  bundledGuard,
  guardTarget,
  type Place,
  preparePlace,
  type Running,
  runGuard,
  shakeHands,
} from '../../../test/guard-process.ts';
import { script } from '../../../test/mcp.ts';
import { hasPostgres } from '../../../test/postgres.ts';
import { temporaryFolder } from '../../../test/run.ts';
import { sharedPostgres } from '../../../test/shared-postgres.ts';
import { usedSuite } from '../../../test/used-suite.ts';

const cli = bundledGuard();

async function prepare(rules: string) {
  const received = join(temporaryFolder(), 'received');
  const server = script('rogue.mjs', received, 'ordinary');
  const place = await preparePlace(server);
  const file = join(place.home, 'rules.yaml');
  writeFileSync(file, rules);
  const calls = () =>
    readFileSync(received, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"tools/call"')).length;
  const start = async (options: string[], at: Place = place): Promise<Running> => {
    const guard = runGuard(guardTarget(cli(), at, server, '--quiet', ...options));
    await shakeHands(guard);
    return guard;
  };
  return { server, place, file, start, calls };
}

/** Makes calls at once, and gives the code of each denial, or what the tool said. */
async function call(guard: Running, count: number, args: object = {}): Promise<string[]> {
  for (let id = 1; id <= count; id++)
    guard.send({ id, method: 'tools/call', params: { name: 'echo', arguments: args } });
  const lines = await guard.lines(count + 1);
  return lines
    .map((line) => JSON.parse(line))
    .filter(({ id }) => typeof id === 'number')
    .map(({ error, result }) => error?.data.code ?? result.content[0].text);
}

async function end(...guards: Running[]): Promise<void> {
  for (const { child } of guards) child.stdin!.end();
  for (const guard of guards) expect((await guard.ended()).code).toBe(0);
}

const LIMIT = `rules:
  - name: ten_a_day
    phase: call
    expr: input.used.agent.day.calls < 10
`;

/** Of 80 calls from two processes ten are made: gives how many were. Every other one is denied. */
async function race(at: (place: Place) => Place, options: readonly (readonly string[])[]): Promise<number> {
  const { start, place, file, calls } = await prepare(LIMIT);
  const guards: Running[] = [];
  for (const own of options) guards.push(await start(['--rules', file, ...own], at(place)));
  const answers = (await Promise.all(guards.map((guard) => call(guard, 40)))).flat();
  await end(...guards);
  const made = calls();
  expect(answers.toSorted()).toEqual([
    ...new Array(80 - made).fill('POLICY_DENIED'),
    ...new Array(made).fill('echo {}'),
  ]);
  return made;
}

test('two processes share a limit on SQLite', async () => {
  expect(await race((place) => place, [[], []])).toBe(10);
}, 120_000);

describe.skipIf(!hasPostgres)('PostgreSQL', () => {
  const url = async (name: string) => (await sharedPostgres()).database(name);
  usedSuite(() => url('used'));

  test('two processes share a limit on one chain', async () => {
    const store = await url('limit');
    expect(await race((place) => ({ ...place, store }), [[], []])).toBe(10);
  }, 120_000);

  test('and on chains of their own', async () => {
    const store = await url('limits');
    const chains = [
      ['--chain', 'one'],
      ['--chain', 'two'],
    ];
    // Two that are counted at the same time in different steps both see the other one, and both are denied.
    expect(await race((place) => ({ ...place, store }), chains)).toBeLessThanOrEqual(10);
  }, 120_000);
});

test('several policies are asked, files and presets', async () => {
  const { start, file } = await prepare(
    `rules: [{name: short, phase: call, expr: '!has(input.arguments.text) || size(input.arguments.text) < 60'}]`,
  );
  const guard = await start(['--rules', file, 'no-secrets-out']);
  expect(await call(guard, 1, { text: 'hello' })).toEqual(['echo {"text":"hello"}']);
  await end(guard);
  for (const text of ['x'.repeat(60), `ghp_${'a1B2'.repeat(9)}`]) {
    const other = await start(['--rules', file, 'no-secrets-out']);
    expect(await call(other, 1, { text })).toEqual(['POLICY_DENIED']);
    await end(other);
  }
});

test.each(['servers', 'all'])('a configuration names rules for its servers: %s', async (of) => {
  const { server, place, file } = await prepare(LIMIT);
  const config = join(place.home, 'bulla.json');
  const { command, args } = server;
  const rules = ['rules.yaml', 'no-secrets-out'];
  const [own, common] = of === 'all' ? [{}, { rules }] : [{ rules }, {}];
  const rogue = { command, args, lock: 'mcp-lock.json', ...own };
  const store = { url: 'store.db', keys: 'keys' };
  writeFileSync(config, JSON.stringify({ servers: { rogue }, ...common, store }));
  const guard = runGuard({
    ...{ kind: 'stdio', command: process.execPath, env: [] },
    args: [cli(), '--config', config, '--quiet', ...(of === 'all' ? [] : ['--rules', file])],
  });
  await shakeHands(guard);
  expect((await call(guard, 12)).toSorted()).toEqual([
    ...new Array(2).fill('POLICY_DENIED'),
    ...new Array(10).fill('echo {}'),
  ]);
  await end(guard);
});

test.each([
  ['strict', 3, 'strict: The policy has no rule about calls: none is of phase tool, call or result.'],
  ['none.yaml', 2, '[INPUT_UNREADABLE]'],
  ['wrong', 2, 'wrong.yaml:1:44: The input never has a field "users" here.'],
])('%s starts nothing', async (word, status, message) => {
  const { server, place } = await prepare(LIMIT);
  const wrong = join(place.home, 'wrong.yaml');
  writeFileSync(wrong, 'rules: [{name: a, phase: call, expr: input.users == 1}]');
  const given = word === 'wrong' ? wrong : word;
  const { command, args } = guardTarget(cli(), place, server, '--rules', given);
  const run = spawnSync(command, args, { input: '', cwd: place.home, env: { PATH: process.env.PATH ?? '' } });
  expect([run.status, run.stdout.toString()]).toEqual([status, '']);
  expect(run.stderr.toString()).toContain(message);
});
