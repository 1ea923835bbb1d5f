/**
 * Transparency logs after C2SP: the Merkle tree of RFC 6962, proofs, checkpoints, cosignatures, policies and tiles.
 * Everything here is pure; where hashes are kept is the caller's business. What fails to verify throws, so that no
 * check can be forgotten. Errors are `BullaError` with a code that starts with `LOG_`, or `NOTE_` for signed notes.
 */
export { type Checkpoint, formatCheckpointBody, parseCheckpointBody } from '../crypto/index.ts';
export {
  type Anchor,
  type AnchoredRange,
  type AnchorReport,
  type AnchorTrust,
  coveredBefore,
  createAnchorVerifier,
  isLogOf,
  readAnchor,
} from './anchor.ts';
export {
  addSignatures,
  LOG_TYPES,
  logVerifiers,
  type OpenedCheckpoint,
  openCheckpoint,
  signCheckpoint,
  WITNESS_TYPES,
} from './checkpoint.ts';
export { leafData, sealedLeaf } from './leaf.ts';
export {
  assemble,
  consistencyPlan,
  EMPTY_ROOT,
  Frontier,
  foldNodes,
  HASH_BYTES,
  inclusionPlan,
  leafHash,
  type NodeAt,
  nodeHash,
  rootPlan,
} from './merkle.ts';
export { evaluatePolicy, formatPolicy, type Policy, type PolicyWitness, parsePolicy } from './policy.ts';
export { formatProof, type LogProof, parseProof } from './proof.ts';
export {
  entriesPath,
  entryBundle,
  nodeFromTile,
  TILE_WIDTH,
  tileOf,
  tilePath,
  tilesSince,
  tileWidth,
} from './tiles.ts';
export { verifyConsistency, verifyInclusion } from './verify.ts';
