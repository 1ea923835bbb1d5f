import { createHash } from 'node:crypto';
import { formatVkey, localSigner, noteVerifier, publicKey } from '@bulla/core/crypto';
import {
  assemble,
  consistencyPlan,
  foldNodes,
  leafHash,
  type NodeAt,
  nodeHash,
  rootPlan,
  signCheckpoint,
} from '@bulla/core/log';
import type { Submission } from '../src/store/index.ts';
import { formatAddCheckpoint } from '../src/witness/index.ts';

/** A log in memory. Two of one origin and key whose names for their records differ are two views of one log. */
export interface TestLog {
  readonly origin: string;
  readonly vkey: string;
  root(size: number): Uint8Array;
  proof(oldSize: number, size: number): Uint8Array[];
  note(size: number, extensions?: readonly string[]): Promise<string>;
  /** The body of a request, with the proof that it needs unless another is given. */
  request(oldSize: number, size: number, proof?: readonly Uint8Array[]): Promise<Uint8Array>;
  submission(size: number): Promise<Submission>;
}

/** Records up to `forkAt` are the same in every view; those behind it are the view's own. */
export interface TestLogOptions {
  readonly origin?: string;
  readonly seed?: number;
  readonly view?: string;
  readonly forkAt?: number;
}

export function testLog(options: TestLogOptions = {}): TestLog {
  const { origin = 'log.example/a', seed = 1, view = '', forkAt = 0 } = options;
  // A test key.
  const signer = localSigner('Ed25519', new Uint8Array(32).fill(seed));
  const nodes = new Map<string, Uint8Array>();
  const node = ({ height, index }: NodeAt): Uint8Array => {
    const key = `${height}/${index}`;
    let hash = nodes.get(key);
    if (hash === undefined) {
      const below = (i: number) => node({ height: height - 1, index: 2 * index + i });
      const leaf = () =>
        createHash('sha256')
          .update(`${index < forkAt ? '' : view}${index}`)
          .digest();
      hash = height === 0 ? leafHash(leaf()) : nodeHash(below(0), below(1));
      nodes.set(key, hash);
    }
    return hash;
  };
  const root = (size: number) => foldNodes(rootPlan(size).map(node));
  const proof = (oldSize: number, size: number) => assemble(consistencyPlan(oldSize, size), node);
  const note = (size: number, extensions: readonly string[] = []) =>
    signCheckpoint({ origin, size, root: root(size), extensions }, [{ name: origin, signer }]);
  return {
    origin,
    vkey: formatVkey(noteVerifier(origin, publicKey('Ed25519', signer.publicKey))),
    root,
    proof,
    note,
    async request(oldSize, size, given) {
      const hashes = given ?? (oldSize <= size ? proof(oldSize, size) : []);
      return Buffer.from(formatAddCheckpoint({ oldSize, proof: hashes, note: await note(size) }));
    },
    async submission(size) {
      return { note: await note(size), size, consistency: async (oldSize) => proof(oldSize, size) };
    },
  };
}
