import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatVkey,
  localSigner,
  type NoteSigner,
  noteVerifier,
  publicKey,
  toBase64,
  toUtf8,
} from '../crypto/index.ts';
import {
  assemble,
  evaluatePolicy,
  Frontier,
  formatProof,
  inclusionPlan,
  type LogProof,
  leafHash,
  logVerifiers,
  type NodeAt,
  type Policy,
  parsePolicy,
  parseProof,
  signCheckpoint,
  verifyInclusion,
} from './index.ts';

const code = (code: string) => expect.objectContaining({ code });
const origin = 'bulla.example/acme/main';
const signer = (n: number) => localSigner('Ed25519', new Uint8Array(32).fill(n));
const key = (n: number) => publicKey('Ed25519', signer(n).publicKey);
const log: NoteSigner = { name: origin, signer: signer(1) };
const witness: NoteSigner = { name: 'witness.example/w', signer: signer(2), type: 0x04, time: 100 };
const verifiers = logVerifiers(origin, [key(1)]);
const knowsWitness = noteVerifier('witness.example/w', key(2), 0x04);
const policy = parsePolicy(
  toUtf8(`log ${formatVkey(verifiers[0]!)}\nwitness w ${formatVkey(knowsWitness)}\nquorum w\n`),
);

const logAlone: Policy = {
  logs: [{ verifier: verifiers[0]!, url: null }],
  witnesses: [],
  groups: [],
  quorum: 'none',
};

/** What a verifier does with a proof: the checkpoint under its policy, then the place in the tree. */
function verifyProof(
  { index, hashes, checkpoint }: LogProof,
  data: Uint8Array,
  trust: Policy = logAlone,
  options?: Parameters<typeof evaluatePolicy>[2],
) {
  const result = evaluatePolicy(trust, checkpoint, options);
  const { size, root } = result.checkpoint;
  verifyInclusion({ leaf: leafHash(data), index, size, root, proof: hashes });
  return result;
}

const size = 11;
const entry = (i: number) => toUtf8(`entry ${i}`);
const frontier = new Frontier();
const nodes = new Map<string, Uint8Array>();
for (let i = 0; i < size; i++) {
  nodes.set(`0/${i}`, leafHash(entry(i)));
  frontier.push(leafHash(entry(i)), (height, at, hash) => nodes.set(`${height}/${at}`, hash));
}
const get = ({ height, index }: NodeAt) => nodes.get(`${height}/${index}`)!;
const checkpoint = { origin, size, root: frontier.root(), extensions: [] };

describe('a proof of logging', async () => {
  const note = await signCheckpoint(checkpoint, [log, witness]);
  const of = (index: number): LogProof => ({
    extra: null,
    index,
    hashes: assemble(inclusionPlan(index, size), get),
    checkpoint: note,
  });

  it('has this text', () => {
    const proof = of(10);
    expect(proof.hashes).toHaveLength(2);
    const lines = proof.hashes.map(toBase64).join('\n');
    expect(formatProof(proof)).toBe(`c2sp.org/tlog-proof@v1\nindex 10\n${lines}\n\n${note}`);
    expect(formatProof({ ...proof, extra: toUtf8('hi') })).toBe(
      `c2sp.org/tlog-proof@v1\nextra aGk=\nindex 10\n${lines}\n\n${note}`,
    );
  });

  it('of a tree of one leaf has no hashes', async () => {
    const single = await signCheckpoint({ ...checkpoint, size: 1, root: leafHash(entry(0)) }, [log]);
    const text = `c2sp.org/tlog-proof@v1\nindex 0\n\n${single}`;
    expect(parseProof(text)).toEqual({ extra: null, index: 0, hashes: [], checkpoint: single });
    expect(verifyProof(parseProof(text), entry(0)).checkpoint.size).toBe(1);
  });

  it('reads the example of the specification, whose signatures are left out there, with ours', async () => {
    const head = `c2sp.org/tlog-proof@v1
extra YWdlLXYxLjIuMS1kYXJ3aW4tYXJtNjQudGFyLmd6kYXJ3aW4tYXJ
index 73894
gSKyXoYZUgZ6jduWYrkDOARinOMGJveXjgMkBTcdPlQ=
B95lDa8R83lS8n0eG+o0buTxRKQTYFi//1U8anccXmA=
EKNzoDWG8LGC0Yp9o+sv3qllpMP9uHQ9B20KNL+Q1zs=
RoopEkOdqkYqMB4MJXrbt/hMjOxsVn0IrWjpz1ZMMes=
AHCioX9nLjsrse6YhjRRmk1WUEirVOLLRoOQ6vfO5vk=

`;
    const body = 'example.com/fancylog\n109482\nsFodV/vSp5O8n9a8QpW6PRY97tfOSW5bsc2Xl/EQi08=\n\n';
    const lines = note.slice(note.indexOf('\n\n') + 2);
    const proof = parseProof(head + body + lines);
    expect(proof).toMatchObject({ index: 73894, checkpoint: body + lines });
    expect(proof.hashes).toHaveLength(5);
    expect(proof.extra).toHaveLength(39);
    expect(formatProof(proof)).toBe(head + body + lines);
    const elided = '— example.com/fancylog hI2DJw[...]1roloI=\n';
    expect(() => parseProof(head + body + elided)).toThrow(code('NOTE_MALFORMED'));
  });

  it('is read from text or bytes, and written as it was', () => {
    fc.assert(
      fc.property(
        fc.nat(size - 1),
        fc.option(fc.uint8Array({ minLength: 1, maxLength: 40 })),
        (index, extra) => {
          const proof = { ...of(index), extra };
          const text = formatProof(proof);
          expect(parseProof(text)).toEqual(proof);
          expect(parseProof(toUtf8(text))).toEqual(proof);
          expect(formatProof(parseProof(text))).toBe(text);
        },
      ),
    );
  });

  const text = formatProof({ ...of(3), extra: toUtf8('hi') });
  const line = text.split('\n')[3]!;
  it.each([
    ['', 'LOG_PROOF'],
    ['\n\n', 'LOG_PROOF'],
    [note, 'LOG_PROOF'],
    [text.replace('@v1', '@v2'), 'LOG_PROOF'],
    [`\n${text}`, 'LOG_PROOF'],
    [`\ufeff${text}`, 'LOG_PROOF'],
    [text.replace('extra aGk=', 'extra aGk'), 'LOG_PROOF'],
    [text.replace('extra aGk=', 'extra aGl='), 'LOG_PROOF'],
    [text.replace('extra aGk=', 'extra '), 'LOG_PROOF'],
    [text.replace('extra aGk=', 'extra'), 'LOG_PROOF'],
    [text.replace('extra aGk=', 'extra  aGk='), 'LOG_PROOF'],
    [text.replace('extra aGk=', 'extra aGk=\nextra aGk='), 'LOG_PROOF'],
    [text.replace('extra aGk=\nindex 3', 'index 3\nextra aGk='), 'LOG_PROOF'],
    [text.replace('extra aGk=', 'note aGk='), 'LOG_PROOF'],
    [text.replace('index 3\n', ''), 'LOG_PROOF'],
    [text.replace('index 3', 'index 03'), 'LOG_PROOF'],
    [text.replace('index 3', 'index -3'), 'LOG_PROOF'],
    [text.replace('index 3', 'index 3 '), 'LOG_PROOF'],
    [text.replace('index 3', 'index\t3'), 'LOG_PROOF'],
    [text.replace('index 3', 'index 9007199254740992'), 'LOG_SIZE'],
    [text.replace(line, line.slice(0, -1)), 'LOG_PROOF'],
    [text.replace(line, `${line} `), 'LOG_PROOF'],
    [text.replace(line, toBase64(new Uint8Array(31))), 'LOG_PROOF'],
    [text.replace(line, toBase64(new Uint8Array(33))), 'LOG_PROOF'],
    [text.replaceAll('\n', '\r\n'), 'LOG_PROOF'],
    [text.slice(0, text.indexOf('\n\n') + 2), 'NOTE_MALFORMED'],
    [text.slice(0, -1), 'NOTE_MALFORMED'],
    [`${text}\n`, 'NOTE_MALFORMED'],
    [text.replace('\n\n', '\n\n\n'), 'LOG_CHECKPOINT'],
    [text.replace(`\n${size}\n`, `\n0${size}\n`), 'LOG_CHECKPOINT'],
    [text.replace(`\n${size}\n`, '\n9007199254740992\n'), 'LOG_CHECKPOINT'],
  ])('is not %j', (bad, expected) => {
    expect(() => parseProof(bad)).toThrow(code(expected));
  });

  it('is valid UTF-8', () => {
    expect(() => parseProof(Uint8Array.of(0xff, ...toUtf8(text)))).toThrow(code('LOG_PROOF'));
  });

  it('is not written where it could not be read', () => {
    const bad: [Partial<LogProof>, string][] = [
      [{ extra: new Uint8Array() }, 'LOG_PROOF'],
      [{ index: -1 }, 'LOG_SIZE'],
      [{ hashes: [new Uint8Array(31)] }, 'LOG_PROOF'],
      [{ checkpoint: '' }, 'NOTE_MALFORMED'],
      [{ checkpoint: note.slice(0, -1) }, 'NOTE_MALFORMED'],
    ];
    for (const [part, expected] of bad)
      expect(() => formatProof({ ...of(3), ...part })).toThrow(code(expected));
  });

  it('of every entry verifies, and of nothing else', () => {
    for (let index = 0; index < size; index++) {
      const proof = of(index);
      const result = verifyProof(parseProof(formatProof(proof)), entry(index));
      expect(result).toMatchObject({ checkpoint, log: verifiers[0], witnesses: [], quorum: true });
      expect(verifyProof(proof, entry(index), policy).witnesses).toEqual([{ name: 'w', time: 100 }]);
      const refused = code('LOG_INCLUSION');
      expect(() => verifyProof(proof, entry(index + 1))).toThrow(refused);
      expect(() => verifyProof({ ...proof, index: (index + 1) % size }, entry(index))).toThrow(refused);
      expect(() => verifyProof({ ...proof, index: size }, entry(index))).toThrow(refused);
      expect(() => verifyProof({ ...proof, hashes: proof.hashes.slice(1) }, entry(index))).toThrow(refused);
    }
  });

  it('does not take the hash of a node for an entry', () => {
    // A leaf and a node are hashed apart, so the children of a node are no entry.
    const inner = of(0);
    const pair = Uint8Array.of(...get({ height: 0, index: 0 }), ...get({ height: 0, index: 1 }));
    expect(() => verifyProof({ ...inner, hashes: inner.hashes.slice(1) }, pair)).toThrow(
      code('LOG_INCLUSION'),
    );
  });

  it('needs the signature of the log itself', async () => {
    const proof = of(5);
    expect(() => verifyProof(proof, entry(5), { ...logAlone, logs: [] })).toThrow(code('NOTE_UNVERIFIED'));
    expect(verifyProof(proof, entry(5), { ...policy, logs: [] }).log).toBeNull();
    const cosigned = { ...proof, checkpoint: await signCheckpoint(checkpoint, [witness]) };
    expect(verifyProof(cosigned, entry(5), policy).log).toBeNull();
    const elsewhere = await signCheckpoint({ ...checkpoint, origin: 'other' }, [log]);
    expect(() => verifyProof({ ...proof, checkpoint: elsewhere }, entry(5))).toThrow(code('LOG_ORIGIN'));
    const grown = { ...proof, checkpoint: note.replace('\n11\n', '\n12\n') };
    expect(() => verifyProof(grown, entry(5))).toThrow(code('NOTE_SIGNATURE_INVALID'));
  });

  it('needs the witnesses that the policy asks for, in time where that is asked', async () => {
    const alone = { ...of(5), checkpoint: await signCheckpoint(checkpoint, [log]) };
    expect(verifyProof(alone, entry(5), policy).quorum).toBe(false);
    expect(verifyProof(alone, entry(5)).quorum).toBe(true);
    expect(verifyProof(of(5), entry(5), policy, { before: 101 }).quorum).toBe(true);
    expect(verifyProof(of(5), entry(5), policy, { before: 100 }).quorum).toBe(false);
  });

  it('finds the log among those from elsewhere', () => {
    const open = parsePolicy(toUtf8(`witness w ${formatVkey(knowsWitness)}\nquorum w\n`));
    expect(verifyProof(of(5), entry(5), open).log).toBeNull();
    expect(verifyProof(of(5), entry(5), open, { logs: verifiers }).log).toEqual(verifiers[0]);
  });
});
