import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { repo, temporaryFolder } from '../../../test/run.ts';

const SHELL = { cwd: repo, env: { ...process.env, PATH: `${join(repo, 'bin')}:${process.env.PATH}` } };

/** Runs a line of a shell, with a real pipe between its commands. */
async function shell(line: string): Promise<{ stdout: string; stderr: string; status: number }> {
  const child = spawn('bash', ['-o', 'pipefail', '-c', line], {
    ...SHELL,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const out = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => {
    out.stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    out.stderr += chunk;
  });
  const [status] = await once(child, 'close');
  return { ...out, status };
}

const HASH = '249111c8ff7b8a6e6fde0ba1b22db583bfab859a322a57f7471edfe186b7428c';

test('what the engine would print raw goes through the print boundary', async () => {
  const folder = temporaryFolder();
  const hostile = JSON.stringify('a\u001b[2J\r\nbulla: good\u009b postgres://u:secret@h/db');
  writeFileSync(
    join(folder, 'warn.cjs'),
    `process.once('beforeExit', () => process.emitWarning(${hostile}, { code: 'X_Y' }));`,
  );
  writeFileSync(
    join(folder, 'throw.cjs'),
    `process.once('beforeExit', () => { throw new Error(${hostile}); });`,
  );
  const run = (file: string) => shell(`NODE_OPTIONS='--require ${folder}/${file}' bulla profiles --quiet`);
  const [warned, thrown] = await Promise.all([run('warn.cjs'), run('throw.cjs')]);
  const text = 'a⟨U+001B⟩[2J⟨U+000D⟩⟨U+000A⟩bulla: good⟨U+009B⟩ postgres://***@h/db';
  expect(warned).toEqual({ stdout: '', stderr: `bulla: ${text} [X_Y]\n`, status: 0 });
  const [first, ...places] = thrown.stderr.trimEnd().split('\n');
  expect({ first, status: thrown.status }).toEqual({ first: `bulla: Error: ${text}`, status: 3 });
  expect(places.filter((line) => !line.startsWith('    at '))).toEqual([]);
});

describe('a pipe', () => {
  test('that is slow, or larger than its buffer, is read to its end', async () => {
    const [slow, large] = await Promise.all([
      shell(`(printf '{"b":'; sleep 0.3; echo '1}') | bulla canon`),
      shell(`node -e 'process.stdout.write("[" + "1,".repeat(200000) + "1]")' | bulla hash`),
    ]);
    expect(slow).toEqual({ stdout: '{"b":1}', stderr: '', status: 0 });
    expect(large).toEqual({ stdout: `${HASH}\n`, stderr: '', status: 0 });
  });

  test('that its reader closes ends nothing with a stack, and the verdict stays', async () => {
    const [help, lint] = await Promise.all([
      shell(`(bulla --help; echo "exit $?" >&2) | head -1`),
      // The reader is gone before anything is written; the document is bad all the same.
      shell(`(sleep 0.3; echo '{"a":1.0}' | bulla lint; echo "exit $?" >&2) | true`),
    ]);
    expect(help).toEqual({ stdout: 'Usage: bulla [options] [command]\n', stderr: 'exit 0\n', status: 0 });
    expect(lint).toEqual({ stdout: '', stderr: 'exit 1\n', status: 0 });
  });

  test('that its reader closes ends whoever answers an endless input', async () => {
    const { stdout, stderr } = await shell(`yes '{"a":1.0}' | bulla canon --lines | head -1`);
    expect({ stdout: JSON.parse(stdout).canonical, stderr }).toEqual({ stdout: '{"a":1}', stderr: '' });
  });

  test('into a full disk is an error without a stack', async () => {
    expect(await shell(`echo '{}' | bulla canon > /dev/full`)).toEqual({
      stdout: '',
      stderr: 'bulla: The output cannot be written (ENOSPC). [OUTPUT_UNWRITABLE]\n',
      status: 3,
    });
  });

  test('carries a whole chain to whoever verifies or imports it', async () => {
    const [home, other] = [temporaryFolder(), temporaryFolder()];
    const first = `export BULLA_HOME=${home}`;
    const sealed = await shell(
      `${first}; for i in 1 2; do echo '{"type":"tool"}' | bulla capsule seal; done`,
    );
    expect(sealed.status).toBe(0);
    const [chain, any, imported, named, proof] = await Promise.all([
      shell(`${first}; bulla capsule export | (sleep 0.2; bulla chain verify -) | head -1`),
      shell(`${first}; bulla capsule export | bulla verify - | head -1`),
      shell(
        `${first}; bulla capsule export | BULLA_HOME=${other} BULLA_OPERATOR=x bulla capsule import - --keyring ${home}/keys; echo $?`,
      ),
      // A pipe that has a name, as <(command) gives one.
      shell(
        `${first}; mkfifo ${other}/f ${other}/g; for f in f g; do bulla capsule export > ${other}/$f & done; bulla chain verify ${other}/f | head -1; bulla capsule import ${other}/g 2>&1`,
      ),
      shell(`${first}; bulla capsule export | head -1 | bulla prove - --out - | head -1`),
    ]);
    expect(proof.stdout).toBe('c2sp.org/tlog-proof@v1\n');
    expect(chain.stdout).toBe('good  2 records, unbroken from the first to the last\n');
    expect(any.stdout).toBe('good  - (capsules): 2 records, all good.\n');
    expect(imported.stdout).toBe('1\n');
    expect(named.stdout).toBe(`${chain.stdout}bulla: imported 0 records into default\n`);
    expect(imported.stderr).toContain('[STORE_FOREIGN]');
  });

  test('cannot stand for two files', async () => {
    const { stderr, status } = await shell(
      `echo '{}' | bulla envelope explain - --authorization - --audience a --tenant-id t`,
    );
    expect({ stderr: stderr.split('\n').at(-2), status }).toEqual({
      stderr: 'bulla: Standard input can stand for one file only. [INPUT_UNREADABLE]',
      status: 2,
    });
  });
});
