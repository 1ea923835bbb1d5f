import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatVkey, localSigner, noteVerifier, publicKey, signNote, toHex } from '@bulla/core/crypto';
import { describe, expect, test } from 'vitest';
import { bulla, temporaryFolder } from '../../../test/run.ts';

// A test key.
const signer = localSigner('Ed25519', new Uint8Array(32).fill(5));
const name = 'example.com/log';
const vkey = formatVkey(noteVerifier(name, publicKey('Ed25519', signer.publicKey)));
const note = await signNote('example.com/log\n42\n', [{ name, signer }]);

describe('verify', () => {
  test('a signed note, with the key that signed it', () => {
    const { status, stdout } = bulla(['verify', '--json', '--vkey', vkey, '-'], note);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      ok: true,
      files: [
        {
          file: '-',
          kind: 'signed note',
          ok: true,
          result: 'good',
          code: 'ok',
          message: 'Signed by example.com/log.',
          details: { signed_by: [name], unknown: [], text: 'example.com/log\n42\n' },
          not_proven: ['when it was signed', 'that no other version of the text was signed'],
        },
      ],
    });
    expect(bulla(['verify', '--vkey', vkey, '-'], note).stdout).toBe(
      'good  - (signed note): Signed by example.com/log.\n  not proven: when it was signed; that no other version of the text was signed\n',
    );
  });

  test('one changed character is bad: exit 1', () => {
    expect(bulla(['verify', '--vkey', vkey, '-'], note.replace('42', '43'))).toEqual({
      status: 1,
      stdout:
        'BAD  - (signed note): The signature of example.com/log does not verify. [NOTE_SIGNATURE_INVALID]\n',
      stderr: '',
    });
  });

  test('without a key nothing is decided: exit 3', () => {
    expect(bulla(['verify', '-'], note)).toMatchObject({
      status: 3,
      stdout: expect.stringContaining('[VERIFY_NO_KEY]'),
    });
  });

  test('a key that is not at hand decides nothing, and is named: exit 3', () => {
    const other = localSigner('Ed25519', new Uint8Array(32).fill(6));
    const stranger = formatVkey(noteVerifier(name, publicKey('Ed25519', other.publicKey)));
    const id = vkey.split('+')[1];
    expect(bulla(['verify', '--vkey', stranger, '-'], note)).toEqual({
      status: 3,
      stdout: `undecided  - (signed note): None of the keys at hand signed the note; it says that it was signed by ${name}+${id}. Name the key with --vkey. [NOTE_UNVERIFIED]\n`,
      stderr: '',
    });
  });

  test('a verifier key that the local keyring knows as revoked proves nothing', () => {
    const env = { BULLA_HOME: temporaryFolder() };
    const key = toHex(signer.publicKey);
    bulla(['keys', 'init'], '', env);
    expect(bulla(['keys', 'register', key], '', env).status).toBe(0);
    expect(bulla(['verify', '--vkey', vkey, '-'], note, env).status).toBe(0);
    bulla(['keys', 'revoke', key.slice(0, 16), '--reason', 'stolen'], '', env);
    expect(bulla(['verify', '--vkey', vkey, '-'], note, env)).toEqual({
      status: 1,
      stdout: 'BAD  - (signed note): A key that is revoked signed the note. [key_revoked]\n',
      stderr: '',
    });
  });

  test('what is no artifact is told apart from what is bad: exit 2', () => {
    expect(bulla(['verify', '--quiet', '-'], '{"a":1}')).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('[VERIFY_UNRECOGNISED]'),
    });
    expect(bulla(['verify', '/nonexistent/file'])).toMatchObject({
      status: 2,
      stderr: 'bulla: There is no file /nonexistent/file. [INPUT_UNREADABLE]\n',
    });
    expect(bulla(['verify'])).toMatchObject({ status: 2 });
    expect(bulla(['verify', '--vkey', 'x', '-'], note)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('A verifier key is name+hex8+base64.'),
    });
  });

  test('several files: the gravest finding decides', () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'good'), note);
    writeFileSync(join(folder, 'bad'), note.replace('42', '43'));
    const files = [join(folder, 'good'), join(folder, 'missing'), join(folder, 'bad')];
    const { status, stdout } = bulla(['verify', '--json', '--vkey', vkey, ...files]);
    expect(status).toBe(1);
    expect(
      JSON.parse(stdout).files.map((file: { ok: boolean; code: string }) => [file.ok, file.code]),
    ).toEqual([
      [true, 'ok'],
      [false, 'INPUT_UNREADABLE'],
      [false, 'NOTE_SIGNATURE_INVALID'],
    ]);
  });
});
