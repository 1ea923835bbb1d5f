import { BullaError } from '../error.ts';
import { type Artifact, type Finding, type Kind, SIGNED, type Verdict } from './artifact.ts';
import type { SegmentRunner } from './chain.ts';
import { checkBundle } from './check-bundle.ts';
import { checkCapability } from './check-capability.ts';
import { checkCapsules } from './check-capsules.ts';
import { checkBindings, checkExecutionPolicy, checkManifest, checkRules } from './check-documents.ts';
import { checkAuthorization, checkEnvelope } from './check-envelope.ts';
import { checkLock, checkLockSignature } from './check-lock.ts';
import { checkCheckpoint, checkNote } from './check-notes.ts';
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
    const check = CHECKS[kind] as (typeof CHECKS)['capsules'];
    const finding = await check(artifact as Artifact<'capsules'>, trust, others, run);
    return { name, kind, ...demanded(artifact, finding, trust) };
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    const { code, message, path, offset } = error;
    const details = { ...(path !== undefined && { path }), ...(offset !== undefined && { offset }) };
    return { name, kind, result: 'unreadable', code, message, details, notProven: [] };
  }
}

/** How each kind is verified, beside the other artifacts. */
const CHECKS: {
  readonly [K in Kind]: (
    artifact: Artifact<K>,
    trust: Trust,
    others: readonly Artifact[],
    run?: SegmentRunner,
  ) => Finding | Promise<Finding>;
} = {
  'log proof': checkProof,
  checkpoint: checkCheckpoint,
  'signed note': checkNote,
  bundle: checkBundle,
  lockfile: checkLock,
  'lock signature': checkLockSignature,
  'execution envelope': checkEnvelope,
  authorization: checkAuthorization,
  'capability envelope': ({ snapshot }) => checkCapability(snapshot),
  manifest: checkManifest,
  bindings: checkBindings,
  rules: checkRules,
  'execution policy': checkExecutionPolicy,
  capsules: checkCapsules,
};

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
