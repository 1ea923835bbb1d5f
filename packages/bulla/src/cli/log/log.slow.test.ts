import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { formatVkey, localSigner, noteVerifier, parseNote, publicKey, signNote } from '@bulla/core/crypto';
import { addSignatures } from '@bulla/core/log';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { repo, bulla as run, temporaryFolder } from '../../../test/run.ts';
import { openKeyring } from '../../keys/index.ts';
import { openStore } from '../../store/index.ts';

// A test key.
const witnessSigner = localSigner('Ed25519', new Uint8Array(32).fill(7));

let folder = '';
let home = '';
const bulla = (args: string[], input = '', env = {}) => run(args, input, { BULLA_HOME: home, ...env });
const path = (name: string) => join(folder, name);
const good = (...args: string[]) => {
  const { status, stdout, stderr } = bulla(args);
  expect([status, stderr]).toEqual([0, '']);
  return stdout;
};
/** Appends in this process, with the keyring of the commands. */
async function append(count: number, name = 'n', store = join(home, 'store.db'), more = {}): Promise<void> {
  const keyring = openKeyring(join(home, 'keys'), { now: () => new Date() });
  const opened = await openStore({ url: store, create: true, sealer: () => keyring.sealer(), ...more });
  const content = (i: number) => ({ outcome: { status: 'success' as const, summary: `${name}${i}` } });
  await Promise.all(Array.from({ length: count }, (_, i) => opened.chain('default').append(content(i))));
  await opened.close();
}
const exported = (name: string, ...more: string[]) => {
  writeFileSync(path(name), good('capsule', 'export', ...more));
  return path(name);
};
const checkpoint = (name: string) => {
  writeFileSync(path(name), good('checkpoint', 'create'));
  return path(name);
};
const failures = (args: string[]) => {
  const { status, stdout } = bulla(['chain', 'verify', '--json', ...args]);
  const found = JSON.parse(stdout).failures as { code: string; index: number; error: string }[];
  return [status, found.map(({ code, index }) => [code, index])];
};

beforeEach(() => {
  folder = temporaryFolder();
  home = path('home');
  expect(bulla(['keys', 'init']).status).toBe(0);
});

describe('checkpoint', () => {
  test('create prints a signed note that verifies; list and show tell of it; vkey names the log', async () => {
    expect(bulla(['checkpoint', 'create'])).toMatchObject({ status: 3 });
    await append(3);
    const note = good('checkpoint', 'create');
    expect(note).toMatch(/^bulla-[0-9a-f]{16}\/-\/default\n3\n[A-Za-z0-9+/]{43}=\n\n— bulla-\S+ \S+\n$/);
    expect(good('checkpoint', 'show')).toBe(note);
    expect(good('checkpoint', 'show', '3')).toBe(note);
    expect(bulla(['checkpoint', 'show', '7'])).toMatchObject({
      status: 3,
      stderr: expect.stringContaining('The chain default has no checkpoint of 7 records.'),
    });
    expect(good('checkpoint', 'list')).toMatch(/^ {8}3 {2}[0-9a-f]{16}… {2}local\n$/);
    const [listed] = JSON.parse(good('checkpoint', 'list', '--json')).checkpoints;
    expect(listed).toMatchObject({ size: 3, state: 'local', note });
    const vkey = good('checkpoint', 'vkey').trim();
    writeFileSync(path('c'), note);
    expect(good('verify', path('c'), '--vkey', vkey)).toContain('(checkpoint): Signed by bulla-');
    expect(good('verify', path('c'))).toContain('(checkpoint): 3 records of bulla-');
    writeFileSync(path('c'), note.replace('\n3\n', '\n4\n'));
    expect(bulla(['verify', path('c')])).toMatchObject({
      status: 1,
      stdout: expect.stringContaining('[NOTE_SIGNATURE_INVALID]'),
    });
  });

  test('the operator can be named', async () => {
    bulla(['capsule', 'seal'], '{}', { BULLA_OPERATOR: 'example.com/agents' });
    expect(good('checkpoint', 'create').split('\n')[0]).toBe('example.com/agents/-/default');
  });
});

describe('chain verify with checkpoints', () => {
  test('the end was cut off, records were replaced, the log shows two histories', async () => {
    await append(20);
    const first = checkpoint('first');
    good('tiles', 'export', path('tiles'));
    await append(10, 'later');
    const second = checkpoint('second');
    const chain = exported('chain.jsonl');
    const lines = readFileSync(chain, 'utf8').split('\n');
    const both = ['--checkpoint', first, '--checkpoint', second];
    expect(failures([chain, ...both])).toEqual([0, []]);

    writeFileSync(path('cut'), lines.slice(0, 25).join('\n'));
    expect(failures([path('cut')])).toEqual([0, []]);
    expect(failures([path('cut'), ...both])).toEqual([1, [['truncated', 25]]]);

    // The real key signs other records from number 12 on, under the same name.
    const origin = readFileSync(first, 'utf8').split('\n')[0]!;
    const forged = path('forged.db');
    const operator = origin.slice(0, -'/-/default'.length);
    const store = await openStore({ url: forged, create: true, operator });
    const kept = lines
      .slice(0, 12)
      .map((data, sequence) => ({ sequence, hash: JSON.parse(data).hash, data }));
    await store.chain('default').adopt(kept);
    await store.close();
    await append(18, 'forged', forged, { operator });
    const other = exported('forged.jsonl', '--store', forged);
    expect(failures([other])).toEqual([0, []]);
    expect(failures([other, '--checkpoint', second])).toEqual([1, [['rewritten', 0]]]);
    expect(failures([other, '--tiles', path('tiles')])).toEqual([1, [['rewritten', 12]]]);
    expect(bulla(['chain', 'verify', other, '--tiles', path('tiles')]).stdout).toContain(
      '✗ record 12 (sequence 12): The first 20 records are not those that a checkpoint covers: record 12 is the first that differs. [rewritten]',
    );
    expect(failures([chain, ...both, '--by-checkpoint'])).toEqual([0, []]);
    expect(failures([other, ...both, '--by-checkpoint'])).toEqual([
      1,
      [
        ['rewritten', 0],
        ['rewritten', 0],
      ],
    ]);
  });

  test('a policy that is named asks for its witnesses', async () => {
    await append(2);
    const vkey = good('checkpoint', 'vkey').trim();
    const witness = noteVerifier('w.example', publicKey('Ed25519', witnessSigner.publicKey), 0x04);
    writeFileSync(path('policy'), `witness w ${formatVkey(witness)}\nquorum w\n`);
    const file = checkpoint('c');
    const chain = exported('a.jsonl');
    const asked = ['--policy', path('policy')];
    for (const args of [
      ['verify', file],
      ['verify', file, '--vkey', vkey],
      ['chain', 'verify', chain, '--checkpoint', file],
    ]) {
      expect(bulla(args).status).toBe(0);
      const { status, stdout, stderr } = bulla([...args, ...asked]);
      expect([args.join(' '), status]).toEqual([args.join(' '), 1]);
      expect(stdout + stderr).toContain(
        'The policy asks for more witnesses: signed by the log alone: anchored locally only.',
      );
      expect(stdout + stderr).toContain('[LOG_QUORUM]');
    }
    for (const args of [[], [chain]])
      expect(bulla(['chain', 'verify', ...args, ...asked])).toMatchObject({
        status: 3,
        stderr: expect.stringContaining('[LOG_QUORUM]'),
      });
    const text = readFileSync(file, 'utf8');
    const cosigned = await signNote(parseNote(text).text, [
      { name: 'w.example', signer: witnessSigner, type: 0x04, time: 1_700_000_000 },
    ]);
    writeFileSync(file, addSignatures(text, cosigned.slice(cosigned.indexOf('\n\n') + 2)));
    for (const args of [
      ['verify', file],
      ['verify', file, '--vkey', vkey],
      ['chain', 'verify', chain, '--checkpoint', file],
    ])
      expect(good(...args, ...asked)).toContain('by w at 2023-11-14T22:13:20.000Z');
    // A key that was named, and is not the log's, is not helped out by the local keyring.
    const stranger = formatVkey(noteVerifier('w.example', publicKey('Ed25519', witnessSigner.publicKey)));
    expect(bulla(['verify', file, '--vkey', stranger, ...asked]).status).toBe(3);
    expect(bulla(['chain', 'verify', chain, '--resume', path('s'), '--checkpoint', file])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('[USAGE]'),
    });
  });

  test('by checkpoint alone, a record whose content was changed is found, and one after the checkpoint too', async () => {
    await append(10);
    const anchor = ['--checkpoint', checkpoint('c'), '--by-checkpoint'];
    await append(5, 'later');
    const lines = readFileSync(exported('chain.jsonl'), 'utf8').split('\n');
    const changed = (at: number, from: string, to: string) => {
      writeFileSync(path('x'), lines.map((line, i) => (i === at ? line.replace(from, to) : line)).join('\n'));
      return failures([path('x'), ...anchor]);
    };
    expect(changed(4, '"n4"', '"n5"')).toEqual([1, [['hash_mismatch', 4]]]);
    // A signature under the checkpoint is not looked at, but is part of the tree.
    const signature = /"signature":"(..)/.exec(lines[4]!)![0];
    const other = signature.endsWith('00') ? '"signature":"11' : '"signature":"00';
    expect(changed(4, signature, other)).toEqual([1, [['rewritten', 0]]]);
    const last = /"signature":"(..)/.exec(lines[12]!)![0];
    expect(changed(12, last, '"signature":"zz')).toEqual([1, [['malformed_hex', 12]]]);
  });

  test('what cannot be read or is signed by nobody known is refused', async () => {
    await append(2);
    const chain = exported('chain.jsonl');
    writeFileSync(path('garbage'), 'hello\n');
    expect(bulla(['chain', 'verify', chain, '--checkpoint', path('garbage')])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('[LOG_CHECKPOINT]'),
    });
    const [note, key] = [checkpoint('c'), good('keys', 'export-public').trim()];
    rmSync(join(home, 'keys'), { recursive: true });
    expect(bulla(['keys', 'init']).status).toBe(0);
    const unknown = bulla(['chain', 'verify', chain, '--checkpoint', note]);
    expect([unknown.status, unknown.stderr]).toEqual([3, expect.stringContaining('[NOTE_UNVERIFIED]')]);
    expect(unknown.stderr).toMatch(/it says that it was signed by \S+\/-\/default\+[0-9a-f]{8}\./);
    expect(bulla(['verify', note])).toMatchObject({
      status: 3,
      stdout: expect.stringMatching(/^undecided .* Name the key with --public-key or --keyring\./),
    });
    expect(bulla(['chain', 'verify', chain, '--checkpoint', note, '--public-key', key]).status).toBe(0);
    expect(bulla(['chain', 'verify', chain, '--tiles', path('nowhere')])).toMatchObject({ status: 3 });
  });
});

describe('chain recover', () => {
  test('a store that was set back refuses, and goes on when it is told to', async () => {
    await append(5);
    copyFileSync(join(home, 'store.db'), path('backup.db'));
    await append(3);
    const old = checkpoint('old');
    copyFileSync(path('backup.db'), join(home, 'store.db'));
    for (const extra of ['-wal', '-shm']) rmSync(join(home, `store.db${extra}`), { force: true });
    const refused = bulla(['capsule', 'seal'], '{}');
    expect([refused.status, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toBe(
      'bulla: The chain default has 5 records, but a checkpoint of it covers 8: the store was set back. If that is meant to be so, run "bulla chain recover --chain default --reason TEXT". [STORE_BEHIND]\n',
    );
    expect(bulla(['chain', 'recover']).status).toBe(2);
    expect(good('chain', 'recover', '--reason', 'the disk failed')).toMatch(
      /^The chain default goes on at record 5, as bulla-[0-9a-f]{16}\/-\/default~2; [0-9a-f-]{36} records it\.\n$/,
    );
    expect(good('chain', 'verify')).toMatch(
      /\n {2}recovered {3}at record 5 the chain goes on as \S+~2, although it did not continue its checkpoint: the disk failed\n/,
    );
    expect(bulla(['capsule', 'seal'], '{}').status).toBe(0);
    expect(bulla(['chain', 'verify']).status).toBe(0);
    expect(failures(['--checkpoint', old])).toEqual([1, [['truncated', 7]]]);
    expect(bulla(['chain', 'recover', '--reason', 'again']).stderr).toContain('[STORE_NOT_BEHIND]');
  });
});

describe('prove', () => {
  test('by number, id, hash, URI and file; the proof verifies alone, with a key', async () => {
    await append(300);
    const line = good('capsule', 'resolve', 'capsule://default/257');
    const { id, hash } = JSON.parse(line);
    writeFileSync(path('c.json'), line);
    const proofs = ['257', id, hash, 'capsule://default/257', path('c.json')].map((meant) =>
      bulla(['prove', meant, '--out', '-']),
    );
    expect(new Set(proofs.map(({ stdout }) => stdout)).size).toBe(1);
    expect(proofs[0]!.stdout.split('\n').slice(0, 2)).toEqual(['c2sp.org/tlog-proof@v1', 'index 257']);
    expect(bulla(['prove', '257', '--out', path('p')])).toMatchObject({ status: 0, stdout: '' });
    expect(bulla(['prove', '257', '--out', path('p')]).stderr).toContain('[FILE_EXISTS]');
    good('tiles', 'export', path('tiles'), '--quiet');
    expect(bulla(['prove', path('c.json'), '--tiles', path('tiles'), '--out', '-']).stdout).toBe(
      proofs[0]!.stdout,
    );
    const key = good('keys', 'export-public').trim();
    const elsewhere = { BULLA_HOME: path('elsewhere') };
    const verified = bulla(['verify', path('c.json'), path('p'), '--public-key', key], '', elsewhere);
    expect([verified.status, verified.stdout]).toEqual([
      0,
      expect.stringContaining('default, signed by the log alone: anchored locally only.'),
    ]);
    expect(bulla(['verify', path('p'), '--public-key', key], '', elsewhere)).toMatchObject({
      status: 3,
      stdout: expect.stringContaining('[VERIFY_NO_CAPSULE]'),
    });
    writeFileSync(path('other.json'), good('capsule', 'resolve', 'capsule://default/256'));
    expect(bulla(['verify', path('other.json'), path('p')])).toMatchObject({
      status: 1,
      stdout: expect.stringContaining(
        'The proof is of none of the capsules that were named. [LOG_INCLUSION]',
      ),
    });
    expect(bulla(['prove', '300', '--out', '-']).stderr).toContain('[CAPSULE_NOT_FOUND]');
  });

  test('the record of a proof is found in a chain, and a chain is held against what is named beside it', async () => {
    await append(5);
    const lines = exported('chain.jsonl');
    const records = readFileSync(lines, 'utf8').trimEnd().split('\n');
    writeFileSync(path('chain.json'), `[${records.join(',\n')}]`);
    writeFileSync(path('cut.jsonl'), `${records.slice(0, 3).join('\n')}\n`);
    writeFileSync(path('capsule.json'), records[1]!);
    good('prove', '1', '--out', path('1.proof'), '--quiet');
    const note = checkpoint('note');
    const verdicts = (...args: string[]) => {
      const { status, stdout } = bulla(['verify', '--json', ...args]);
      return [status, ...JSON.parse(stdout).files.map((one: { code: string }) => one.code)];
    };
    expect(verdicts(lines, path('1.proof'))).toEqual([0, 'ok', 'ok']);
    expect(verdicts(path('1.proof'), path('chain.json'))).toEqual([0, 'ok', 'ok']);
    // A checkpoint is no capsule that the proof could have been of.
    expect(verdicts(path('1.proof'), note)).toEqual([3, 'VERIFY_NO_CAPSULE', 'ok']);
    // A capsule beside the chain takes nothing away.
    expect(verdicts(path('capsule.json'), lines, path('1.proof'))).toEqual([0, 'ok', 'ok', 'ok']);
    writeFileSync(path('rest.jsonl'), `${records.slice(2).join('\n')}\n`);
    expect(verdicts(path('1.proof'), path('rest.jsonl')).slice(0, 2)).toEqual([1, 'VERIFY_NO_CAPSULE']);

    expect(verdicts(lines, note)).toEqual([0, 'ok', 'ok']);
    expect(verdicts(path('cut.jsonl'))).toEqual([0, 'ok']);
    expect(verdicts(path('cut.jsonl'), note)).toEqual([1, 'truncated', 'ok']);
    expect(verdicts(note, path('cut.jsonl'))).toEqual([1, 'ok', 'truncated']);
    // The checkpoint of a proof is one too.
    expect(verdicts(path('cut.jsonl'), path('1.proof'))).toEqual([1, 'truncated', 'ok']);
    expect(bulla(['verify', path('cut.jsonl'), '-'], readFileSync(note, 'utf8')).status).toBe(1);
    expect(bulla(['verify', lines, note]).stdout.split('\n').slice(2, 4)).toEqual([
      `  continues ${note}, a checkpoint of 5 records`,
      '  not proven: that no records followed the last checkpoint; that the content is true; when the records were sealed',
    ]);

    await append(9, 'other', path('other.db'));
    writeFileSync(path('other'), good('checkpoint', 'create', '--store', path('other.db')));
    const [origin, other] = [note, path('other')].map((file) => readFileSync(file, 'utf8').split('\n')[0]);
    expect(origin).not.toBe(other);
    const apart = bulla(['verify', lines, path('other')]);
    expect([apart.status, apart.stdout.split('\n')[2]]).toEqual([
      0,
      `  not compared with ${path('other')}: it is of the log ${other}, and the chain of ${origin}.`,
    ]);
  });
});

describe('consistency and tiles', () => {
  test('a log only grew, from the store, a folder and the web', async () => {
    await append(200);
    const old = checkpoint('old');
    good('tiles', 'export', path('tiles'));
    await append(400);
    const now = checkpoint('new');
    expect(JSON.parse(good('tiles', 'export', path('tiles'), '--json'))).toMatchObject({
      size: 600,
      files: 8,
    });
    expect(JSON.parse(good('tiles', 'export', path('tiles'), '--json'))).toMatchObject({ files: 1 });
    for (const file of ['0/000', '0/001', '0/002.p/88', '1/000.p/2', 'entries/001', 'entries/002.p/88'])
      expect(existsSync(path(`tiles/tile/${file}`))).toBe(true);
    const text = good('consistency', old, now);
    expect(text.split('\n')[0]).toBe('good  the 600 records begin with the 200');
    expect(good('consistency', old, now, '--tiles', path('tiles'))).toBe(text);
    expect(good('consistency', '200', '600')).toBe(text);
    expect(bulla(['consistency', now, old]).stderr).toContain('[USAGE]');

    const server = createServer((request, response) => {
      const file = path(`tiles${request.url}`);
      if (!existsSync(file)) response.writeHead(404).end();
      else response.end(readFileSync(file));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const child = spawn(join(repo, 'bin/bulla'), ['consistency', old, now, '--tiles', url], {
      env: { ...process.env, BULLA_HOME: home },
    });
    let stdout = '';
    child.stdout.on('data', (chunk) => {
      stdout += chunk;
    });
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0);
    expect(stdout).toBe(text);
  });

  test('a number of records that the chain does not have is refused', async () => {
    await append(9);
    for (const [old, newer] of [
      ['1', '99'],
      ['99', '100'],
    ])
      expect(bulla(['consistency', old!, newer!])).toEqual({
        status: 2,
        stdout: '',
        stderr: `bulla: The chain has 9 records, not 99. [USAGE]\n`,
      });
  });

  test('another log is not written over a published one', async () => {
    await append(5);
    good('tiles', 'export', path('tiles'));
    await append(3, 'x', path('other.db'));
    expect(bulla(['tiles', 'export', path('tiles'), '--store', path('other.db')])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('[TILES_DIFFER]'),
    });
  });
});

test('an output that cannot be written is refused with a code', async () => {
  await append(1);
  writeFileSync(path('file'), '');
  const refused = (...args: string[]) => {
    const { status, stderr } = bulla(args);
    return [status, stderr];
  };
  const [nowhere, inFile] = [path('no/x'), path('file/x')];
  for (const [out, why] of [
    [nowhere, 'ENOENT'],
    [inFile, 'ENOTDIR'],
  ] as const) {
    const error = [2, `bulla: ${out} cannot be written (${why}). [FILE_UNWRITABLE]\n`];
    expect(refused('prove', '0', '--out', out)).toEqual(error);
    expect(refused('chain', 'verify', '--resume', out)).toEqual(error);
  }
  expect(refused('tiles', 'export', inFile)).toEqual([
    2,
    `bulla: ${inFile}/tile/0/000.p/1 cannot be written (ENOTDIR). [TILES_UNWRITABLE]\n`,
  ]);
  expect(refused('tiles', 'export', '')).toEqual([2, 'bulla: The name of the folder is empty. [USAGE]\n']);
});

// Node's own recursive mkdir never returns there.
test.skipIf(process.platform !== 'linux')('tiles are not exported below /proc', async () => {
  await append(1);
  expect(bulla(['tiles', 'export', '/proc/x'])).toMatchObject({
    status: 2,
    stderr: 'bulla: /proc/x/tile/0/000.p/1 cannot be written (ENOENT). [TILES_UNWRITABLE]\n',
  });
});
