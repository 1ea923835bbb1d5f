import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { repo } from '../../../test/run.ts';
import { takeStandardInput } from '../../os/index.ts';
import { main, programOf } from '../cli.ts';
import { swapStreams } from './streams.ts';

/** Clears a screen, sets a title, goes back to the start of a line, begins a new one, reverses and hides. */
const HOSTILE = 'x\u001b[2J\u001b]0;t\u0007\r\nFORGED\u0085\u009b1m\u202e\u2028\u200b\u007fFORGED';
/** The same in a document. */
const QUOTED = JSON.stringify(HOSTILE);

/** What a terminal acts on, but newlines and tabs; and a line that somebody else began. */
const RAW = /[[\p{Cc}\p{Zl}\p{Zp}\u202e\u200b]--[\n\t]]/v;
const FORGED = /^FORGED/m;

interface Result {
  readonly exit: number;
  readonly text: string;
}

/** Runs a command inside this process. */
async function run(args: readonly string[], input = ''): Promise<Result> {
  const chunks: Buffer[] = [];
  const collect = () => {
    const stream = new PassThrough();
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    return stream;
  };
  // Where documents go to a program, their bytes are exact; it is the terminal that must be safe.
  swapStreams({ stdout: Object.assign(collect(), { isTTY: true }), stderr: collect() });
  takeStandardInput(new TextEncoder().encode(input));
  try {
    const exit = await main(['node', 'bulla', ...args]);
    return { exit, text: Buffer.concat(chunks).toString('utf8') };
  } finally {
    swapStreams(null);
    takeStandardInput(null);
  }
}

/** What is wrong with what a command printed; nothing if a terminal is safe from it. */
function wrong({ text }: Result): string | null {
  const raw = RAW.exec(text);
  if (raw !== null) {
    const point = raw[0].codePointAt(0)!.toString(16);
    return `raw U+${point} in ${JSON.stringify(text.slice(Math.max(0, raw.index - 60), raw.index + 20))}`;
  }
  const forged = FORGED.exec(text);
  if (forged === null) return null;
  return `a forged line in ${JSON.stringify(text.slice(Math.max(0, forged.index - 60), forged.index + 20))}`;
}

/** Documents that others write, full of escapes. */
const capsule = (id: string) =>
  `{"id":${id},"type":"tool","domain":${QUOTED},"parent_id":null,"sequence":0,"previous_hash":null,"trigger":{"type":"agent","source":${QUOTED},"timestamp":${QUOTED},"request":${QUOTED},"correlation_id":null,"user_id":null},"context":{"agent_id":${QUOTED},"session_id":null,"environment":{}},"reasoning":{"analysis":"","options":[],"options_considered":[],"selected_option":"","reasoning":"","confidence":0.0,"model":null,"prompt_hash":null},"authority":{"type":"autonomous","approver":null,"policy_reference":null,"chain":[],"escalation_reason":null},"execution":{"tool_calls":[{"tool":${QUOTED},"arguments":{},"result":null,"success":true,"duration_ms":0,"error":null}],"duration_ms":0,"resources_used":{}},"outcome":{"status":"success","result":null,"summary":${QUOTED},"error":null,"side_effects":[],"metrics":{}},"hash":${QUOTED},"signature":${QUOTED},"signature_pq":"","signed_at":${QUOTED},"signed_by":${QUOTED}}`;
const DOCUMENTS: Readonly<Record<string, string>> = {
  text: HOSTILE,
  'any document': `{${QUOTED}:${QUOTED},"a":1.0}`,
  'a wrong document': `{"a":${QUOTED},"a":2}`,
  capsule: capsule(QUOTED),
  'capsule with an id': capsule('"0199a000-0000-7000-8000-000000000000"'),
  chain: `[${capsule(QUOTED)},${capsule(QUOTED)}]`,
  lines: `${capsule(QUOTED)}\n${capsule(QUOTED)}\n`,
  lock: `{"version":"1.0","server_command":${QUOTED},"tools":{${QUOTED}:{"description_hash":${QUOTED},"input_schema_hash":"sha256:0","risk_level":${QUOTED}}}}`,
  'newer lock': `{"lockFileVersion":"3.0","server":{"name":${QUOTED},"command":${QUOTED},"digest":${QUOTED}},"tools":{${QUOTED}:{}}}`,
  manifest: `{"manifest_version":"1.0","agent_id":${QUOTED},"version":${QUOTED},"tools":[{"name":${QUOTED},"description":${QUOTED},"permission_scope":${QUOTED},"input_schema":{"type":${QUOTED}}}],"permission_scopes":[{"id":${QUOTED},"sensitivity":${QUOTED}}]}`,
  envelope: `{"envelope_version":"1.0","action":${QUOTED},"nonce":${QUOTED},"tenant_id":${QUOTED},"policy":{"policy_id":${QUOTED}}}`,
  authorization: `{"payload":${QUOTED},"signatures":[{"header":{"kid":${QUOTED}},"protected":${QUOTED},"signature":${QUOTED}}]}`,
  rules: `name: ${QUOTED}\nrules:\n  - name: ${QUOTED}\n    expr: ${QUOTED}\n    failure_msg: ${QUOTED}\n`,
  checkpoint: `${HOSTILE.replaceAll('\n', '')}\n5\nAAAA\n\n— ${HOSTILE.replaceAll('\n', '')} AAAA\n`,
  'an agent': `{"version":1,"agentName":${QUOTED},"profile":"khora","staticHash":${QUOTED},"runtimeHash":${QUOTED},"toolRefs":[{"toolKey":${QUOTED},"toolHash":${QUOTED}}]}`,
  keyring: `{"version":1,"active_epoch":0,"epochs":[{"epoch":0,"fingerprint":${QUOTED},"public_key_hex":${QUOTED},"created_at":${QUOTED},"status":${QUOTED}}]}`,
  host: `{"mcpServers":{${QUOTED}:{"command":${QUOTED},"args":[${QUOTED}],"env":{${QUOTED}:${QUOTED}}}}}`,
};

interface Leaf {
  readonly path: readonly string[];
  readonly command: Command;
}

function leaves(command: Command, path: readonly string[]): Leaf[] {
  if (command.commands.length === 0) return [{ path, command }];
  return command.commands.flatMap((sub) => leaves(sub, [...path, sub.name()]));
}

/** These wait for something that a test does not give: a server's whole life, a scan of this machine. */
const NOT_RUN = new Set(['demo']);

const program = await programOf(
  () => async () => undefined,
  () => true,
);
const LEAVES = leaves(program, []).filter(({ path }) => !NOT_RUN.has(path[0]!) && path[0] !== 'help');

let folder: string;
const start = process.cwd();
const before = { ...process.env };
beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulla-escapes-')));
  process.chdir(folder);
  Object.assign(process.env, { BULLA_HOME: join(folder, 'home'), HOME: folder, FORCE_COLOR: '0' });
});
afterAll(() => {
  process.chdir(start);
  process.env = before;
  rmSync(folder, { recursive: true, force: true });
});

/** What a command must be given besides the one thing that is tried. */
function required({ command }: Leaf, except: string | null): string[] {
  const options = command.options
    .filter((option) => option.mandatory && option.long !== except)
    .flatMap((option) => [option.long!, option.argChoices?.[0] ?? HOSTILE]);
  const words = command.registeredArguments.filter((argument) => argument.required).map(() => HOSTILE);
  return [...options, ...(words.length === 0 ? [] : ['--', ...words])];
}

describe('no command sends what others wrote to a terminal raw', () => {
  test.each(Object.entries(DOCUMENTS))('reading: %s', async (_name, document) => {
    // The name of the file is as hostile as what it holds.
    writeFileSync(join(folder, HOSTILE), document);
    writeFileSync(join(folder, 'plain.json'), document);
    const found: string[] = [];
    for (const leaf of LEAVES) {
      const { path, command } = leaf;
      if (command.registeredArguments.length === 0) continue;
      for (const words of [[HOSTILE], ['-'], [HOSTILE, 'plain.json']]) {
        const options = required(leaf, null);
        const cut = options.indexOf('--');
        const args = [...path, ...(cut < 0 ? options : options.slice(0, cut)), '--', ...words];
        const problem = wrong(await run(args, document));
        if (problem !== null) found.push(`${path.join(' ')} ${words.length}: ${problem}`);
      }
    }
    expect(found).toEqual([]);
  });

  test('options', async () => {
    writeFileSync(join(folder, HOSTILE), DOCUMENTS['any document']!);
    const found: string[] = [];
    for (const leaf of LEAVES) {
      for (const option of leaf.command.options) {
        if (option.isBoolean() || option.long === null || option.long === undefined) continue;
        const args = [...leaf.path, option.long, HOSTILE, ...required(leaf, option.long)];
        const problem = wrong(await run(args));
        if (problem !== null) found.push(`${leaf.path.join(' ')} ${option.long}: ${problem}`);
      }
    }
    expect(found).toEqual([]);
  });

  test('what is in the store', async () => {
    const sealed = { type: 'tool', domain: HOSTILE, context: { agent_id: HOSTILE, session_id: HOSTILE } };
    const call = {
      tool: HOSTILE,
      arguments: {},
      result: null,
      success: false,
      duration_ms: 0,
      error: HOSTILE,
    };
    const draft = {
      ...sealed,
      trigger: { source: HOSTILE, request: HOSTILE },
      execution: { tool_calls: [call] },
      outcome: { status: 'failure', summary: HOSTILE, error: HOSTILE },
    };
    const store = join(folder, 'hostile.db');
    const place = ['--store', store];
    const found: string[] = [];
    const hold = async (args: readonly string[], exits: readonly number[], input = '') => {
      const result = await run(args, input);
      const problem = wrong(result);
      if (problem !== null) found.push(`${args.join(' ')}: ${problem}`);
      expect(exits, `${args.join(' ')}: ${result.text}`).toContain(result.exit);
      return result.text;
    };
    const stored = LEAVES.filter(({ command }) => command.options.some(({ long }) => long === '--store'));
    /** Every command that opens a store, with as little as it takes, and with what names a record. */
    const holdAll = async () => {
      for (const leaf of stored) {
        const options = required(leaf, null);
        const cut = options.indexOf('--');
        const given = cut < 0 ? options : options.slice(0, cut);
        const words = leaf.command.registeredArguments.filter(({ required }) => required);
        for (const word of words.length === 0 ? [''] : ['0', 'plain.json', HOSTILE]) {
          const args = [...leaf.path, ...place, ...given, '--', ...words.map(() => word)];
          await hold(args, [0, 1, 2, 3]);
        }
      }
    };
    writeFileSync(join(folder, 'plain.json'), DOCUMENTS['capsule with an id']!);
    await hold(['capsule', 'seal', ...place], [0], JSON.stringify(draft));
    await hold(['kill', '--agent', HOSTILE, '--reason', HOSTILE, ...place], [0]);
    await hold(['kill', '--list', ...place], [0]);
    await hold(['kill', '--lift', '--agent', 'x', '--reason', HOSTILE, ...place], [2]);
    await hold(['chain', 'stats', ...place], [0]);
    await hold(['chain', 'head', ...place], [0]);
    await hold(['chain', 'verify', ...place], [0]);
    await hold(['checkpoint', 'create', ...place], [0]);
    await hold(['checkpoint', 'list', ...place], [0]);
    const records = await hold(['capsule', 'export', ...place], [0]);
    await hold(['capsule', 'show', '-'], [0], records.split('\n')[0]);
    await hold(['chain', 'recover', '--reason', HOSTILE, ...place], [2]);
    for (const group of ['grants list', 'consent pending', 'witness status', 'envelope policy list'])
      await hold([...group.split(' '), ...place], [0, 2, 3]);
    expect(stored.length).toBeGreaterThan(30);
    await holdAll();
    // Somebody else writes into the database.
    const { default: Database } = await import('better-sqlite3');
    const database = new Database(store);
    const { data, hash } = database.prepare('SELECT data, hash FROM record LIMIT 1').get() as {
      data: string;
      hash: string;
    };
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    const id = JSON.parse(data).id as string;
    database.prepare('UPDATE record SET data = replace(data, ?, ?)').run(id, QUOTED.slice(1, -1));
    database.close();
    for (const group of ['chain verify', 'chain stats', 'capsule export', 'chain head'])
      await hold([...group.split(' '), ...place], [0, 1, 3]);
    await holdAll();
    expect(found).toEqual([]);
  });

  test('what a server offers and says of itself', async () => {
    const items = { name: HOSTILE, title: HOSTILE, description: HOSTILE };
    const surface = {
      serverInfo: { name: HOSTILE, title: HOSTILE, version: HOSTILE },
      instructions: HOSTILE,
      tools: [
        { ...items, inputSchema: { type: 'object', properties: { [HOSTILE]: { description: HOSTILE } } } },
      ],
      prompts: [{ ...items, arguments: [{ name: HOSTILE }] }],
      resources: [{ ...items, uri: 'file:///x' }],
    };
    const other = {
      ...surface,
      tools: [{ ...surface.tools[0], name: `${HOSTILE}2` }],
      instructions: `${HOSTILE}3`,
    };
    const server = (offer: unknown) => {
      const file = join(folder, 'surface.json');
      writeFileSync(file, JSON.stringify(offer));
      return [process.execPath, join(repo, 'packages/bulla/test/servers/surface.mjs'), file];
    };
    const found: string[] = [];
    const lock = join(folder, 'hostile-lock.json');
    for (const [args, offer, exit] of [
      [['scan'], surface, 0],
      [['scan', '--text'], surface, 0],
      [['lock', '-o', lock], surface, 0],
      [['check', '--lock', lock], other, 1],
      [['diff', '--lockfile', lock], other, 1],
      [['policy', 'check', '--preset', 'strict'], other, 1],
      [['guard', '--lock', lock, '--print-effective-allowlist'], surface, 0],
      [['manifest', 'init', '--lock', lock], null, 0],
    ] as const) {
      const result = await run([...args, ...(offer === null ? [] : ['--', ...server(offer)])]);
      expect(result.exit, `${args.join(' ')}: ${result.text}`).toBe(exit);
      const problem = wrong(result);
      if (problem !== null) found.push(`${args.join(' ')}: ${problem}`);
    }
    expect(found).toEqual([]);
  });

  test('variables of the environment', async () => {
    const found: string[] = [];
    for (const name of ['BULLA_HOME', 'BULLA_OPERATOR', 'BULLA_PKCS11_PIN', 'HOME', 'XDG_DATA_HOME']) {
      const kept = process.env[name];
      process.env[name] = HOSTILE;
      if (name === 'HOME' || name === 'XDG_DATA_HOME') delete process.env.BULLA_HOME;
      for (const args of [
        ['chain', 'head'],
        ['keys', 'list'],
        ['kill', '--list'],
        ['witness', 'status'],
      ]) {
        const problem = wrong(await run(args));
        if (problem !== null) found.push(`${name} ${args.join(' ')}: ${problem}`);
      }
      if (kept === undefined) delete process.env[name];
      else process.env[name] = kept;
      process.env.BULLA_HOME = join(folder, 'home');
    }
    expect(found).toEqual([]);
  });

  test('words that are no command, no option, or too many', async () => {
    const found: string[] = [];
    for (const { path } of LEAVES) {
      for (const words of [[`--${HOSTILE}`], [HOSTILE, HOSTILE, HOSTILE, HOSTILE]]) {
        const problem = wrong(await run([...path, ...words]));
        if (problem !== null) found.push(`${path.join(' ')}: ${problem}`);
      }
    }
    const problem = wrong(await run([HOSTILE]));
    if (problem !== null) found.push(problem);
    expect(found).toEqual([]);
  });
});
