import { verifyCapsule } from '@bulla/core/capsule';
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
import { judged } from '../chain/index.ts';
import { anchorText, missingWitnesses, unknownSigner } from './artifact-checkpoint.ts';
import { isProof, isUnknownSigner } from './artifact-note.ts';
import type { Artifact, Trust, Verdict } from './artifacts.ts';
import { readInput } from './io.ts';
import { unsealedPaths } from './notices.ts';
import { anchorTrust } from './trust.ts';

const NOT_PROVEN = ['that the content is true', 'that later records were not cut off'];

/** A proof that a capsule is in its chain; the capsule is one of the other files that were named. */
export const proof: Artifact = {
  kind: 'log proof',
  isSigned: true,
  recognises: isProof,
  async verify(file, bytes, trust): Promise<Verdict> {
    const undecided = (code: string, message: string): Verdict => ({
      result: 'undecided',
      ...{ code, message, details: {}, notProven: NOT_PROVEN },
    });
    const bad = (code: string, message: string): Verdict => ({
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
      const found = others.map((other) => capsuleFor(parsed, other)).find((record) => record !== undefined);
      if (found === undefined) {
        return others.length === 0
          ? undecided('VERIFY_NO_CAPSULE', 'Name the file of the capsule too; the proof is of its bytes.')
          : bad('LOG_INCLUSION', 'The proof is of none of the capsules that were named.');
      }
      try {
        return verdictOn(parsed, found, trust);
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

/** The capsule in a file, if the proof leads from it to the root of the checkpoint. */
function capsuleFor({ index, hashes, checkpoint }: LogProof, file: string): JsonObject | undefined {
  try {
    const value = parse(readInput(file), { allow: ['non-finite'] });
    const record = Array.isArray(value) && value.length === 1 ? value[0] : value;
    if (!(record instanceof JsonObject)) return undefined;
    const { size, root } = parseCheckpointBody(parseNote(checkpoint).text);
    verifyInclusion({ leaf: leafHash(leafData(record)), index, size, root, proof: hashes });
    return record;
  } catch (error) {
    if (error instanceof BullaError) return undefined;
    throw error;
  }
}

function verdictOn({ index, checkpoint }: LogProof, record: JsonObject, trust: Trust): Verdict {
  const anchor = readAnchor(checkpoint, anchorTrust(trust, trust.policy));
  const { keys, pqKeys, facts, requirePq, allowNonFinite, revoked } = trust;
  const verdict = judged(
    verifyCapsule(record, { keys, pqKeys, facts, requirePq, allowNonFinite }),
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
