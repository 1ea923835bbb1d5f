import { describe, expect, it } from 'vitest';
import {
  derivePublicKey,
  formatNote,
  formatVkey,
  fromBase64,
  fromHex,
  localSigner,
  noteVerifier,
  openNote,
  parseNote,
  parseVkey,
  publicKey,
  sha256,
  signNote,
  toBase64,
  toHex,
  toUtf8,
} from './index.ts';
import type { Note } from './note.ts';

const seeds = [1, 2, 3].map((n) => new Uint8Array(32).fill(n)) as [Uint8Array, Uint8Array, Uint8Array];
const signers = seeds.map((seed) => localSigner('Ed25519', seed));
const keys = signers.map((signer) => publicKey('Ed25519', signer.publicKey));
const alice = { name: 'log.example/alice', signer: signers[0]! };
const bob = { name: 'witness.example/bob', signer: signers[1]! };
const knowsAlice = noteVerifier(alice.name, keys[0]!);
const knowsBob = noteVerifier(bob.name, keys[1]!);
const text = 'first line\n\nlast line\n';
const code = (code: string) => expect.objectContaining({ code });

describe('a signed note', async () => {
  const note = await signNote(text, [alice, bob]);

  it('has these bytes', () => {
    const id = sha256(Uint8Array.of(...toUtf8(alice.name), 0x0a, 0x01, ...keys[0]!.bytes));
    const line = toBase64(Uint8Array.of(...id.subarray(0, 4), ...signers[0]!.sign(toUtf8(text))));
    expect(note.startsWith(`${text}\n— log.example/alice ${line}\n— witness.example/bob `)).toBe(true);
    expect(note.endsWith('\n')).toBe(true);
  });

  it('is opened by one known key, by several, from text or bytes', () => {
    const one = openNote(note, [knowsAlice]);
    expect(one.text).toBe(text);
    expect(one.verified.map(({ name, verifier }) => [name, verifier])).toEqual([[alice.name, knowsAlice]]);
    expect(one.unknown.map(({ name, keyId }) => [name, keyId])).toEqual([[bob.name, knowsBob.keyId]]);
    const both = openNote(toUtf8(note), [knowsBob, knowsAlice]);
    expect([both.verified.map(({ name }) => name), both.unknown]).toEqual([[alice.name, bob.name], []]);
  });

  it('is taken apart and put together again', () => {
    expect(formatNote(parseNote(note))).toBe(note);
    expect(parseNote(note).text).toBe(text);
  });

  it('is not opened without a known key', () => {
    const carol = noteVerifier('carol', keys[2]!);
    for (const verifiers of [[], [carol]])
      expect(() => openNote(note, verifiers)).toThrow(code('NOTE_UNVERIFIED'));
  });

  it('ignores a line that shares only the name or only the id with a known key', () => {
    const sameName = { ...knowsAlice, keyId: knowsAlice.keyId ^ 1 };
    const sameId = { ...knowsAlice, name: 'log.example/mallory' };
    expect(() => openNote(note, [sameName, sameId])).toThrow(code('NOTE_UNVERIFIED'));
    const opened = openNote(note, [knowsBob, sameName, sameId]);
    expect([opened.verified.length, opened.unknown.length]).toEqual([1, 1]);
  });

  it("is rejected whole when a known key's signature is bad, even beside a good one", () => {
    const changed = note.replace('last line', 'lost line');
    expect(() => openNote(changed, [knowsAlice, knowsBob])).toThrow(code('NOTE_SIGNATURE_INVALID'));
    const parsed = parseNote(note);
    const [first, second] = parsed.signatures as [Note['signatures'][0], Note['signatures'][0]];
    const broken = { ...second, signature: second.signature.slice(0, -1) };
    expect(() => openNote(formatNote({ text, signatures: [first, broken] }), [knowsAlice, knowsBob])).toThrow(
      code('NOTE_SIGNATURE_INVALID'),
    );
    expect(openNote(formatNote({ text, signatures: [first, broken] }), [knowsAlice]).unknown).toEqual([
      broken,
    ]);
  });

  it('counts a known key once, by its first line, and an unknown line once', () => {
    const [first, second] = parseNote(note).signatures as [Note['signatures'][0], Note['signatures'][0]];
    const bad = { ...first, signature: new Uint8Array(64) };
    const opened = openNote(formatNote({ text, signatures: [first, bad, second, second] }), [knowsAlice]);
    expect([opened.verified.length, opened.unknown.length]).toEqual([1, 1]);
    expect(() => openNote(formatNote({ text, signatures: [bad, first] }), [knowsAlice])).toThrow(
      code('NOTE_SIGNATURE_INVALID'),
    );
  });

  it('is not opened with two verifiers of the same name and id', () => {
    expect(() => openNote(note, [knowsAlice, knowsAlice])).toThrow(code('NOTE_KEY'));
  });

  it('is split at the last blank line, also when the text looks like a note', async () => {
    const outer = await signNote(note, [bob]);
    expect(openNote(outer, [knowsBob])).toMatchObject({ text: note, unknown: [] });
    const spaced = await signNote('\n\n\n', [alice]);
    expect(openNote(spaced, [knowsAlice]).text).toBe('\n\n\n');
  });
});

describe('the limits of a note', () => {
  const signature = { name: 'a', keyId: 7, signature: Uint8Array.of(1) };

  it('are 100 signatures', () => {
    const of = (n: number) => ({ text: 'x\n', signatures: Array.from({ length: n }, () => signature) });
    expect(parseNote(formatNote(of(100))).signatures).toHaveLength(100);
    expect(() => formatNote(of(101))).toThrow(code('NOTE_MALFORMED'));
    expect(() => parseNote(`${formatNote(of(100))}— a AAAABwE=\n`)).toThrow(code('NOTE_MALFORMED'));
  });

  it('are kept by the writer', async () => {
    expect(() => formatNote({ text: 'x\n', signatures: [] })).toThrow(code('NOTE_MALFORMED'));
    expect(() => formatNote({ text: 'x\n', signatures: [{ ...signature, keyId: 2 ** 32 }] })).toThrow(
      code('NOTE_MALFORMED'),
    );
    expect(() =>
      formatNote({ text: 'x\n', signatures: [{ ...signature, signature: new Uint8Array() }] }),
    ).toThrow(code('NOTE_MALFORMED'));
    expect(() => formatNote({ text: 'x\n', signatures: [{ ...signature, name: 'a b' }] })).toThrow(
      code('NOTE_MALFORMED'),
    );
    for (const bad of ['', 'x', 'x\r\n', 'a\tb\n', 'a\0\n', '\ud800\n']) {
      await expect(signNote(bad, [alice])).rejects.toMatchObject({ code: 'NOTE_MALFORMED' });
    }
    await expect(signNote('x\n', [])).rejects.toMatchObject({ code: 'NOTE_MALFORMED' });
    await expect(signNote('x\n', [{ ...alice, name: '' }])).rejects.toMatchObject({
      code: 'NOTE_NAME',
    });
    await expect(signNote('x\n', [{ ...alice, type: 2 }])).rejects.toMatchObject({
      code: 'NOTE_KEY',
    });
    const wrong = { name: 'x', signer: localSigner('ML-DSA-44', seeds[0]) };
    await expect(signNote('x\n', [wrong])).rejects.toMatchObject({ code: 'NOTE_KEY' });
  });

  const line = '— a AAAABwE=\n';

  it('let this one through', () => {
    expect(parseNote(`x\n\n${line}`)).toEqual({ text: 'x\n', signatures: [signature] });
    expect(parseNote(`\ufeffx\u007f\u0085\n\n— a\u200b\u007f AAAABwE=\n`)).toEqual({
      text: '\ufeffx\u007f\u0085\n',
      signatures: [{ ...signature, name: 'a\u200b\u007f' }],
    });
  });

  it.each([
    '',
    'x\n',
    'x\n\n',
    `x\n${line}`,
    `\n${line}`,
    `x\n\n${line.slice(0, -1)}`,
    `x\n\n${line}\n`,
    `x\n\n${line}y\n`,
    `x\n\n${line.replace('\n', '\r\n')}`,
    `x\r\n\r\n${line}`,
    `x\t\n\n${line}`,
    `x\n\n${line.replace('— ', '- ')}`,
    `x\n\n${line.replace('— ', '—')}`,
    `x\n\n${line.replace('— ', '—  ')}`,
    `x\n\n${line.replace('a ', 'a  ')}`,
    `x\n\n${line.replace('=\n', '= \n')}`,
    'x\n\n— a\n',
    'x\n\n— a \n',
    'x\n\n— a AAAABw==\n',
    'x\n\n— a AAAABwE\n',
    'x\n\n— a AAAABwF=\n',
    'x\n\n— a AAAABwE= x\n',
    `\ud800\n\n${line}`,
  ])('refuse %j', (note) => {
    expect(() => parseNote(note)).toThrow(code('NOTE_MALFORMED'));
  });

  it('refuse bytes that are not UTF-8', () => {
    expect(() => parseNote(Uint8Array.of(0xff, ...toUtf8(`\n\n${line}`)))).toThrow(code('NOTE_MALFORMED'));
  });

  it.each(['', '+', 'a+b', 'a\u00a0b', 'a\u0085b', 'a\u2003', '\u3000', 'a\u2028'])(
    'refuse the name %j',
    (name) => {
      expect(() => parseNote(`x\n\n— ${name} AAAABwE=\n`)).toThrow(code('NOTE_NAME'));
      expect(() => noteVerifier(name, keys[0]!)).toThrow(code('NOTE_NAME'));
    },
  );
});

describe('a verifier key', () => {
  const vkey = formatVkey(knowsAlice);

  it('is the name, the id and the typed key', () => {
    const [name, id, key] = vkey.split('+', 2).concat(vkey.split('+').slice(2).join('+')) as [
      string,
      string,
      string,
    ];
    expect([name, id]).toEqual([alice.name, knowsAlice.keyId.toString(16).padStart(8, '0')]);
    expect(toHex(fromBase64(key))).toBe(`01${toHex(keys[0]!.bytes)}`);
    expect(parseVkey(vkey)).toEqual(knowsAlice);
  });

  it('keeps the zeros of its id', () => {
    // Found by counting names until an id began with a zero byte.
    let n = 0;
    while (noteVerifier(`n${n}`, keys[0]!).keyId >= 2 ** 24) n++;
    const low = noteVerifier(`n${n}`, keys[0]!);
    expect(formatVkey(low)).toMatch(/^n\d+\+00[0-9a-f]{6}\+/);
    expect(parseVkey(formatVkey(low))).toEqual(low);
  });

  it('is refused when anything in it is wrong', () => {
    const id = knowsAlice.keyId.toString(16).padStart(8, '0');
    const typed = (hex: string) => `${alice.name}+${id}+${toBase64(fromHex(hex))}`;
    const cases: [string, string][] = [
      ['', 'NOTE_VKEY'],
      [alice.name, 'NOTE_VKEY'],
      [`${alice.name}+${id}+`, 'NOTE_VKEY'],
      [`${vkey}\n`, 'NOTE_VKEY'],
      [`${vkey}=`, 'NOTE_VKEY'],
      [vkey.replace(id, id.slice(1)), 'NOTE_VKEY'],
      [vkey.replace(id, 'ABCDEF01'), 'NOTE_VKEY'],
      [vkey.replace(id, '00000000'), 'NOTE_VKEY'],
      [vkey.replace('alice', 'alicf'), 'NOTE_VKEY'],
      [vkey.replace(alice.name, ''), 'NOTE_NAME'],
      [vkey.replace(alice.name, 'a b'), 'NOTE_NAME'],
      [typed(`02${toHex(keys[0]!.bytes)}`), 'NOTE_KEY'],
      [typed(`04${toHex(keys[0]!.bytes)}`), 'NOTE_VKEY'],
      [typed(`06${toHex(keys[0]!.bytes)}`), 'KEY_SIZE'],
      [typed('01'), 'KEY_SIZE'],
      [typed(`01${'00'.repeat(32)}`), 'KEY_SMALL_ORDER'],
    ];
    for (const [text, expected] of cases) expect(() => parseVkey(text), text).toThrow(code(expected));
  });

  it('is made only of a key that fits its type', () => {
    expect(() => noteVerifier('x', derivePublicKey('ML-DSA-44', seeds[0]))).toThrow(code('NOTE_KEY'));
    expect(() => noteVerifier('x', keys[0]!, 6)).toThrow(code('NOTE_KEY'));
    for (const type of [0, 2, 3, 5, 7, 0xff, 0x104])
      expect(() => noteVerifier('x', keys[0]!, type)).toThrow(code('NOTE_KEY'));
  });
});

describe('published notes', () => {
  // The example of https://pkg.go.dev/golang.org/x/mod/sumdb/note, and the verifier key of c2sp.org/signed-note.
  it('open with their published keys', () => {
    const note =
      'If you think cryptography is the answer to your problem,\n' +
      "then you don't know what your problem is.\n\n" +
      '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n';
    const vkey = 'PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW';
    expect(openNote(note, [parseVkey(vkey)]).verified[0]!.keyId).toBe(0xc74f20a3);
    expect(formatVkey(parseVkey(vkey))).toBe(vkey);
    const foo = 'example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k';
    expect(formatVkey(parseVkey(foo))).toBe(foo);
  });

  it('keep their signature lines byte for byte', () => {
    const line =
      '— quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n';
    const note = `first:\n\nlast è.\n\n${line}`;
    expect(formatNote(parseNote(note))).toBe(note);
    expect(parseNote(note).signatures).toMatchObject([
      { name: 'quasimodo.example/salvatore', keyId: 0x367ba04b },
    ]);
  });
});
