import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatVkey, noteVerifier, parseVkey, publicKey } from '@bulla/core/crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Result, repo, temporaryFolder } from '../../../test/run.ts';
import { input, sealer } from '../../../test/store-suite.ts';
import { testLog } from '../../../test/witness-log.ts';
import { openStore } from '../../store/index.ts';
import { createSubmit, loadPolicy, type SubmitOutcome } from '../../witness/index.ts';

const command = [join(repo, 'packages/bulla/dist/bulla.js'), 'witness'];
const environment = (home: string) => ({ PATH: process.env.PATH ?? '', BULLA_HOME: home });

function witness(home: string, ...args: string[]): Result {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...command, ...args], {
    env: environment(home),
  });
  return { status, stdout: stdout.toString(), stderr: stderr.toString() };
}

interface Serving {
  readonly child: ChildProcess;
  readonly url: string;
  readonly vkeys: string[];
  readonly output: { stdout: string; stderr: string };
  readonly done: Promise<number | null>;
}

async function serve(home: string, ...args: string[]): Promise<Serving> {
  const all = [...command, 'serve', '--listen', '127.0.0.1:0', ...args];
  const child = spawn(process.execPath, all, { env: environment(home) });
  onTestFinished(() => void child.kill('SIGKILL'));
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].on('data', (chunk) => (output[name] += chunk));
  const done = new Promise<number | null>((resolve) => child.on('close', resolve));
  while (!/url +http.*\n/.test(output.stdout) && child.exitCode === null) await sleep(10);
  const vkeys = [...output.stdout.matchAll(/^vkey +(\S+)$/gm)].map((match) => match[1]!);
  return { child, url: /^url +(\S+)$/m.exec(output.stdout)![1]!, vkeys, output, done };
}

const log = testLog();
const add = async (url: string, from: typeof log, oldSize: number, size: number) => {
  const body = Buffer.from(await from.request(oldSize, size));
  return (await fetch(`${url}/add-checkpoint`, { method: 'POST', body })).status;
};

describe('witness serve', () => {
  test('prints its keys and address, logs each request, and ends well', async () => {
    const home = temporaryFolder();
    const serving = await serve(home, '--name', 'witness.example/w1', '--log', log.vkey, '--ml-dsa');
    expect(serving.output.stdout).toMatch(
      /^witness {2}witness\.example\/w1\nvkey {5}\S+\nvkey {5}\S+\nurl {6}http:\S+\n$/,
    );
    expect(serving.vkeys.map((vkey) => parseVkey(vkey).type)).toEqual([0x04, 0x06]);
    expect(existsSync(join(home, 'witness/witness.key'))).toBe(true);
    const other = testLog({ view: 'other' });
    expect([
      await add(serving.url, log, 0, 3),
      await add(serving.url, log, 0, 5),
      await add(serving.url, other, 3, 3),
      await add(serving.url, testLog({ origin: '\u202eevil' }), 0, 3),
      (await fetch(serving.url)).status,
    ]).toEqual([200, 409, 422, 404, 404]);
    serving.child.kill('SIGTERM');
    expect(await serving.done).toBe(0);
    const lines = serving.output.stderr.trimEnd().split('\n');
    expect(lines.map((line) => line.replace(/^\S+Z /, ''))).toEqual([
      'POST /add-checkpoint 200 log.example/a 3',
      'POST /add-checkpoint 409 log.example/a 5',
      `EVIDENCE split-view: log.example/a signed size 3 with root ${Buffer.from(other.root(3)).toString('base64')}; it is kept in the state`,
      'POST /add-checkpoint 422 log.example/a 3',
      'POST /add-checkpoint 404 \\u{202e}evil 3',
      'GET / 404',
    ]);
  });

  test('reads its logs anew on SIGHUP, and keeps those it knew if it cannot', async () => {
    const home = temporaryFolder();
    const file = join(home, 'logs.txt');
    const second = testLog({ origin: 'log.example/b' });
    writeFileSync(file, `${log.vkey}\n`);
    const serving = await serve(home, '--name', 'w.example', '--log', file);
    const told = async (text: string) => {
      while (!serving.output.stderr.includes(text)) await sleep(10);
    };
    expect(await add(serving.url, second, 0, 3)).toBe(404);
    writeFileSync(file, `${log.vkey}\n${second.vkey}\n`);
    serving.child.kill('SIGHUP');
    await told('knows 2 logs');
    expect(await add(serving.url, second, 0, 3)).toBe(200);
    writeFileSync(file, 'nonsense\n');
    serving.child.kill('SIGHUP');
    await told('[WITNESS_LOGS]');
    expect(await add(serving.url, second, 3, 5)).toBe(200);
    serving.child.kill('SIGINT');
    expect(await serving.done).toBe(0);
  });

  test('refuses what it cannot serve', () => {
    const home = temporaryFolder();
    const name = ['--name', 'w.example'];
    const empty = join(home, 'empty.txt');
    writeFileSync(empty, '# none\n');
    const refused = (...args: string[]) => {
      const { status, stderr } = witness(home, 'serve', ...args);
      return [status, /\[(\w+)\]/.exec(stderr)?.[1]];
    };
    expect(refused(...name, '--log', empty)).toEqual([2, 'WITNESS_LOGS']);
    expect(refused('--name', 'https://w.example', '--log', log.vkey)).toEqual([2, 'WITNESS_OPTION']);
    expect(refused(...name, '--log', log.vkey, '--prefix', 'x')).toEqual([2, 'WITNESS_OPTION']);
    const far = refused(...name, '--log', log.vkey, '--listen', '192.0.2.1:80');
    expect(far).toEqual([3, 'WITNESS_LISTEN']);
    // That start made the key. Without its state it never cosigns again.
    truncateSync(join(home, 'witness/state.db'));
    expect(refused(...name, '--log', log.vkey)).toEqual([1, 'WITNESS_STATE_LOST']);
    rmSync(join(home, 'witness'), { recursive: true });
    expect(witness(home, 'serve', ...name, '--log', log.vkey, '--listen', 'nowhere').status).not.toBe(0);
  });
});

describe('witness add', () => {
  const vkeys = [1, 2].map((seed) => {
    const key = publicKey('Ed25519', parseVkey(testLog({ seed }).vkey).publicKey.bytes);
    return formatVkey(noteVerifier(`w.example/${seed}`, key, 0x04));
  });

  test('writes the policy and tells how many are enough', () => {
    const home = temporaryFolder();
    expect(witness(home, 'add', 'one', vkeys[0]!, 'https://one.example')).toMatchObject({
      status: 0,
      stdout: `${join(home, 'witnesses.policy')}: 1 of 1 witnesses are enough\n`,
    });
    const second = witness(home, 'add', 'two', vkeys[1]!, 'https://two.example', '--quorum', 'any', '--json');
    expect(JSON.parse(second.stdout)).toEqual({
      ok: true,
      policy: join(home, 'witnesses.policy'),
      witnesses: ['one', 'two'],
      enough: 1,
    });
    expect(readFileSync(join(home, 'witnesses.policy'), 'utf8')).toMatch(
      /\ngroup witnesses any one two\nquorum witnesses\n$/,
    );
  });

  test('leaves a policy alone that was written by hand', () => {
    const home = temporaryFolder();
    const file = join(home, 'mine.policy');
    writeFileSync(file, '# mine\nquorum none\n');
    expect(witness(home, 'add', 'one', vkeys[0]!, 'https://one.example', '--policy', file)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('[WITNESS_POLICY_BY_HAND]'),
    });
  });
});

describe('witness status', () => {
  test('tells what each witness cosigned of a chain, and how far behind that is', {
    timeout: 60_000,
  }, async () => {
    const home = temporaryFolder();
    const url = join(home, 'store.db');
    expect(witness(home, 'status')).toMatchObject({
      status: 3,
      stdout: expect.stringContaining('There is no witness'),
    });

    // A store whose log a running witness knows, and another one that is not there.
    const first = await openStore({ url, create: true, sealer, operator: 'op.example' });
    await first.chain('default').append(input('first'));
    const origin = (await first.chain('default').origin())!;
    await first.close();
    const { signer } = await sealer();
    const logKey = formatVkey(noteVerifier(origin, publicKey('Ed25519', signer.publicKey)));
    const serving = await serve(home, '--name', 'w.example', '--log', logKey);
    witness(home, 'add', 'near', serving.vkeys[0]!, serving.url);
    const far = formatVkey(noteVerifier('far', parseVkey(log.vkey).publicKey, 0x04));
    witness(home, 'add', 'far', far, 'http://127.0.0.1:1', '--quorum', 'any');
    expect(witness(home, 'status')).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('not witnessed'),
    });

    const outcomes: SubmitOutcome[] = [];
    const submit = createSubmit(loadPolicy(join(home, 'witnesses.policy'))!, {
      onOutcome: (outcome) => outcomes.push(outcome),
    });
    const store = await openStore({ url, sealer, submit });
    await store.chain('default').append(input('second'));
    await store.chain('default').checkpoint();
    const { time } = outcomes[0]!.results[0] as { time: number };
    expect(outcomes.map(({ size, quorum }) => [size, quorum])).toEqual([[2, true]]);
    expect(witness(home, 'status').status).toBe(0);
    await store.close();

    const last = await openStore({ url, sealer });
    await last.chain('default').append(input('third'));
    await last.close();
    const { status, stdout } = witness(home, 'status', '--json');
    expect([status, JSON.parse(stdout)]).toEqual([
      1,
      {
        ok: false,
        chain: 'default',
        records: 3,
        checkpoint: 3,
        quorum: false,
        witnesses: [
          { name: 'near', url: serving.url, size: 2, time: new Date(time * 1000).toISOString(), behind: 1 },
          { name: 'far', url: 'http://127.0.0.1:1', size: null, time: null, behind: 3 },
        ],
      },
    ]);
    expect(witness(home, 'status', '--quiet')).toMatchObject({ status: 1, stdout: '' });
    expect(witness(home, 'status', '--chain', 'none')).toMatchObject({ status: 3 });
  });
});
