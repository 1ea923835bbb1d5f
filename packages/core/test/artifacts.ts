/** One artifact of each kind, as bytes, for the tests of verification. */
import {
  captureAgentSnapshotEnvelope,
  createRegisteredAgent,
  tool,
  toolkit,
} from '../src/capability/index.ts';
import { createCapsule, sealSync } from '../src/capsule/index.ts';
import {
  formatVkey,
  localSigner,
  noteVerifier,
  parseNote,
  publicKey,
  signNote,
  toUtf8,
} from '../src/crypto/index.ts';
import { authorize } from '../src/envelope/index.ts';
import { type JsonObject, parse, stringify } from '../src/json/index.ts';
import { signLock, signLockNote, signLockStatement, writeBundle, writeLock } from '../src/lock/index.ts';
import {
  addSignatures,
  assemble,
  Frontier,
  formatProof,
  inclusionPlan,
  leafData,
  leafHash,
  type NodeAt,
  parsePolicy,
  signCheckpoint,
} from '../src/log/index.ts';
import { described } from './capability.ts';
import { by, claimsFor, envelope, policyText } from './envelope.ts';
import { manifestText } from './manifest.ts';
import { options, whole } from './surface.ts';

export const ORIGIN = 'log.example/acme/main';
export const T = 1_700_000_000;
const NOW = new Date('2026-03-01T00:00:00Z');

const seeded = (n: number) => localSigner('Ed25519', new Uint8Array(32).fill(n));
export const signer = seeded(1);
export const key = publicKey('Ed25519', signer.publicKey);
export const stranger = publicKey('Ed25519', seeded(9).publicKey);
const witness = seeded(11);
export const vkey = noteVerifier(ORIGIN, key);
export const policy = parsePolicy(
  toUtf8(
    `witness w ${formatVkey(noteVerifier('w.example/0', publicKey('Ed25519', witness.publicKey), 4))}\nquorum w\n`,
  ),
);

function sealed(sequence: number, previous: string | null) {
  const environment = sequence === 0 ? { bulla: { v: 1, origin: ORIGIN } } : {};
  const content = {
    ...{ sequence, previous_hash: previous },
    context: { environment },
    outcome: { summary: `action ${sequence}` },
  };
  const id = `00000000-0000-4000-8000-00000000000${sequence}`;
  return sealSync(createCapsule(content, { id, now: NOW }), signer, { signedAt: NOW });
}

/** The texts of a chain of five capsules. */
export const capsules: string[] = [];
for (let i = 0, last: string | null = null; i < 5; i++) {
  const { text, sealed: record } = sealed(i, last);
  capsules.push(text);
  last = record.hash;
}

const leaves = capsules.map((text) => leafHash(leafData(parse(text) as JsonObject)));

function rootOf(from: number, to: number): Uint8Array {
  const tree = new Frontier();
  for (const leaf of leaves.slice(from, to)) tree.push(leaf);
  return tree.root();
}

/** A checkpoint over the first records, which a witness saw at these times. */
export async function checkpoint(size: number, ...seen: readonly number[]): Promise<string> {
  const body = { origin: ORIGIN, size, root: rootOf(0, size), extensions: [] };
  let note = await signCheckpoint(body, [{ name: ORIGIN, signer }]);
  const { text } = parseNote(note);
  for (const time of seen) {
    const signed = await signNote(text, [{ name: 'w.example/0', signer: witness, type: 4, time }]);
    note = addSignatures(note, signed.slice(text.length + 1));
  }
  return note;
}

/** The proof that the record at `index` is among the first `size`. */
export async function proof(index: number, size: number, ...seen: readonly number[]): Promise<string> {
  const node = ({ height, index: at }: NodeAt) => rootOf(at * 2 ** height, (at + 1) * 2 ** height);
  const hashes = assemble(inclusionPlan(index, size), node);
  return formatProof({ index, hashes, extra: null, checkpoint: await checkpoint(size, ...seen) });
}

export const lock: string = writeLock(whole, options).text;
export const lockBytes: Uint8Array = toUtf8(lock);
export const signature: string = await signLock(lockBytes, signer);
export const lockNote: string = await signLockNote(lockBytes, [{ name: 'pins.example', signer }]);
export const dsse: string = await signLockStatement(lockBytes, [signer]);
export const bundle: Uint8Array = writeBundle(
  { lock: lockBytes, signature: toUtf8(signature) },
  { toolVersion: 'bulla 0.1.0' },
);
export const note: string = await signNote('a text\n', [{ name: ORIGIN, signer }]);

export { envelope };
export const envelopeText: string = stringify(envelope);
export const authorization: string = await authorize(claimsFor(envelope), by(signer));
export const manifest: string = manifestText();
export const executionPolicy: string = policyText;

const echo = tool({
  name: 'echo',
  inputSchema: described({ type: 'object' }),
  handler: () => 'echo',
});
const captured = await captureAgentSnapshotEnvelope<Record<string, never>>({
  agent: createRegisteredAgent({
    ...{ agentId: 'support', name: 'Support' },
    rootComposable: toolkit([echo], { name: 'root' }),
  }),
  ctx: { env: {}, namespace: 'n', agentId: 'support' },
});
export const capability: string = JSON.stringify(captured.envelope);
