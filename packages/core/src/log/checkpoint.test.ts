import { describe, expect, it } from 'vitest';
import {
  formatNote,
  localSigner,
  type NoteSigner,
  noteVerifier,
  parseNote,
  parseVkey,
  publicKey,
  toUtf8,
} from '../crypto/index.ts';
import { logSignature } from './checkpoint.ts';
import {
  addSignatures,
  type Checkpoint,
  EMPTY_ROOT,
  logVerifiers,
  openCheckpoint,
  parseCheckpointBody,
  signCheckpoint,
} from './index.ts';

const code = (code: string) => expect.objectContaining({ code });
const origin = 'bulla.example/acme/main';
const time = 1_700_000_000;
const signer = (n: number) => localSigner('Ed25519', new Uint8Array(32).fill(n));
const key = (n: number) => publicKey('Ed25519', signer(n).publicKey);
const pq = localSigner('ML-DSA-44', new Uint8Array(32).fill(4));

const log: NoteSigner = { name: origin, signer: signer(1) };
const witness: NoteSigner = { name: 'witness.example/w', signer: signer(2), type: 0x04, time };
const knowsLog = logVerifiers(origin, [key(1)]);
const knowsWitness = noteVerifier('witness.example/w', key(2), 0x04);
const checkpoint: Checkpoint = { origin, size: 7, root: new Uint8Array(32).fill(7), extensions: [] };

describe('a signed checkpoint', async () => {
  const note = await signCheckpoint(checkpoint, [log, witness]);

  it('opens with the keys of its log and of its witnesses', () => {
    const opened = openCheckpoint(note, [...knowsLog, knowsWitness]);
    expect(opened).toMatchObject({ checkpoint, text: parseNote(note).text, unknown: [] });
    expect(opened.verified.map(({ name, time: stated }) => [name, stated])).toEqual([
      [origin, undefined],
      ['witness.example/w', time],
    ]);
    expect(openCheckpoint(toUtf8(note), knowsLog).unknown).toHaveLength(1);
    expect(openCheckpoint(note, [knowsWitness]).checkpoint).toEqual(checkpoint);
    expect(parseCheckpointBody(opened.text)).toEqual(checkpoint);
  });

  it('does not open without a known key, or with a bad signature of one', () => {
    expect(() => openCheckpoint(note, logVerifiers(origin, [key(3)]))).toThrow(code('NOTE_UNVERIFIED'));
    const grown = note.replace('\n7\n', '\n8\n');
    for (const known of [knowsLog, [knowsWitness]])
      expect(() => openCheckpoint(grown, known)).toThrow(code('NOTE_SIGNATURE_INVALID'));
  });

  it('tells whether the log itself signed', async () => {
    expect(logSignature(openCheckpoint(note, [...knowsLog, knowsWitness]))?.name).toBe(origin);
    expect(logSignature(openCheckpoint(note, [knowsWitness]))).toBeNull();
    const byPq = await signCheckpoint(checkpoint, [{ name: origin, signer: pq, type: 0x06, time }]);
    const knowsPq = noteVerifier(origin, publicKey('ML-DSA-44', pq.publicKey), 0x06);
    expect(logSignature(openCheckpoint(byPq, [knowsPq]))?.verifier).toBe(knowsPq);
    // Under the name of the log, but of a type that only witnesses have.
    const posing = await signCheckpoint(checkpoint, [{ ...witness, name: origin }]);
    expect(logSignature(openCheckpoint(posing, [noteVerifier(origin, key(2), 0x04)]))).toBeNull();
  });

  it('of one log is not signed by the key of another', async () => {
    const other = await signCheckpoint({ ...checkpoint, origin: 'bulla.example/acme/other' }, [log, witness]);
    expect(() => openCheckpoint(other, [...knowsLog, knowsWitness])).toThrow(code('LOG_ORIGIN'));
    expect(openCheckpoint(other, [knowsWitness]).checkpoint.origin).toBe('bulla.example/acme/other');
    // A log whose key does not bear its origin, such as the Go checksum database, cannot be opened here.
    const sum =
      'go.sum database tree\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n' +
      '— sum.golang.org Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n';
    const vkey = 'sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8';
    expect(() => openCheckpoint(sum, [parseVkey(vkey)])).toThrow(code('LOG_ORIGIN'));
  });

  it('is a note whose text is a checkpoint', async () => {
    const { signatures } = parseNote(await signCheckpoint(checkpoint, [log]));
    const bad = formatNote({ text: 'hello\n', signatures });
    expect(() => openCheckpoint(bad, knowsLog)).toThrow(code('NOTE_SIGNATURE_INVALID'));
    const empty = { ...checkpoint, size: 0 };
    await expect(signCheckpoint(empty, [log])).rejects.toMatchObject({ code: 'LOG_CHECKPOINT' });
    const none = await signCheckpoint({ ...empty, root: EMPTY_ROOT }, [log]);
    expect(openCheckpoint(none, knowsLog).checkpoint.size).toBe(0);
    await expect(signCheckpoint({ ...checkpoint, size: 2 ** 53 }, [log])).rejects.toMatchObject({
      code: 'LOG_CHECKPOINT',
    });
    await expect(signCheckpoint(checkpoint, [])).rejects.toMatchObject({ code: 'NOTE_MALFORMED' });
  });

  it('keeps extension lines where the signature covers them', async () => {
    const extended = { ...checkpoint, extensions: ['a', 'b'] };
    expect(openCheckpoint(await signCheckpoint(extended, [log, witness]), knowsLog).checkpoint).toEqual(
      extended,
    );
  });
});

describe('added signatures', async () => {
  const alone = await signCheckpoint(checkpoint, [log]);
  const both = await signCheckpoint(checkpoint, [log, witness]);
  const answer = both.slice(alone.length);

  it('follow those that are there', () => {
    expect(addSignatures(alone, answer)).toBe(both);
    expect(addSignatures(toUtf8(alone), answer)).toBe(both);
  });

  it('are not added twice', () => {
    expect(addSignatures(both, answer)).toBe(both);
    expect(addSignatures(alone, answer + answer)).toBe(both);
    expect(addSignatures(both, alone.slice(parseNote(alone).text.length + 1))).toBe(both);
  });

  it('of one witness at two times are both kept, and the first counts', async () => {
    const later = await signCheckpoint(checkpoint, [{ ...witness, time: time + 60 }]);
    const line = later.slice(parseNote(later).text.length + 1);
    const all = addSignatures(both, line);
    expect(all).toBe(both + line);
    expect(openCheckpoint(all, [knowsWitness]).verified.map(({ time: stated }) => stated)).toEqual([time]);
  });

  it.each([
    '',
    '\n',
    'x\n',
    answer.slice(0, -1),
    `\n${answer}`,
    `${answer}\n`,
    `${answer}\n${answer}`,
    `x\n\n${answer}`,
    `${answer}x\n`,
    answer.replace('— ', '- '),
  ])('are signature lines and nothing else: %j', (lines) => {
    expect(() => addSignatures(alone, lines)).toThrow(code('NOTE_MALFORMED'));
  });

  it('are at most 100 together', () => {
    const line = (n: number) =>
      formatNote({
        text: 'x\n',
        signatures: [{ name: `w${n}`, keyId: n, signature: Uint8Array.of(1) }],
      }).slice(3);
    const lines = (count: number) => Array.from({ length: count }, (_, n) => line(n)).join('');
    expect(parseNote(addSignatures(alone, lines(99))).signatures).toHaveLength(100);
    expect(() => addSignatures(alone, lines(100))).toThrow(code('NOTE_MALFORMED'));
  });
});
