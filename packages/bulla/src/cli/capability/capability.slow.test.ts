import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  computeFullCapabilityLink,
  computeInvocationContextHash,
  createRegisteredAgent,
  policy,
  readCapabilityLink,
  tool,
  toolkit,
} from '@bulla/core/capability';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { bullaIn } from '../../../test/lockfiles.ts';
import { type Result, repo, temporaryFolder } from '../../../test/run.ts';

const IMPORTS = `import { createRegisteredAgent, policy, tool, toolkit } from '@bulla/core/capability';
import * as z from 'zod';
`;
const AGENT = `${IMPORTS}
interface Env { readonly tier: string }
const isPro = policy<Env>('tier-pro', ({ tier }) => tier === 'pro');
const make = (name: string, policies = [] as typeof isPro[]) => tool({
  name, description: 'Does ' + name + '.', inputSchema: z.object({ q: z.string() }), policies, handler: () => 0,
});
export const agent = createRegisteredAgent<Env>({
  agentId: 'support', name: 'Support', instructions: ['Be brief.'], context: { team: 'blue' },
  rootComposable: toolkit<Env>([make('search'), make('Tell', [isPro])], { name: 'root' }),
});
export const other = createRegisteredAgent({ agentId: 'b', name: 'B', rootComposable: toolkit([], { name: 'r' }) });
`;

/** The same agent, made here. */
function agentHere(profile: 'khora' | 'khora-icu' = 'khora') {
  const isPro = policy<{ tier: string }>('tier-pro', ({ tier }) => tier === 'pro');
  const make = (name: string, policies = [] as (typeof isPro)[]) =>
    tool({
      ...{ name, description: `Does ${name}.`, policies },
      inputSchema: z.object({ q: z.string() }),
      handler: () => 0,
    });
  return createRegisteredAgent<{ tier: string }>({
    ...{ agentId: 'support', name: 'Support', instructions: ['Be brief.'], hashing: { profile } },
    rootComposable: toolkit<{ tier: string }>([make('search'), make('Tell', [isPro])], { name: 'root' }),
  });
}

const CONTEXT = { tenantId: 'acme', subjectId: 'u1' };

/** A folder with an agent, environments and a context, from which packages are found. */
function project(files: Record<string, string> = {}): string {
  const folder = temporaryFolder();
  symlinkSync(join(repo, 'node_modules'), join(folder, 'node_modules'));
  const all = {
    'package.json': '{"type":"module"}',
    'agent.ts': AGENT,
    'pro.json': '{"tier":"pro"}',
    'free.json': '{"tier":"free"}',
    'context.json': JSON.stringify(CONTEXT),
    ...files,
  };
  for (const [name, text] of Object.entries(all)) writeFileSync(join(folder, name), text);
  return folder;
}

const capability = (folder: string, line: string, env = {}): Promise<Result> =>
  bullaIn(folder, ['capability', ...line.split(' ').map((word) => (word === '""' ? '' : word))], env);

async function envelopes(folder: string): Promise<void> {
  const made = await Promise.all([
    capability(folder, 'link agent.ts -e pro.json -c context.json --envelope -o pro.envelope.json'),
    capability(folder, 'link agent.ts -e free.json --envelope -o free.envelope.json'),
    capability(folder, 'link agent.ts -e pro.json -c context.json -o pro.link.json'),
  ]);
  expect(made.map(({ status, stderr }) => [status, stderr])).toEqual(Array(3).fill([0, '']));
}

describe('hash', () => {
  test('prints the hash alone, under either profile, and all of them as JSON', async () => {
    const folder = project();
    const ctx = { env: { tier: 'pro' } };
    const { link } = await computeFullCapabilityLink({ agent: agentHere(), ctx, invocationContext: CONTEXT });
    const icu = await computeFullCapabilityLink({ agent: agentHere('khora-icu'), ctx });
    const lines = [
      'hash agent.ts',
      'hash --module ./agent.ts#agent --of static -e free.json',
      'hash agent.ts --of runtime -e pro.json',
      'hash agent.ts --of runtime -e pro.json --profile khora-icu',
      'hash agent.ts --of invocation -c context.json',
      'hash agent.ts --of instructions -e pro.json',
      'hash --of invocation -c context.json --allow subjectId',
      'hash --of invocation -c context.json --allow ""',
    ];
    const results = await Promise.all(lines.map((line) => capability(folder, line)));
    expect(results.map(({ status, stdout, stderr }) => [status, stdout, stderr])).toEqual(
      [
        link.staticHash,
        link.staticHash,
        link.runtimeHash,
        icu.link.runtimeHash,
        link.invocationHash,
        link.instructionsHash,
        computeInvocationContextHash({ subjectId: 'u1' }),
        computeInvocationContextHash({}),
      ].map((hash) => [0, `${hash}\n`, '']),
    );
    expect(icu.link.runtimeHash).not.toBe(link.runtimeHash);
    const { stdout } = await capability(folder, 'hash agent.ts -e free.json --json');
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      profile: 'khora',
      hashes: { static: link.staticHash, invocation: null },
      tools: [{ name: 'search' }],
      disabled: [{ kind: 'tool', name: 'Tell', place: '/root/Tell', deniedBy: ['tier-pro'] }],
      opaque: [],
    });
  });

  test('of a hash that there is not, of no source and of two, prints nothing', async () => {
    const folder = project();
    const results = await Promise.all(
      [
        'hash agent.ts --of invocation',
        'hash',
        'hash agent.ts -m agent.ts',
        'hash agent.ts -e pro.json -e free.json',
        'hash agent.ts --of other',
        'hash agent.ts --allow a,,b',
      ].map((line) => capability(folder, line)),
    );
    expect(results.map(({ status, stdout }) => [status, stdout])).toEqual(Array(6).fill([2, '']));
    expect(results[0]!.stderr).toContain('[USAGE]');
    expect(results[1]!.stderr).toContain('[USAGE]');
  });
});

describe('a module', () => {
  test('has its output, its environment and what it leaves running kept apart', async () => {
    const folder = project({
      'loud.ts': `${AGENT}
console.log('hello from the module\\u001b[2J');
console.error('bulla: \\ra\\nb', JSON.stringify(Object.keys(process.env).filter((name) => name.length === 5)));
setInterval(() => undefined, 1000);
`,
    });
    const quiet = await capability(folder, 'hash agent.ts');
    const loud = await capability(folder, 'hash loud.ts --env ASKED', { TOKEN: 's', ASKED: 'a' });
    expect([loud.status, loud.stdout]).toEqual([0, quiet.stdout]);
    expect(loud.stderr.trimEnd().split('\n').toSorted()).toEqual([
      '[module] b ["ASKED"]',
      '[module] bulla: ⟨U+000D⟩a',
      '[module] hello from the module⟨U+001B⟩[2J',
    ]);
    const still = await capability(folder, 'hash loud.ts --quiet');
    expect([still.stdout, still.stderr]).toEqual([quiet.stdout, '']);
  });

  test('that needs too much, fails or answers nonsense gives no hash', async () => {
    const folder = project({
      'hungry.ts': 'const all = []; for (;;) all.push(new Array(1000).fill(all.length));',
      'throws.ts': 'throw new Error("no licence");',
      'broken.ts': 'export const agent = ;',
      'silent.ts': 'process.exit(0);',
      'liar.ts': 'import { writeSync } from "node:fs"; writeSync(3, "{}"); process.exit(0);',
      'forger.ts': `import { readFileSync, writeSync } from "node:fs";
writeSync(3, JSON.stringify({ ok: true, envelope: JSON.parse(readFileSync('forged.json', 'utf8')) })); process.exit(0);`,
      'empty.ts': 'export const one = 1;',
      'wrong.ts': 'export const agent = { name: "x" };',
      'clash.ts': `${IMPORTS}
const t = () => tool({ name: 't', inputSchema: z.object({}), handler: () => 0 });
export const agent = createRegisteredAgent({ agentId: 'a', name: 'A', rootComposable:
  toolkit([toolkit([t()], { name: 'x' }), toolkit([t()], { name: 'y' })], { name: 'r' }) });`,
    });
    await envelopes(folder);
    const envelope = JSON.parse(readFileSync(join(folder, 'pro.envelope.json'), 'utf8'));
    envelope.runtime.affordances.tools.search.description = 'Other.';
    writeFileSync(join(folder, 'forged.json'), JSON.stringify(envelope));
    const cases: readonly (readonly [string, number, string])[] = [
      ['hungry.ts --memory 16', 2, 'CAPABILITY_MODULE'],
      ['throws.ts', 2, 'The module cannot be loaded: no licence [CAPABILITY_MODULE]'],
      ['broken.ts', 2, 'CAPABILITY_MODULE'],
      ['silent.ts', 2, 'CAPABILITY_MODULE'],
      ['liar.ts', 2, 'CAPABILITY_MODULE'],
      ['forger.ts', 2, 'CAPABILITY_ENVELOPE_INVALID'],
      ['empty.ts', 2, 'exports no agent and no default, but one; name one after #. [CAPABILITY_MODULE]'],
      ['empty.ts#constructor', 2, 'CAPABILITY_MODULE'],
      ['wrong.ts', 2, 'CAPABILITY_MODULE'],
      ['absent.ts', 2, 'CAPABILITY_MODULE'],
      ['agent.ts --env NOT_SET', 2, 'MCP_TARGET_ENV'],
      ['clash.ts', 2, '/r/x/t and /r/y/t. (at /r/y/t) [CAPABILITY_NAME_COLLISION]'],
    ];
    const results = await Promise.all(cases.map(([line]) => capability(folder, `hash ${line}`)));
    for (const [place, [, status, words]] of cases.entries()) {
      expect([results[place]!.status, results[place]!.stdout]).toEqual([status, '']);
      expect(results[place]!.stderr).toContain(words);
    }
  });

  test('that does not end is ended', async () => {
    const folder = project({
      'endless.ts':
        'import { writeFileSync } from "node:fs";\nwriteFileSync("pid", String(process.pid));\nfor (;;);',
    });
    const { status, stdout, stderr } = await capability(folder, 'hash endless.ts --timeout 5s');
    expect([status, stdout]).toEqual([3, '']);
    expect(stderr).toContain('did not answer in 5000 ms. [CAPABILITY_MODULE_TIMEOUT]');
    const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  test('that stands where no core can be found says so', async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'agent.mjs'), 'export const agent = 1;');
    const { status, stderr } = await capability(folder, 'hash agent.mjs');
    expect(status).toBe(2);
    expect(stderr).toContain('[CAPABILITY_MODULE]');
  });
});

describe('link', () => {
  test('writes a link that can be read, or the whole snapshot', async () => {
    const folder = project();
    const { status, stdout } = await capability(folder, 'link agent.ts -e pro.json');
    expect(status).toBe(0);
    const ctx = { env: { tier: 'pro' } };
    const { link } = await computeFullCapabilityLink({ agent: agentHere(), ctx });
    expect(readCapabilityLink(stdout)).toEqual(link);
    const other = await capability(folder, 'link agent.ts#other');
    expect(readCapabilityLink(other.stdout)).toMatchObject({ agentId: 'b', toolRefs: [] });
    const whole = await capability(folder, 'link agent.ts --envelope -o out.json -e pro.json');
    expect(whole.stdout).toBe('envelope of Support with 2 tools: out.json\n');
    const envelope = JSON.parse(readFileSync(join(folder, 'out.json'), 'utf8'));
    expect(envelope.static.staticContext).toEqual({ team: 'blue' });
    // Of the environment nothing is written down.
    expect(envelope.runtime.toolkitContext).toEqual({ agentId: 'support', agentName: 'Support' });
    const again = await capability(folder, 'link out.json');
    expect(readCapabilityLink(again.stdout)).toEqual(link);
    writeFileSync(join(folder, 'link.json'), again.stdout);
    const made = await capability(folder, 'link link.json --envelope -o no.json');
    expect([made.status, existsSync(join(folder, 'no.json'))]).toEqual([2, false]);
  });
});

describe('diff and explain', () => {
  test('end with 0 for the same, 1 for drift, 2 for what cannot be read or is not whole', async () => {
    const folder = project({ 'bad.json': '{"schemaVersion":"1"}', 'text.json': 'hello' });
    await envelopes(folder);
    const tampered = readFileSync(join(folder, 'pro.envelope.json'), 'utf8').replace(
      'Does search.',
      'Does harm.',
    );
    writeFileSync(join(folder, 'tampered.json'), tampered);
    const link = JSON.parse(readFileSync(join(folder, 'pro.link.json'), 'utf8'));
    writeFileSync(join(folder, 'forged.link.json'), JSON.stringify({ ...link, toolRefs: [] }));
    const { profile: _, schemaSource: __, ...released } = link;
    writeFileSync(join(folder, 'released.link.json'), JSON.stringify(released));
    const cases: readonly (readonly [string, number])[] = [
      ['pro.envelope.json pro.envelope.json', 0],
      ['pro.envelope.json pro.link.json', 0],
      ['pro.envelope.json agent.ts -e pro.json -c context.json', 0],
      ['released.link.json pro.link.json -p khora', 0],
      ['agent.ts agent.ts', 0],
      ['free.envelope.json pro.envelope.json', 1],
      ['agent.ts agent.ts#other', 1],
      ['agent.ts agent.ts -e free.json -e pro.json', 1],
      ['tampered.json pro.envelope.json', 2],
      ['pro.envelope.json bad.json', 2],
      ['pro.envelope.json text.json', 2],
      ['forged.link.json pro.link.json', 2],
      ['released.link.json pro.link.json', 2],
      ['pro.link.json pro.link.json -p khora-icu', 2],
      ['pro.envelope.json', 2],
      ['pro.envelope.json pro.envelope.json pro.envelope.json', 2],
      ['pro.envelope.json pro.link.json -e pro.json', 2],
    ];
    const run = (verb: string, some: typeof cases) =>
      Promise.all(some.map(async ([line]) => [line, (await capability(folder, `${verb} ${line}`)).status]));
    expect(await run('diff', cases)).toEqual(cases);
    const some = [0, 5, 8, 11].map((place) => cases[place]!);
    expect(await run('explain', some)).toEqual(some);
  });

  test('tell what differs between two environments, and which hash says so', async () => {
    const folder = project();
    await envelopes(folder);
    const { stdout, stderr } = await capability(folder, 'diff agent.ts agent.ts -e free.json -e pro.json');
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^The definition is the same; .* The enabled tools differ\./);
    expect(stdout).toMatch(/^static hash {8}same {5}[0-9a-f]{6}…[0-9a-f]{6}$/m);
    expect(stdout).toMatch(/^runtime hash {7}differs {2}\S+ → \S+ {2}The enabled tools differ\.$/m);
    expect(stdout).toMatch(/^ {2}\+ Tell [0-9a-f]{6}…[0-9a-f]{6}$/m);
    expect(stdout).toContain('  tier-pro: denied → allowed\n');
    const explained = await capability(folder, 'explain free.envelope.json pro.envelope.json --json');
    expect(JSON.parse(explained.stdout)).toMatchObject({
      ok: false,
      unchanged: expect.arrayContaining(['staticHash']),
      changed: [
        { field: 'runtimeHash', meaning: 'The enabled tools differ.' },
        { field: 'invocationHash', meaning: 'They are bound to different contexts.' },
      ],
    });
  });

  test('tell what changed in a tool as a caller meets it, and show what is hidden', async () => {
    const folder = project({
      'new.ts': AGENT.replace('q: z.string()', 'q: z.string().max(5)').replace(
        "'Does ' + name + '.'",
        "'Does ' + name + '\\u200b at once.'",
      ),
    });
    const { status, stdout } = await capability(folder, 'diff agent.ts new.ts');
    expect(status).toBe(1);
    expect(stdout).toContain('  ~ search ');
    expect(stdout).toContain('Its schema accepts less.');
    expect(stdout).toContain('⟨U+200B⟩');
    expect(stdout).not.toContain('\u200b');
    const json = JSON.parse((await capability(folder, 'diff agent.ts new.ts --json')).stdout);
    expect(json.changes[0]).toMatchObject({ toolKey: 'search', schema: { relation: 'accepts-less' } });
    expect(json.ok).toBe(false);
  });
});

describe('verify', () => {
  test('computes every hash again: 0 all are right, 1 one is not, 2 unreadable, 3 not all can be', async () => {
    const folder = project({ 'bad.json': '{"schemaVersion":"2"}' });
    await envelopes(folder);
    const text = readFileSync(join(folder, 'pro.envelope.json'), 'utf8');
    const envelope = JSON.parse(text);
    writeFileSync(join(folder, 'tampered.json'), text.replace('Be brief.', 'Be rude.'));
    const { invocationContext: _, ...runtime } = envelope.runtime;
    writeFileSync(join(folder, 'unbound.json'), JSON.stringify({ ...envelope, runtime }));
    writeFileSync(join(folder, 'other.json'), '{"tenantId":"other"}');
    const cases: readonly (readonly [string, number])[] = [
      ['pro.envelope.json', 0],
      ['tampered.json', 1],
      ['bad.json', 2],
      ['absent.json', 2],
      ['pro.link.json', 3],
      ['unbound.json', 3],
      ['unbound.json -c context.json', 0],
      ['unbound.json -c other.json', 1],
      ['pro.link.json -c other.json', 1],
    ];
    const run = (words: string[]) => bullaIn(folder, words);
    const results = await Promise.all(
      cases.map(([line]) => run(['capability', 'verify', ...line.split(' ')])),
    );
    expect(results.map(({ status }, place) => [cases[place]![0], status])).toEqual(cases);
    expect(results[0]!.stdout).toMatch(/^good {2}pro\.envelope\.json: All 6 hashes of "support" recompute/);
    expect(results[1]!.stdout).toContain('✗ /static/staticHash');
    const any = await Promise.all(
      ['pro.envelope.json', 'tampered.json', 'pro.link.json'].map((file) => run(['verify', file, '--json'])),
    );
    expect(any.map(({ status }) => status)).toEqual([0, 1, 3]);
    expect(JSON.parse(any[0]!.stdout).files).toMatchObject([
      { kind: 'capability envelope', ok: true, code: 'ok' },
    ]);
    expect(JSON.parse(any[1]!.stdout).files).toMatchObject([{ code: 'CAPABILITY_ENVELOPE_INVALID' }]);
    expect(JSON.parse(any[2]!.stdout).files).toMatchObject([{ code: 'CAPABILITY_INCOMPLETE' }]);
  });
});

describe('opaque schemas', () => {
  const agent = (schema: string) => `import { createRegisteredAgent, tool } from '@bulla/core/capability';
import * as v from 'valibot';
const one = tool({ name: 'one', inputSchema: ${schema}, handler: () => 0 });
export const agent = createRegisteredAgent({ agentId: 'a', name: 'A', rootComposable: one });
`;

  test('hash alike, and it is told wherever that could deceive', async () => {
    const folder = project({
      'a.ts': agent('v.object({ a: v.string() })'),
      'b.ts': agent('v.object({ b: v.number() })'),
      'good.ts': AGENT.replace("make('Tell'", "make('tell'"),
    });
    const [a, b, diff, lint, good, order] = await Promise.all(
      ['hash a.ts', 'hash b.ts', 'diff a.ts b.ts', 'lint a.ts --json', 'lint good.ts', 'lint agent.ts'].map(
        (line) => capability(folder, line),
      ),
    );
    expect(a!.stdout).toBe(b!.stdout);
    expect(a!.stderr).toContain('opaque schemas: "one".');
    expect([diff!.status, diff!.stdout.split('\n')[0]]).toEqual([0, 'They are the same.']);
    expect(diff!.stderr).toContain('opaque schemas: "one".');
    expect(lint!.status).toBe(1);
    expect(JSON.parse(lint!.stdout).findings).toMatchObject([{ code: 'opaque_schema', place: '/one' }]);
    expect([good!.status, good!.stdout]).toEqual([0, 'Nothing to tell.\n']);
    expect([order!.status, order!.stdout]).toEqual([
      1,
      'profile  /root\n  Its members are sorted differently: "Tell" comes first under khora, "search" under khora-icu.\n',
    ]);
  });
});
