import { describe, expect, it } from 'vitest';
import {
  concat,
  formatNote,
  formatVkey,
  fromBase64,
  localSigner,
  type NoteSigner,
  noteVerifier,
  openNote,
  parseNote,
  parseVkey,
  publicKey,
  sha256,
  signNote,
  toHex,
  toUtf8,
  verify,
} from './index.ts';

const code = (code: string) => expect.objectContaining({ code });
const time = 1679315147;
// The example of c2sp.org/tlog-cosignature.
const root = fromBase64('CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=');
const text = 'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n';
const example = `${text}
— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==
`;

const seed = new Uint8Array(32).fill(9);
const name = 'witness.example/w1';
const ed25519 = localSigner('Ed25519', seed);
const mlDsa = localSigner('ML-DSA-44', seed);
const ed25519Key = publicKey('Ed25519', ed25519.publicKey);
const mlDsaKey = publicKey('ML-DSA-44', mlDsa.publicKey);
const kinds = [
  {
    by: { name, signer: ed25519, type: 0x04, time },
    verifier: noteVerifier(name, ed25519Key, 0x04),
    bytes: 72,
  },
  {
    by: { name, signer: mlDsa, type: 0x06, time },
    verifier: noteVerifier(name, mlDsaKey, 0x06),
    bytes: 2428,
  },
] satisfies { by: NoteSigner; [more: string]: unknown }[];

const u64 = (value: number) => {
  const out = new Uint8Array(8);
  new DataView(out.buffer).setBigUint64(0, BigInt(value));
  return out;
};

describe('the published cosignature', () => {
  it('is read byte for byte, and its time is in it', () => {
    expect(formatNote(parseNote(example))).toBe(example);
    const { signature } = parseNote(example).signatures[1]!;
    expect([signature.length, toHex(signature.subarray(0, 8))]).toEqual([72, toHex(u64(time))]);
  });

  it('shares its log signature with a real log, whose key verifies it under its own name', () => {
    // The example is a tree head of the Go checksum database with another first line.
    const note = example
      .split('\n— witness')[0]!
      .concat('\n')
      .replace('example.com/behind-the-sofa', 'go.sum database tree')
      .replace('— example.com/behind-the-sofa', '— sum.golang.org');
    const key = parseVkey('sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8');
    expect(openNote(note, [key]).verified).toHaveLength(1);
    expect(() => openNote(note.replace('20852163', '20852164'), [key])).toThrow(
      code('NOTE_SIGNATURE_INVALID'),
    );
  });
});

describe('a cosignature', () => {
  it('by Ed25519 signs a header, the time and the text', async () => {
    const line = parseNote(await signNote(text, [kinds[0]!.by])).signatures[0]!;
    const message = toUtf8(`cosignature/v1\ntime 1679315147\n${text}`);
    expect(line.signature).toEqual(concat(u64(time), ed25519.sign(message)));
    const id = sha256(concat(toUtf8(`${name}\n`), Uint8Array.of(0x04), ed25519.publicKey));
    expect(line.keyId).toBe(new DataView(id.buffer).getUint32(0));
  });

  it('by ML-DSA-44 signs the names and values in this structure', async () => {
    const line = parseNote(await signNote(text, [kinds[1]!.by])).signatures[0]!;
    const message = concat(
      toUtf8('subtree/v1\n\0'),
      Uint8Array.of(18),
      toUtf8(name),
      u64(time),
      Uint8Array.of(27),
      toUtf8('example.com/behind-the-sofa'),
      u64(0),
      u64(20852163),
      root,
    );
    expect(message).toHaveLength(12 + 1 + 18 + 8 + 1 + 27 + 8 + 8 + 32);
    expect(toHex(line.signature.subarray(0, 8))).toBe(toHex(u64(time)));
    expect(verify(mlDsaKey, message, line.signature.subarray(8))).toBe(true);
    const id = sha256(concat(toUtf8(`${name}\n`), Uint8Array.of(0x06), mlDsa.publicKey));
    expect(line.keyId).toBe(new DataView(id.buffer).getUint32(0));
  });

  it.each(kinds)(
    'of type $by.type opens with its key and states its time',
    async ({ by, verifier, bytes }) => {
      const note = await signNote(text, [by]);
      const opened = openNote(note, [verifier]);
      expect(opened.verified).toMatchObject([{ name, keyId: verifier.keyId, verifier, time }]);
      expect(opened.verified[0]!.signature).toHaveLength(bytes);
      expect(parseVkey(formatVkey(verifier))).toEqual(verifier);
      expect(openNote(note, [parseVkey(formatVkey(verifier))]).text).toBe(text);
    },
  );

  it.each(kinds)('of type $by.type holds for nothing else', async ({ by, verifier }) => {
    const note = await signNote(text, [by]);
    const changed = [
      note.replace('sofa', 'sofb'),
      note.replace('20852163', '20852164'),
      note.replace('CsUY', 'CsUZ'),
    ];
    for (const other of changed)
      expect(() => openNote(other, [verifier])).toThrow(code('NOTE_SIGNATURE_INVALID'));
    const line = parseNote(note).signatures[0]!;
    for (const at of [0, 7, 8, 40, line.signature.length - 1]) {
      const signature = line.signature.with(at, line.signature[at]! ^ 1);
      const expected = at === 0 ? 'NOTE_COSIGNATURE' : 'NOTE_SIGNATURE_INVALID';
      expect(() => openNote(formatNote({ text, signatures: [{ ...line, signature }] }), [verifier])).toThrow(
        code(expected),
      );
    }
    for (const signature of [
      line.signature.slice(0, -1),
      line.signature.slice(8),
      line.signature.slice(0, 8),
      line.signature.slice(0, 7),
      concat(line.signature, Uint8Array.of(0)),
    ]) {
      expect(() => openNote(formatNote({ text, signatures: [{ ...line, signature }] }), [verifier])).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^NOTE_(SIGNATURE_INVALID|COSIGNATURE)$/) }),
      );
    }
  });

  it.each(kinds)(
    'of type $by.type is refused above the times that can be counted',
    async ({ by, verifier }) => {
      const line = parseNote(await signNote(text, [by])).signatures[0]!;
      for (const high of ['0020000000000000', '7fffffffffffffff', '8000000000000000', 'ffffffffffffffff']) {
        const signature = Uint8Array.from(line.signature);
        new DataView(signature.buffer).setBigUint64(0, BigInt(`0x${high}`));
        expect(() =>
          openNote(formatNote({ text, signatures: [{ ...line, signature }] }), [verifier]),
        ).toThrow(code('NOTE_COSIGNATURE'));
      }
    },
  );

  it.each(kinds)(
    'of type $by.type may state 0 and the largest time, and must state one',
    async ({ by, verifier }) => {
      for (const stated of [0, 1, Number.MAX_SAFE_INTEGER]) {
        const note = await signNote(text, [{ ...by, time: stated }]);
        expect(openNote(note, [verifier]).verified[0]!.time).toBe(stated);
      }
      const { time: _, ...timeless } = by;
      await expect(signNote(text, [timeless])).rejects.toMatchObject({ code: 'NOTE_COSIGNATURE' });
      for (const bad of [-1, 0.5, 2 ** 53, Number.NaN]) {
        await expect(signNote(text, [{ ...by, time: bad }])).rejects.toMatchObject({
          code: 'NOTE_COSIGNATURE',
        });
      }
    },
  );

  it.each(kinds)('of type $by.type is made for checkpoints alone', async ({ by, verifier }) => {
    for (const other of ['x\n', `${text}\n`, text.replace('2085', '02085'), text.replace('20852163', '0')])
      await expect(signNote(other, [by])).rejects.toMatchObject({ code: 'LOG_CHECKPOINT' });
    const huge = text.replace('20852163', '9007199254740992');
    await expect(signNote(huge, [by])).rejects.toMatchObject({ code: 'LOG_CHECKPOINT' });
    const { signatures } = parseNote(await signNote(text, [by]));
    expect(() => openNote(formatNote({ text: 'x\n', signatures }), [verifier])).toThrow(
      code('LOG_CHECKPOINT'),
    );
  });

  it('of another type holds no time', async () => {
    const by = { name, signer: ed25519, time };
    await expect(signNote(text, [by])).rejects.toMatchObject({ code: 'NOTE_COSIGNATURE' });
    const note = await signNote(text, [{ name, signer: ed25519 }]);
    const opened = openNote(note, [noteVerifier(name, ed25519Key)]);
    expect(Object.hasOwn(opened.verified[0]!, 'time')).toBe(false);
  });
});

describe('types of signature', async () => {
  const plain = noteVerifier(name, ed25519Key);
  const cosigner = kinds[0]!.verifier;
  const note = await signNote(text, [{ name, signer: ed25519 }, kinds[0]!.by]);

  it('have ids of their own for one key and one name', () => {
    expect(plain.keyId).not.toBe(cosigner.keyId);
    expect(openNote(note, [plain]).verified.map(({ keyId }) => keyId)).toEqual([plain.keyId]);
    expect(openNote(note, [plain, cosigner]).verified.map(({ time: stated }) => stated)).toEqual([
      undefined,
      time,
    ]);
  });

  it('are not taken for each other', () => {
    const [first, second] = parseNote(note).signatures;
    const swapped = [
      { ...first!, keyId: cosigner.keyId },
      { ...second!, keyId: plain.keyId },
      { ...second!, keyId: plain.keyId, signature: second!.signature.slice(8) },
      { ...first!, keyId: cosigner.keyId, signature: concat(u64(time), first!.signature) },
    ];
    for (const line of swapped) {
      expect(() => openNote(formatNote({ text, signatures: [line] }), [plain, cosigner])).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^NOTE_(SIGNATURE_INVALID|COSIGNATURE)$/) }),
      );
    }
  });

  it('need keys of their algorithm', async () => {
    expect(() => noteVerifier(name, ed25519Key, 0x06)).toThrow(code('NOTE_KEY'));
    expect(() => noteVerifier(name, mlDsaKey, 0x04)).toThrow(code('NOTE_KEY'));
    await expect(signNote(text, [{ name, signer: mlDsa, type: 0x04, time }])).rejects.toMatchObject({
      code: 'NOTE_KEY',
    });
  });
});

describe('an ML-DSA-44 cosignature', () => {
  const by = (other: string) => ({ name: other, signer: mlDsa, type: 0x06, time });

  it('covers the name of the cosigner, which one by Ed25519 does not', async () => {
    const renamed = async (kind: (typeof kinds)[number], key: typeof ed25519Key) => {
      const { signatures } = parseNote(await signNote(text, [kind.by]));
      const other = noteVerifier('witness.example/w2', key, kind.by.type);
      const line = { ...signatures[0]!, name: other.name, keyId: other.keyId };
      return () => openNote(formatNote({ text, signatures: [line] }), [other]);
    };
    expect(await renamed(kinds[0]!, ed25519Key)).not.toThrow();
    expect(await renamed(kinds[1]!, mlDsaKey)).toThrow(code('NOTE_SIGNATURE_INVALID'));
  });

  it('is refused with extension lines, which it would not cover', async () => {
    await expect(signNote(`${text}more\n`, [by(name)])).rejects.toMatchObject({ code: 'NOTE_COSIGNATURE' });
    const { signatures } = parseNote(await signNote(text, [by(name)]));
    const note = formatNote({ text: `${text}more\n`, signatures });
    expect(() => openNote(note, [kinds[1]!.verifier])).toThrow(code('NOTE_COSIGNATURE'));
    const covered = await signNote(`${text}more\n`, [kinds[0]!.by]);
    expect(openNote(covered, [kinds[0]!.verifier]).text).toBe(`${text}more\n`);
    expect(() => openNote(covered.replace('more', 'less'), [kinds[0]!.verifier])).toThrow(
      code('NOTE_SIGNATURE_INVALID'),
    );
  });

  it('holds names and origins of up to 255 bytes', async () => {
    const [fits, long] = ['é'.repeat(127), 'é'.repeat(128)] as const;
    const from = (origin: string) => text.replace('example.com/behind-the-sofa', origin);
    const note = await signNote(from(fits), [by(fits)]);
    expect(openNote(note, [noteVerifier(fits, mlDsaKey, 0x06)]).verified).toHaveLength(1);
    await expect(signNote(text, [by(long)])).rejects.toMatchObject({ code: 'NOTE_NAME' });
    await expect(signNote(from(long), [by(name)])).rejects.toMatchObject({ code: 'NOTE_NAME' });
  });
});
