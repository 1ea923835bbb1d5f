import { createCapsule, sealSync } from '@bulla/core/capsule';
import {
  formatVkey,
  localSigner,
  noteVerifier,
  publicKey,
  signNote,
  toBase64,
  toHex,
} from '@bulla/core/crypto';
import { type JsonObject, parse } from '@bulla/core/json';
import {
  addSignatures,
  assemble,
  consistencyPlan,
  Frontier,
  foldNodes,
  formatProof,
  inclusionPlan,
  leafData,
  leafHash,
  type NodeAt,
  signCheckpoint,
} from '@bulla/core/log';

/** The vectors of the log, from fixed test keys and made-up records. */
export async function logVectors(): Promise<object> {
  const signer = localSigner('Ed25519', new Uint8Array(32).fill(1));
  const witness = localSigner('Ed25519', new Uint8Array(32).fill(2));
  const now = new Date('2026-03-01T00:00:00Z');
  const records: string[] = [];
  let previous: string | null = null;
  for (let sequence = 0; sequence < 7; sequence++) {
    const input = { sequence, previous_hash: previous, outcome: { summary: `record ${sequence}` } };
    const capsule = createCapsule(input, { id: `00000000-0000-4000-8000-00000000000${sequence}`, now });
    const { sealed, text } = sealSync(capsule, signer, { signedAt: now });
    records.push(text);
    previous = sealed.hash;
  }
  const datas = records.map((text) => leafData(parse(text) as JsonObject));
  const leaves = datas.map(leafHash);
  const node = ({ height, index }: NodeAt): Uint8Array =>
    height === 0
      ? leaves[index]!
      : foldNodes([
          node({ height: height - 1, index: 2 * index }),
          node({ height: height - 1, index: 2 * index + 1 }),
        ]);
  const rootOf = (size: number) => {
    const tree = new Frontier();
    for (const leaf of leaves.slice(0, size)) tree.push(leaf);
    return tree.root();
  };

  const origin = 'log.example/vectors';
  const checkpoint = { origin, size: 7, root: rootOf(7), extensions: [] };
  const log = noteVerifier(origin, publicKey('Ed25519', signer.publicKey));
  const w1 = noteVerifier('witness.example/1', publicKey('Ed25519', witness.publicKey), 0x04);
  const signed = await signCheckpoint(checkpoint, [{ name: origin, signer }]);
  const text = signed.slice(0, signed.indexOf('\n\n') + 1);
  const time = 1_772_323_200;
  const cosignatures = await signNote(text, [{ name: w1.name, signer: witness, type: 0x04, time }]);
  const cosigned = addSignatures(signed, cosignatures.slice(text.length + 1));
  const inclusion = (index: number) => assemble(inclusionPlan(index, 7), node);
  return {
    leaf_rule: 'cps, newline, 32 bytes of the record hash, SHA-256 over the JCS form of the seal fields',
    records: records.map((record, i) => ({ record, leaf: toHex(datas[i]!), leaf_hash: toHex(leaves[i]!) })),
    roots: [0, 1, 2, 3, 4, 5, 6, 7].map((size) => ({ size, root: toBase64(rootOf(size)) })),
    inclusion: leaves.map((_, index) => ({ index, size: 7, proof: inclusion(index).map(toBase64) })),
    consistency: [1, 2, 3, 4, 5, 6, 7].map((old) => ({
      old,
      size: 7,
      proof: assemble(consistencyPlan(old, 7), node).map(toBase64),
    })),
    keys: { log: formatVkey(log), witness: formatVkey(w1) },
    checkpoint: cosigned,
    cosignature_time: time,
    cosigned_message: `cosignature/v1\ntime ${time}\n${text}`,
    tlog_proof: formatProof({ extra: null, index: 3, hashes: inclusion(3), checkpoint: cosigned }),
    refused: [
      { why: 'another size', checkpoint: cosigned.replace('\n7\n', '\n8\n') },
      { why: 'a size with a leading zero', checkpoint: cosigned.replace('\n7\n', '\n07\n') },
      { why: 'another origin', checkpoint: cosigned.replace('log.example/vectors\n', 'log.example/other\n') },
      { why: 'no final newline', checkpoint: cosigned.slice(0, -1) },
      { why: 'not canonical base64', checkpoint: cosigned.replace(/=\n$/, '\n') },
    ],
  };
}
