import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fromBase64, parseVkey } from '@bulla/core/crypto';
import { leafHash, openCheckpoint, parseProof, verifyConsistency, verifyInclusion } from '@bulla/core/log';
import { expect, test } from 'vitest';

const file = join(dirname(fileURLToPath(import.meta.url)), 'log/log.json');
const vectors = JSON.parse(readFileSync(file, 'utf8')) as {
  records: { record: string; leaf: string; leaf_hash: string }[];
  roots: { size: number; root: string }[];
  inclusion: { index: number; size: number; proof: string[] }[];
  consistency: { old: number; size: number; proof: string[] }[];
  keys: { log: string; witness: string };
  checkpoint: string;
  cosignature_time: number;
  cosigned_message: string;
  tlog_proof: string;
  refused: { why: string; checkpoint: string }[];
};

const sha256 = (...parts: (Buffer | string)[]) =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest();
/** RFC 6962 §2.1, word by word. */
function root(leaves: Buffer[]): Buffer {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return leaves[0]!;
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return sha256(Buffer.of(1), root(leaves.slice(0, k)), root(leaves.slice(k)));
}

const leaves = vectors.records.map(({ leaf_hash }) => Buffer.from(leaf_hash, 'hex'));
const rootOf = (size: number) => fromBase64(vectors.roots[size]!.root);

test('leaves and roots follow from the rules alone', () => {
  for (const { record, leaf, leaf_hash } of vectors.records) {
    const { hash, signature, signature_pq, signed_at, signed_by } = JSON.parse(record);
    const seal = sha256(JSON.stringify({ hash, signature, signature_pq, signed_at, signed_by }));
    expect(leaf).toBe(Buffer.concat([Buffer.from('cps\n'), Buffer.from(hash, 'hex'), seal]).toString('hex'));
    expect(leaf_hash).toBe(sha256(Buffer.of(0), Buffer.from(leaf, 'hex')).toString('hex'));
  }
  for (const { size, root: expected } of vectors.roots)
    expect(root(leaves.slice(0, size)).toString('base64')).toBe(expected);
});

test('the proofs verify', () => {
  for (const { index, size, proof } of vectors.inclusion)
    verifyInclusion({ leaf: leaves[index]!, index, size, root: rootOf(size), proof: proof.map(fromBase64) });
  for (const { old, size, proof } of vectors.consistency) {
    const claim = { oldSize: old, oldRoot: rootOf(old), size, root: rootOf(size) };
    verifyConsistency({ ...claim, proof: proof.map(fromBase64) });
  }
  const leaf = Buffer.from(vectors.records[3]!.leaf, 'hex');
  expect(leafHash(leaf)).toEqual(new Uint8Array(leaves[3]!));
  const { index, hashes, checkpoint } = parseProof(vectors.tlog_proof);
  const { size, root } = openCheckpoint(checkpoint, [parseVkey(vectors.keys.log)]).checkpoint;
  verifyInclusion({ leaf: leafHash(leaf), index, size, root, proof: hashes });
  expect(size).toBe(7);
});

test('the signatures verify with node:crypto alone', () => {
  const keyOf = (vkey: string) =>
    createPublicKey({
      key: {
        kty: 'OKP',
        crv: 'Ed25519',
        x: Buffer.from(vkey.split('+').slice(2).join('+'), 'base64').subarray(1).toString('base64url'),
      },
      format: 'jwk',
    });
  const [text, lines] = vectors.checkpoint.split('\n\n') as [string, string];
  const [log, witness] = lines
    .trimEnd()
    .split('\n')
    .map((line) => Buffer.from(line.split(' ')[2]!, 'base64'));
  expect(verify(null, Buffer.from(`${text}\n`), keyOf(vectors.keys.log), log!.subarray(4))).toBe(true);
  expect(witness!.readBigUInt64BE(4)).toBe(BigInt(vectors.cosignature_time));
  const message = Buffer.from(vectors.cosigned_message);
  expect(verify(null, message, keyOf(vectors.keys.witness), witness!.subarray(12))).toBe(true);
});

test.each(vectors.refused.map(({ why, checkpoint }) => [why, checkpoint]))('refused: %s', (_, checkpoint) => {
  expect(() => openCheckpoint(checkpoint, [parseVkey(vectors.keys.log)])).toThrow();
});
