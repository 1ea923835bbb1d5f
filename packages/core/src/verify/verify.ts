import { BullaError } from '../error.ts';
import { type Artifact, type Finding, SIGNED, type Verdict } from './artifact.ts';
import type { SegmentRunner } from './chain.ts';
import { checkBundle } from './check-bundle.ts';
import { checkCapability } from './check-capability.ts';
import { checkCapsules } from './check-capsules.ts';
import { checkCheckpoint } from './check-checkpoint.ts';
import { checkBindings, checkExecutionPolicy, checkRules } from './check-documents.ts';
import { checkAuthorization, checkEnvelope } from './check-envelope.ts';
import { checkLock, checkLockSignature } from './check-lock.ts';
import { checkManifest } from './check-manifest.ts';
import { checkNote } from './check-note.ts';
import { checkProof } from './check-proof.ts';
import type { Trust } from './trust.ts';

/**
 * Verifies artifacts, each by itself and against the others: a chain against the checkpoints and proofs of its log, a
 * proof against the record that it is of, a lock with its signature, an envelope with its authorization, what a revoked
 * key signed against witnessed checkpoints. Which belong together is told by their content. One verdict for each, in
 * their order. `run` verifies long chains on threads.
 */
export async function verify(
  artifacts: readonly Artifact[],
  trust: Trust,
  run?: SegmentRunner,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const artifact of artifacts) verdicts.push(await verifyArtifact(artifact, artifacts, trust, run));
  return verdicts;
}

/** The verdict on one of them. */
export async function verifyArtifact(
  artifact: Artifact,
  artifacts: readonly Artifact[],
  trust: Trust,
  run?: SegmentRunner,
): Promise<Verdict> {
  const { name, kind } = artifact;
  try {
    const others = artifacts.filter((each) => each !== artifact);
    return { name, kind, ...demanded(artifact, await check(artifact, others, trust, run), trust) };
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    const { code, message, path, offset } = error;
    const details = { ...(path !== undefined && { path }), ...(offset !== undefined && { offset }) };
    return { name, kind, result: 'unreadable', code, message, details, notProven: [] };
  }
}

function check(
  artifact: Artifact,
  others: readonly Artifact[],
  trust: Trust,
  run: SegmentRunner | undefined,
): Finding | Promise<Finding> {
  switch (artifact.kind) {
    case 'log proof':
      return checkProof(artifact, trust, others);
    case 'checkpoint':
      return checkCheckpoint(artifact, trust);
    case 'signed note':
      return checkNote(artifact, trust);
    case 'bundle':
      return checkBundle(artifact, trust);
    case 'lockfile':
      return checkLock(artifact, trust, others);
    case 'lock signature':
      return checkLockSignature(artifact, trust, others);
    case 'execution envelope':
      return checkEnvelope(artifact, trust, others);
    case 'authorization':
      return checkAuthorization(artifact, trust);
    case 'capability envelope':
      return checkCapability(artifact.snapshot);
    case 'manifest':
      return checkManifest(artifact);
    case 'bindings':
      return checkBindings(artifact);
    case 'rules':
      return checkRules(artifact);
    case 'execution policy':
      return checkExecutionPolicy(artifact);
    case 'capsules':
      return checkCapsules(artifact, trust, others, run);
  }
}

/** The finding, held to what the caller asked for besides. */
function demanded({ kind }: Artifact, finding: Finding, { kinds = [], signed }: Trust): Finding {
  if (kinds.length > 0 && !kinds.includes(kind)) {
    const message = `Another kind was asked for: ${kinds.join(' or ')}.`;
    return { ...finding, result: 'bad', code: 'VERIFY_KIND', message, lines: [] };
  }
  if (finding.result !== 'good' || SIGNED[kind] || !signed) return finding;
  const message = `It is well formed, but nobody signs a ${kind}, and a signature was asked for.`;
  return { ...finding, result: 'undecided', code: 'VERIFY_UNSIGNED', message, lines: [] };
}
