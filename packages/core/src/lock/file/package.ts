import { JsonNumber, JsonObject, type JsonValue, type Member } from '../../json/index.ts';
import { checkRoot, readTree, type Tree, writeTree } from './package-tree.ts';
import { strictly } from './reading.ts';

/** Where the server's program comes from, as the released program pins it. Absent members are null. */
export interface Artifact {
  readonly type: ArtifactType;
  readonly name: string | null;
  readonly version: string | null;
  readonly registry: string | null;
  readonly integrity: string | null;
  readonly tarball_url: string | null;
  readonly tarball_sha256: string | null;
  readonly tarball_size: number | null;
  readonly image: string | null;
  readonly digest: string | null;
  readonly provenance: Provenance | null;
  /** All that an npm package needs. The released program does not know it and passes over it. */
  readonly tree: Tree | null;
}

export interface Provenance {
  readonly method: ProvenanceMethod | null;
  readonly predicate_type: string | null;
  readonly builder_id: string | null;
  readonly source_repo: string | null;
  readonly source_ref: string | null;
  readonly workflow_uri: string | null;
  readonly issuer: string | null;
  readonly identity: string | null;
  readonly verified: boolean;
  readonly verified_at: string | null;
}

const TYPES = ['npm', 'oci', 'local'] as const;
export type ArtifactType = (typeof TYPES)[number];

const METHODS = ['cosign_slsa', 'npm_audit_signatures', 'unverified'] as const;
export type ProvenanceMethod = (typeof METHODS)[number];

const ARTIFACT = {
  required: ['type'],
  optional: [
    ...['name', 'version', 'registry', 'integrity', 'tarball_url', 'tarball_sha256', 'tarball_size'],
    ...['image', 'digest', 'provenance', 'tree'],
  ],
};
const PROVENANCE = {
  required: ['verified'],
  optional: [
    ...['method', 'predicate_type', 'builder_id', 'source_repo', 'source_ref', 'workflow_uri'],
    ...['issuer', 'identity', 'verified_at'],
  ],
};

/**
 * Reads an `artifact` object. Throws the `LOCK_FIELD_…` codes, `LOCK_CASE_TWIN`, and `LOCK_INCONSISTENT` for a tree that
 * does not have its digest or is of another package.
 */
export function readArtifact(value: Member): Artifact {
  const record = value.record(ARTIFACT);
  const text = (key: string) => record.optional(key, (member) => member.text());
  const artifact: Artifact = {
    type: record.get('type').word(TYPES),
    name: text('name'),
    version: text('version'),
    registry: text('registry'),
    integrity: text('integrity'),
    tarball_url: text('tarball_url'),
    tarball_sha256: text('tarball_sha256'),
    tarball_size: record.optional('tarball_size', (size) => size.natural('bytes')),
    image: text('image'),
    digest: text('digest'),
    provenance: record.optional('provenance', readProvenance),
    tree: record.optional('tree', readTree),
  };
  if (artifact.tree !== null) checkRoot(artifact, artifact.tree, record.get('tree').at);
  return artifact;
}

function readProvenance(value: Member): Provenance {
  const record = value.record(PROVENANCE);
  const text = (key: string) => record.optional(key, (member) => member.text());
  return {
    method: record.optional('method', (method) => method.word(METHODS)),
    predicate_type: text('predicate_type'),
    builder_id: text('builder_id'),
    source_repo: text('source_repo'),
    source_ref: text('source_ref'),
    workflow_uri: text('workflow_uri'),
    issuer: text('issuer'),
    identity: text('identity'),
    verified: record.get('verified').boolean(),
    verified_at: text('verified_at'),
  };
}

/**
 * Writes an `artifact` object in the released program's order; like it, leaves out what is empty or zero.
 * Throws what `readArtifact` would throw for it.
 */
export function writeArtifact({ provenance, tree, ...artifact }: Artifact): JsonObject {
  const inner = provenance && record(PROVENANCE_ORDER, { ...provenance });
  const written = record(ARTIFACT, { ...artifact, provenance: inner, tree: tree && writeTree(tree) });
  readArtifact(strictly(written, ['artifact']));
  return written;
}

/** `verified` stands before `verified_at`, after all the rest. */
const PROVENANCE_ORDER = {
  required: [],
  optional: [...PROVENANCE.optional.slice(0, -1), 'verified', 'verified_at'],
};

function record(
  { required, optional }: { readonly required: readonly string[]; readonly optional: readonly string[] },
  members: Readonly<Record<string, string | number | boolean | JsonObject | null>>,
): JsonObject {
  const entries: [string, JsonValue][] = [];
  for (const key of [...required, ...optional]) {
    const member = members[key];
    if (typeof member === 'number') {
      if (member !== 0) entries.push([key, new JsonNumber(String(member))]);
    } else if (member !== null && member !== undefined && (member !== '' || required.includes(key))) {
      entries.push([key, member]);
    }
  }
  return JsonObject.from(entries);
}
