import { describe, expect, it } from 'vitest';
import { hasVectors, listFiles, readText } from '#test-files';
import { fromBase64 } from '../crypto/index.ts';
import { JsonNumber, type JsonObject, parse } from '../json/index.ts';
import { EMPTY_ROOT, verifyConsistency, verifyInclusion } from './index.ts';

const code = (code: string) => expect.objectContaining({ code });

type Case = (
  field: (name: string) => number,
  bytes: (name: string) => Uint8Array,
  proof: Uint8Array[],
) => void;

const suites: Record<string, { count: number; good: number; run: Case }> = {
  inclusion: {
    count: 98,
    good: 6,
    run: (number, bytes, proof) =>
      verifyInclusion({
        leaf: bytes('leafHash'),
        index: number('leafIdx'),
        size: number('treeSize'),
        root: bytes('root'),
        proof,
      }),
  },
  consistency: {
    count: 98,
    good: 6,
    run: (number, bytes, proof) =>
      verifyConsistency({
        oldSize: number('size1'),
        oldRoot: bytes('root1'),
        size: number('size2'),
        root: bytes('root2'),
        proof,
      }),
  },
};

const isUnsafe = ({ lexeme }: JsonNumber) => !Number.isSafeInteger(Number(lexeme));

/** The JSON files under a folder, which may lie one or two folders down. */
async function files(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await listFiles(folder)) {
    const path = `${folder}/${name}`;
    if (name.endsWith('.json')) found.push(path);
    else found.push(...(await files(path)));
  }
  return found;
}

describe.skipIf(!hasVectors)('the published Merkle vectors', () => {
  it.for(Object.entries(suites))('of %s have the verdict they want', async ([name, { count, good, run }]) => {
    const paths = await files(`merkle/testdata/${name}`);
    let passed = 0;
    const texts = await Promise.all(paths.map(readText));
    for (const [i, path] of paths.entries()) {
      const vector = parse(texts[i]!) as JsonObject;
      const number = (field: string) => Number((vector.get(field) as JsonNumber).lexeme);
      const bytes = (field: string) => fromBase64(vector.get(field) as string);
      const proof = ((vector.get('proof') ?? []) as string[]).map(fromBase64);
      if (vector.get('wantErr') === false) {
        expect(() => run(number, bytes, proof), path).not.toThrow();
        passed++;
      } else {
        const refusal = name.includes('inclusion') ? 'LOG_INCLUSION' : 'LOG_CONSISTENCY';
        // Go wraps around below zero; such an index is no safe integer here.
        const unsafe = vector.values.some((value) => value instanceof JsonNumber && isUnsafe(value));
        expect(() => run(number, bytes, proof), path).toThrow(
          expect.objectContaining({ code: unsafe ? 'LOG_SIZE' : refusal }),
        );
      }
    }
    expect([paths.length, passed]).toEqual([count, good]);
  });
});

const hash = (byte: number) => new Uint8Array(32).fill(byte);

describe('a proof', () => {
  it('is refused for numbers that are no sizes', () => {
    for (const bad of [-1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY]) {
      const claim = { leaf: hash(1), index: 0, size: 1, root: hash(1), proof: [] };
      expect(() => verifyInclusion({ ...claim, index: bad })).toThrow(code('LOG_SIZE'));
      expect(() => verifyInclusion({ ...claim, size: bad })).toThrow(code('LOG_SIZE'));
      const grown = { oldSize: 1, oldRoot: hash(1), size: 1, root: hash(1), proof: [] };
      expect(() => verifyConsistency({ ...grown, oldSize: bad })).toThrow(code('LOG_SIZE'));
      expect(() => verifyConsistency({ ...grown, size: bad })).toThrow(code('LOG_SIZE'));
    }
  });

  it('of the largest tree has the length that its size gives', () => {
    const size = 2 ** 53 - 1;
    const proof = Array.from({ length: 52 }, () => hash(7));
    const claim = { leaf: hash(1), index: size - 1, size, root: hash(9) };
    expect(() => verifyInclusion({ ...claim, proof })).toThrow(/not at that place/);
    expect(() => verifyInclusion({ ...claim, proof: proof.slice(1) })).toThrow(/52 hashes/);
  });

  it('from a tree without leaves shows nothing, but two trees without leaves are one', () => {
    const empty = { oldSize: 0, oldRoot: EMPTY_ROOT, proof: [] };
    expect(() => verifyConsistency({ ...empty, size: 0, root: EMPTY_ROOT })).not.toThrow();
    expect(() => verifyConsistency({ ...empty, size: 1, root: hash(1) })).toThrow(code('LOG_CONSISTENCY'));
    expect(() => verifyConsistency({ ...empty, oldRoot: hash(1), size: 0, root: hash(1) })).toThrow(
      code('LOG_CONSISTENCY'),
    );
  });

  it('is refused when a hash does not have 32 bytes', () => {
    const short = new Uint8Array(31);
    const claim = { leaf: hash(1), index: 0, size: 2, root: hash(1), proof: [hash(2)] };
    expect(() => verifyInclusion({ ...claim, leaf: short })).toThrow(code('LOG_INCLUSION'));
    expect(() => verifyInclusion({ ...claim, proof: [short] })).toThrow(code('LOG_INCLUSION'));
    const grown = { oldSize: 1, oldRoot: hash(1), size: 2, root: hash(1), proof: [hash(2)] };
    expect(() => verifyConsistency({ ...grown, oldRoot: short })).toThrow(code('LOG_CONSISTENCY'));
    expect(() => verifyConsistency({ ...grown, proof: [short] })).toThrow(code('LOG_CONSISTENCY'));
  });
});
