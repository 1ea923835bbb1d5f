/**
 * Transparency logs after C2SP: the Merkle tree of RFC 6962, proofs, checkpoints, cosignatures, policies and tiles.
 * Everything here is pure; where hashes are kept is the caller's business. What fails to verify throws, so that no
 * check can be forgotten. Errors are `BullaError` with a code that starts with `LOG_`, or `NOTE_` for signed notes.
 */
export { type Checkpoint, formatCheckpointBody, parseCheckpointBody } from '../crypto/index.ts';
export {
  type Anchor,
  type AnchoredRange,
  type AnchorFailure,
  type AnchorReport,
  type AnchorTrust,
  type AnchorVerifier,
  coveredBefore,
  createAnchorVerifier,
  isLogOf,
  readAnchor,
} from './anchor.ts';
export {
  addSignatures,
  LOG_TYPES,
  logSignature,
  logVerifiers,
  type OpenedCheckpoint,
  openCheckpoint,
  signCheckpoint,
  WITNESS_TYPES,
} from './checkpoint.ts';
export { LEAF_BYTES, leafData, sealedLeaf } from './leaf.ts';
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
export {
  evaluatePolicy,
  formatPolicy,
  maxPolicyItems,
  type Policy,
  type PolicyGroup,
  type PolicyLog,
  type PolicyOptions,
  type PolicyResult,
  type PolicyWitness,
  parsePolicy,
} from './policy.ts';
export { formatProof, type LogProof, parseProof, verifyProof } from './proof.ts';
export {
  entriesPath,
  entryBundle,
  type NodeInTile,
  nodeFromTile,
  parseEntryBundle,
  parseTilePath,
  TILE_WIDTH,
  type Tile,
  type TilePlace,
  tileOf,
  tilePath,
  tilesForSize,
  tilesSince,
  tileWidth,
} from './tiles.ts';
export {
  type Consistency,
  type Inclusion,
  type SubtreeConsistency,
  type SubtreeInclusion,
  verifyConsistency,
  verifyInclusion,
  verifySubtreeConsistency,
  verifySubtreeInclusion,
} from './verify.ts';
