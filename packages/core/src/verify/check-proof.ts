import {
  type CanonicalRecord,
  isCanonicalRecord,
  type Seal,
  verifyCanonical,
  verifyCapsule,
} from '../capsule/index.ts';
import { parseCheckpointBody, parseNote } from '../crypto/index.ts';
import { attempt, BullaError } from '../error.ts';
import { JsonObject } from '../json/index.ts';
import { type LogProof, leafData, leafHash, readAnchor, verifyInclusion } from '../log/index.ts';
import { type Artifact, type Finding, findings, steps } from './artifact.ts';
import { anchorText, isUnknownSigner, missingWitnesses, unknownSigner } from './check-notes.ts';
import { unsealedPaths } from './notices.ts';
import { readRecord } from './records.ts';
import { anchorTrust, type Trust, withRevocations } from './trust.ts';

const { good, bad, undecided, keyless } = findings([
  'that the content is true',
  'that later records were not cut off',
]);
const STEPS = ['inclusion', 'checkpoint', 'record', 'witnesses'] as const;
const at = (finding: Finding, failed?: (typeof STEPS)[number]) => ({
  ...finding,
  steps: steps(STEPS, failed),
});

/** A proof that a record is in its log; the record is looked for among the capsules and chains. */
export async function checkProof(
  { proof }: Artifact<'log proof'>,
  trust: Trust,
  artifacts: readonly Artifact[],
): Promise<Finding> {
  if (trust.keys.length === 0) return keyless('VERIFY_NO_KEY', 'No key is known to verify with.');
  try {
    if (proof instanceof BullaError) throw proof;
    const sought = await recordFor(proof, artifacts);
    if (sought === 'capsule')
      return at(bad('LOG_INCLUSION', 'The proof is of none of the capsules that were named.'), 'inclusion');
    if (sought === 'chain' || sought === 'nothing') return undecided('VERIFY_NO_CAPSULE', NOT_FOUND[sought]);
    return checkRecord(proof, sought, trust);
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    return bad(error.code, error.message);
  }
}

const NOT_FOUND = {
  chain: 'The proof is of no record of what was named; name the file of its capsule, or its chain.',
  nothing: 'Name the file of the capsule too; the proof is of its bytes.',
};

/** A record as it is proved: parsed, or with its canonical text. */
type Proved = JsonObject | CanonicalRecord;

/**
 * The record from which the proof leads to the root of its checkpoint. Else what was looked through: one capsule, which
 * then is not the one of the proof; a chain, which may be another; or nothing.
 */
async function recordFor(
  proof: LogProof,
  artifacts: readonly Artifact[],
): Promise<Proved | 'capsule' | 'chain' | 'nothing'> {
  const includes = inclusionOf(proof);
  let sought: 'capsule' | 'chain' | 'nothing' = 'nothing';
  for (const each of artifacts) {
    if (each.kind !== 'capsules') continue;
    let count = 0;
    try {
      for await (const found of each.source.records()) {
        count++;
        const record = isCanonicalRecord(found) ? found : readRecord(found).content;
        if (record !== null && includes(record)) return record;
      }
    } catch (error) {
      // Its own verdict tells what is wrong with it.
      if (!(error instanceof BullaError)) throw error;
    }
    if (count !== 1) sought = 'chain';
    else if (sought === 'nothing') sought = 'capsule';
  }
  return sought;
}

/** Tells of a record whether a proof leads from it to the root of the proof's checkpoint. */
export function inclusionOf({ index, hashes, checkpoint }: LogProof): (record: Proved) => boolean {
  const { size, root } = parseCheckpointBody(parseNote(checkpoint).text);
  return (record) => {
    const refusal = attempt(() => {
      const leaf = leafHash(leafData(record as JsonObject | Partial<Seal>));
      verifyInclusion({ leaf, index, size, root, proof: hashes });
    });
    return refusal === undefined;
  };
}

function checkRecord({ index, checkpoint }: LogProof, record: Proved, trust: Trust): Finding {
  const anchor = attempt(() => readAnchor(checkpoint, anchorTrust(trust, trust.policy)));
  if (anchor instanceof BullaError) {
    const { code, message } = anchor;
    if (isUnknownSigner(anchor)) return keyless(code, unknownSigner(checkpoint));
    return at(bad(code, message), 'checkpoint');
  }
  const { keys, pqKeys, facts, requirePq = false, allowNonFinite = false, revoked } = trust;
  const how = { keys, pqKeys, facts, requirePq, allowNonFinite };
  const verdict = withRevocations(
    record instanceof JsonObject ? verifyCapsule(record, how) : verifyCanonical(record, how),
    revoked,
    (seconds) => anchor.witnessedBefore(seconds),
  );
  const { origin, size } = anchor.checkpoint;
  const unsealed = unsealedPaths(verdict.unauthenticated);
  const seen = { witnessed: anchor.witnessed, witnesses: anchor.witnesses };
  const details = { origin, size, index, ...seen, not_sealed: unsealed };
  const { code, message } = verdict;
  if (code === 'unknown_key') return keyless(code, message, details);
  if (!verdict.ok) return at(bad(code, message, details), 'record');
  const missing = missingWitnesses(anchor, trust.policy);
  if (missing !== null) return at(bad('LOG_QUORUM', missing, details), 'witnesses');
  // The leaf covers all of the seal; fields beside the capsule's own are covered by nothing.
  const outside = unsealed.filter((path) => path !== '/signed_at' && path !== '/signed_by');
  const limit = outside.length === 0 ? '' : ` Neither seal nor proof covers ${outside.join(', ')}.`;
  return at(good(`Record ${index} of ${size} in ${origin}, ${anchorText(anchor)}.${limit}`, details));
}
