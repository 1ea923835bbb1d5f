import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex, toUtf8 } from '@bulla/core/crypto';
import { expect, test } from 'vitest';
import { DESK_POLICY } from '../../../test/approved.ts';
import { listeningGuard } from '../../../test/guard-process.ts';
import { packaged } from '../../../test/mcp.ts';
import { connectHost, HOSTS, type RealHost } from '../../../test/real-hosts.ts';
import { bulla, repo, temporaryFolder } from '../../../test/run.ts';

// As people do it: a call is denied, a person approves exactly that call on the command line, the host calls again, and
// an auditor walks from the record to the approval.

const SERVER = packaged('server-everything');
const PROGRAM = join(repo, 'packages/bulla/dist/bulla.js');

/** A folder with a configuration in which the tool `echo` is irreversible, and the commands that work there. */
function prepare(more: object = {}) {
  const home = temporaryFolder();
  const env = { BULLA_HOME: home };
  const at = (name: string) => join(home, name);
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = bulla(args, '', env);
    expect([args.slice(0, 2), status, stderr]).toEqual([args.slice(0, 2), 0, stderr]);
    return stdout;
  };
  const { command, args } = SERVER;
  run('keys', 'init', '--quiet');
  run('lock', '-o', at('mcp-lock.json'), '--quiet', '--', command, ...args);
  run('keygen', '--private', at('alice.key'), '--public', at('alice.pub'), '--quiet');
  writeFileSync(at('policy.json'), DESK_POLICY);
  const tools = { echo: { irreversible: true } };
  const config = {
    servers: { desk: { command, args, lock: 'mcp-lock.json', tools } },
    envelopes: { audience: 'desk.example', tenantId: 'acme', approvers: { alice: ['alice.pub'] } },
    ...more,
  };
  writeFileSync(at('bulla.json'), JSON.stringify(config));
  const words = [process.execPath, PROGRAM, 'guard', '--config', at('bulla.json'), '--agent', 'bot'];
  return { at, run, env, config, words: [...words, '--quiet'], cwd: home };
}

type Place = ReturnType<typeof prepare>;

/** Makes an envelope of a call and has it signed; gives what the host puts into `_meta`. */
function approve({ at, run }: Place, args: object, name = 'envelope.json') {
  writeFileSync(at('arguments.json'), JSON.stringify(args));
  const common = ['--caller', 'bot', '--tenant-id', 'acme', '--policy-id', 'desk', '-o', at(name), '--quiet'];
  const call = ['--lock', at('mcp-lock.json'), '--server', 'desk', '--tool', 'echo'];
  run('envelope', 'tool-call', ...call, '--arguments', at('arguments.json'), ...common);
  const signing = ['--key', at('alice.key'), '--who', 'alice', '--audience', 'desk.example', '--yes'];
  const shown = ['--arguments', at('arguments.json')];
  run('envelope', 'authorize', at(name), ...signing, ...shown, '-o', at(`${name}.signed`));
  return {
    envelope: readFileSync(at(name), 'utf8'),
    authorization: readFileSync(at(`${name}.signed`), 'utf8'),
    salt: readFileSync(at(`${name}.salt`), 'utf8').trim(),
  };
}

/** What the host gets: the text of the result, or the data of the error. */
async function call(host: RealHost, args: object, presented?: object, name = 'echo') {
  const _meta = presented === undefined ? {} : { 'bulla/envelope': presented };
  const params = { name, arguments: args as Record<string, unknown>, _meta };
  try {
    const { content } = (await host.callTool(params)) as { content: { text: string }[] };
    return content[0]!.text;
  } catch (error) {
    return (error as { data: Record<string, unknown> }).data;
  }
}

test.each(HOSTS)(
  'from the denial over the approval to the call and its trace, for the host %s',
  async (kind) => {
    const place = prepare();
    const { at, run, env, words, cwd } = place;
    run('envelope', 'policy', 'publish', at('policy.json'), '--quiet');
    const host = await connectHost(kind, { words, env, cwd });
    const args = { message: 'hello' };

    const denied = (await call(host, args)) as { code: string; envelope: Record<string, string> };
    expect(denied.code).toBe('ENVELOPE_REQUIRED');
    const presented = approve(place, args);
    expect(statSync(at('envelope.json.salt')).mode & 0o777).toBe(0o600);
    const { rail, target, actor } = JSON.parse(presented.envelope);
    const { lock, locked, server, name, caller } = denied.envelope;
    expect([rail.network, rail.contract, target.asset, actor.caller]).toEqual([
      lock,
      locked,
      `${server}/${name}`,
      caller,
    ]);

    expect(await call(host, { message: 'other' }, presented)).toMatchObject({ code: 'EE_TOOL_CALL' });
    expect(await call(host, args, presented)).toBe('Echo: hello');
    // It is not made again: it gets the outcome that was sealed.
    expect(await call(host, args, presented)).toBe('Echo: hello');
    await host.close();

    writeFileSync(at('chain.jsonl'), run('capsule', 'export'));
    const records = readFileSync(at('chain.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const intent = records.find(({ outcome, type }) => type === 'tool' && outcome.status === 'pending');
    const files = ['chain.jsonl', 'mcp-lock.json', 'envelope.json', 'envelope.json.signed', 'policy.json'];
    const traced = run(
      'trace',
      intent.id,
      ...files.map(at),
      '--approver',
      `alice=${at('alice.pub')}`,
      '--json',
    );
    const steps = JSON.parse(traced).steps as { step: string; basis: string; artifact?: string }[];
    const basis = Object.fromEntries(steps.map(({ step, basis }) => [step, basis]));
    expect(basis).toMatchObject({
      ...{ record: 'verified', outcome: 'verified', lock: 'verified', tool: 'verified' },
      ...{ envelope: 'verified', authorization: 'verified', policy: 'verified' },
    });
    expect(readFileSync(at('chain.jsonl'), 'utf8')).not.toContain('hello');
  },
  120_000,
);

test('of several servers behind one address the envelope names the tool as its server does', async () => {
  const memory = packaged('server-memory');
  const { command, args } = SERVER;
  const place = prepare({
    servers: {
      desk: { command, args, lock: 'mcp-lock.json', tools: { echo: { irreversible: true } } },
      notes: { command: memory.command, args: memory.args, lock: 'notes.lock.json' },
    },
    agents: { bot: { tokenHash: `sha256:${sha256Hex(toUtf8('secret'))}` } },
  });
  const { at, run, env, cwd } = place;
  run('envelope', 'policy', 'publish', at('policy.json'), '--quiet');
  run('lock', '-o', at('notes.lock.json'), '--quiet', '--', memory.command, ...memory.args);
  const words = ['--config', at('bulla.json'), '--quiet'];
  const url = await listeningGuard(words, { cwd, env: { ...env, PATH: process.env.PATH ?? '' } });
  for (const kind of HOSTS) {
    const host = await connectHost(kind, { url, token: 'secret' });
    const given = { message: kind };
    expect(await call(host, {}, undefined, 'notes_read_graph')).toContain('"entities"');
    expect(await call(host, given, undefined, 'desk_echo')).toMatchObject({ code: 'ENVELOPE_REQUIRED' });
    const presented = approve(place, given, `${kind}.json`);
    expect(await call(host, {}, presented, 'notes_read_graph')).toMatchObject({ code: 'EE_TOOL_CALL' });
    expect(await call(host, given, presented, 'desk_echo')).toBe(`Echo: ${kind}`);
    expect(await call(host, given, presented, 'desk_echo')).toBe(`Echo: ${kind}`);
    await host.close();
  }
}, 120_000);

test('who approves is shown the arguments, and signs no others', () => {
  const place = prepare();
  const { at, run, env } = place;
  run('envelope', 'policy', 'publish', at('policy.json'), '--quiet');
  approve(place, { message: 'a\u202eb' });
  const authorize = (...more: string[]) =>
    bulla(
      [
        'envelope',
        'authorize',
        at('envelope.json'),
        '--key',
        at('alice.key'),
        '--audience',
        'x',
        '--yes',
        ...more,
      ],
      '',
      env,
    );
  expect(authorize('--arguments', at('arguments.json')).stderr).toContain(
    '\nwith     {"message":"a⟨U+202E⟩b"}\n',
  );
  expect(authorize().stderr).toContain('WARNING  the arguments are not shown');
  writeFileSync(at('arguments.json'), '{"message":"ab"}');
  const other = authorize('--arguments', at('arguments.json'));
  expect([other.status, other.stdout]).toEqual([1, '']);
  expect(other.stderr).toContain('[EE_TOOL_CALL]');
}, 60_000);

test('a reload exchanges who approves and what must be approved', async () => {
  const place = prepare();
  const { at, run, env, config, words, cwd } = place;
  run('envelope', 'policy', 'publish', at('policy.json'), '--quiet');
  const host = await connectHost('v1', { words, env, cwd });
  const args = { message: 'hi' };
  expect(await call(host, args)).toMatchObject({ code: 'ENVELOPE_REQUIRED' });
  const replace = (name: string, text: string) => {
    writeFileSync(at('draft'), text);
    renameSync(at('draft'), at(name));
  };
  const { desk } = config.servers;
  replace('bulla.json', JSON.stringify({ ...config, servers: { desk: { ...desk, tools: {} } } }));
  await expect.poll(() => call(host, args), { timeout: 60_000, interval: 50 }).toBe('Echo: hi');
  replace('bulla.json', JSON.stringify(config));
  await expect
    .poll(() => call(host, args), { timeout: 60_000, interval: 50 })
    .toMatchObject({ code: 'ENVELOPE_REQUIRED' });
  // The keys are read anew for each envelope.
  const presented = approve(place, args);
  const alice = readFileSync(at('alice.pub'), 'utf8');
  run('keygen', '--private', at('bob.key'), '--public', at('bob.pub'), '--quiet');
  replace('alice.pub', readFileSync(at('bob.pub'), 'utf8'));
  expect(['EE_AO_SIGNATURE_INVALID', 'GATEWAY_RELOADED']).toContain(
    ((await call(host, args, presented)) as { code: string }).code,
  );
  replace('alice.pub', alice);
  await expect.poll(() => call(host, args, presented), { timeout: 60_000, interval: 50 }).toBe('Echo: hi');
  await host.close();
}, 180_000);

test.each([
  [
    'an irreversible tool that nobody can approve',
    { envelopes: undefined },
    2,
    'This needs "envelopes", which says who approves its calls.',
  ],
  [
    'no tenant',
    { envelopes: { audience: 'x', approvers: { alice: ['alice.pub'] } } },
    2,
    'Name the tenant whose envelopes are executed here.',
  ],
  [
    'a key that is not there',
    { envelopes: { audience: 'x', tenantId: 'a', approvers: { alice: ['none.pub'] } } },
    2,
    '[INPUT_UNREADABLE]',
  ],
  [
    'one key of two people',
    { envelopes: { audience: 'x', tenantId: 'a', approvers: { alice: ['alice.pub'], bob: ['alice.pub'] } } },
    2,
    'One key is given to two people.',
  ],
])(
  '%s starts nothing',
  (_, more, status, message) => {
    const { words, env } = prepare(more);
    const run = bulla(words.slice(2), '', env);
    expect([run.status, run.stdout]).toEqual([status, '']);
    expect(run.stderr).toContain(message);
  },
  60_000,
);

test('a misspelled tool starts nothing, and neither does a guard without a record', () => {
  const { words, env, at, config } = prepare();
  const plain = bulla([...words.slice(2), '--no-record'], '', env);
  expect([plain.status, plain.stderr]).toEqual([2, expect.stringContaining('leave out --no-record')]);
  const servers = { desk: { ...config.servers.desk, tools: { ecko: { irreversible: true } } } };
  writeFileSync(at('bulla.json'), JSON.stringify({ ...config, servers }));
  const run = bulla(words.slice(2), '', env);
  expect([run.status, run.stderr]).toEqual([2, expect.stringContaining('holds no tool of this name')]);
}, 60_000);

test('a store without a policy is told at the start', () => {
  const { words, env } = prepare();
  const { status, stderr } = bulla(words.slice(2), '', env);
  expect(status).toBe(0);
  expect(stderr).toContain('no policy of envelopes is in effect here');
}, 60_000);
