import { type CanonicalRecord, type Seal, verifyCanonical, verifyCapsule } from '@bulla/core/capsule';
import type { Code } from '@bulla/core/codes';
import { fromUtf8, parseNote } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { JsonObject, parse } from '@bulla/core/json';
import {
  type LogProof,
  leafData,
  leafHash,
  parseCheckpointBody,
  parseProof,
  readAnchor,
  verifyInclusion,
} from '@bulla/core/log';
import { judged, type SourceRecord } from '../../chain/index.ts';
import { chain, sourceOf } from './artifact-chain.ts';
import { anchorText, missingWitnesses, unknownSigner } from './artifact-checkpoint.ts';
import { isProof, isUnknownSigner } from './artifact-note.ts';
import type { Artifact, Trust, Verdict } from './artifacts.ts';
import { unsealedPaths } from './notices.ts';
import { anchorTrust } from './trust.ts';

const NOT_PROVEN = ['that the content is true', 'that later records were not cut off'];

/** A proof that a capsule is in its chain; the capsule is one of the other files that were named. */
export const proof: Artifact = {
  kind: 'log proof',
  isSigned: true,
  recognises: isProof,
  async verify(file, bytes, trust): Promise<Verdict> {
    const undecided = (code: Code, message: string): Verdict => ({
      result: 'undecided',
      ...{ code, message, details: {}, notProven: NOT_PROVEN },
    });
    const bad = (code: Code, message: string): Verdict => ({
      result: 'bad',
      ...{ code, message, details: {}, notProven: NOT_PROVEN },
    });
    if (trust.keys.length === 0)
      return undecided(
        'VERIFY_NO_KEY',
        'No key is known to verify with; name one with --public-key or --keyring.',
      );
    try {
      const parsed = parseProof(fromUtf8(bytes));
      const others = trust.files.filter((other) => other !== file);
      let sought: Sought = { record: null, holds: 'nothing' };
      let holds: Sought['holds'] = 'nothing';
      for (const other of others) {
        sought = await recordFor(parsed, other, trust);
        if (sought.record !== null) break;
        if (sought.holds === 'chain' || holds === 'nothing') holds = sought.holds;
      }
      if (sought.record === null) {
        if (holds === 'capsule')
          return bad('LOG_INCLUSION', 'The proof is of none of the capsules that were named.');
        const message =
          holds === 'chain'
            ? 'The proof is of no record of what was named; name the file of its capsule, or its chain.'
            : 'Name the file of the capsule too; the proof is of its bytes.';
        return undecided('VERIFY_NO_CAPSULE', message);
      }
      try {
        return verdictOn(parsed, sought.record, trust);
      } catch (error) {
        if (!isUnknownSigner(error)) throw error;
        return undecided(error.code, unknownSigner(parsed.checkpoint));
      }
    } catch (error) {
      if (!(error instanceof BullaError)) throw error;
      return bad(error.code, error.message);
    }
  },
};

/** A record as it is proved: parsed, or with its canonical text. */
type Proved = JsonObject | CanonicalRecord;

interface Sought {
  readonly record: Proved | null;
  /** What was looked through: one capsule, which then is not the one of the proof, or a chain, which may be another. */
  readonly holds: 'nothing' | 'capsule' | 'chain';
}

/** The record of a file from which the proof leads to the root of the checkpoint. */
async function recordFor(
  { index, hashes, checkpoint }: LogProof,
  file: string,
  trust: Trust,
): Promise<Sought> {
  const { size, root } = parseCheckpointBody(parseNote(checkpoint).text);
  let count = 0;
  let isChain = false;
  try {
    const bytes = trust.read(file);
    if (!chain.recognises(bytes)) return { record: null, holds: 'nothing' };
    for await (const found of sourceOf(file, bytes).records()) {
      count++;
      const record = proved(found, (leaf) => verifyInclusion({ leaf, index, size, root, proof: hashes }));
      if (record !== null) return { record, holds: 'chain' };
    }
    isChain = count !== 1;
  } catch (error) {
    // Its own verdict tells what is wrong with it.
    if (!(error instanceof BullaError)) throw error;
    isChain = count > 0;
  }
  return { record: null, holds: isChain ? 'chain' : 'capsule' };
}

/** The record, if the check of its leaf does not throw. */
function proved(found: SourceRecord, check: (leaf: Uint8Array) => void): Proved | null {
  try {
    const isText = typeof found === 'string' || found instanceof Uint8Array;
    const record = isText ? parse(found, { allow: ['non-finite'] }) : found;
    if (isText && !(record instanceof JsonObject)) return null;
    check(leafHash(leafData(record as JsonObject | Partial<Seal>)));
    return record as Proved;
  } catch (error) {
    if (error instanceof BullaError) return null;
    throw error;
  }
}

function verdictOn({ index, checkpoint }: LogProof, record: Proved, trust: Trust): Verdict {
  const anchor = readAnchor(checkpoint, anchorTrust(trust, trust.policy));
  const { keys, pqKeys, facts, requirePq, allowNonFinite, revoked } = trust;
  const how = { keys, pqKeys, facts, requirePq, allowNonFinite };
  const verdict = judged(
    record instanceof JsonObject ? verifyCapsule(record, how) : verifyCanonical(record, how),
    revoked,
    (seconds) => anchor.witnessedBefore(seconds),
  );
  const { origin, size } = anchor.checkpoint;
  const unsealed = unsealedPaths(verdict.unauthenticated);
  const seen = { witnessed: anchor.witnessed, witnesses: anchor.witnesses };
  const details = { origin, size, index, ...seen, not_sealed: unsealed };
  if (!verdict.ok)
    return {
      result: verdict.code === 'unknown_key' ? 'undecided' : 'bad',
      code: verdict.code,
      message: verdict.message,
      details,
      notProven: NOT_PROVEN,
    };
  const missing = missingWitnesses(anchor, trust.policy);
  if (missing !== null)
    return { result: 'bad', code: 'LOG_QUORUM', message: missing, details, notProven: NOT_PROVEN };
  // The leaf covers all of the seal; fields beside the capsule's own are covered by nothing.
  const outside = unsealed.filter((path) => path !== '/signed_at' && path !== '/signed_by');
  const limit = outside.length === 0 ? '' : ` Neither seal nor proof covers ${outside.join(', ')}.`;
  const message = `Record ${index} of ${size} in ${origin}, ${anchorText(anchor)}.${limit}`;
  return { result: 'good', code: 'ok', message, details, notProven: NOT_PROVEN };
}
