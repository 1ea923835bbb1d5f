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

const text = (member: Member) => member.text();

/** The members in the released program's order, each with its reader. */
const ARTIFACT: Readers = {
  type: (member) => member.word(TYPES),
  name: text,
  version: text,
  registry: text,
  integrity: text,
  tarball_url: text,
  tarball_sha256: text,
  tarball_size: (member) => member.natural('bytes'),
  image: text,
  digest: text,
  provenance: (member) => readMembers(member, PROVENANCE, 'verified'),
  tree: readTree,
};
const PROVENANCE: Readers = {
  method: (member) => member.word(METHODS),
  predicate_type: text,
  builder_id: text,
  source_repo: text,
  source_ref: text,
  workflow_uri: text,
  issuer: text,
  identity: text,
  verified: (member) => member.boolean(),
  verified_at: text,
};

type Readers = Readonly<Record<string, (member: Member) => unknown>>;

/** Reads the members of a table; those that are not there are null. Only one of them must be there. */
function readMembers(value: Member, readers: Readers, required: string): Record<string, unknown> {
  const optional = Object.keys(readers).filter((key) => key !== required);
  const record = value.record({ required: [required], optional });
  return Object.fromEntries(Object.entries(readers).map(([key, read]) => [key, record.optional(key, read)]));
}

/**
 * Reads an `artifact` object. Throws `LOCK_FIELD`, `LOCK_CASE_TWIN`, and `LOCK_INCONSISTENT` for a tree that does not
 * have its digest or is of another package.
 */
export function readArtifact(value: Member): Artifact {
  const artifact = readMembers(value, ARTIFACT, 'type') as unknown as Artifact;
  if (artifact.tree !== null) checkRoot(artifact, artifact.tree, value.get('tree').at);
  return artifact;
}

/**
 * Writes an `artifact` object in the released program's order; like it, leaves out what is empty or zero.
 * Throws what `readArtifact` would throw for it.
 */
export function writeArtifact({ provenance, tree, ...artifact }: Artifact): JsonObject {
  const inner = provenance && writeMembers(PROVENANCE, { ...provenance });
  const written = writeMembers(ARTIFACT, { ...artifact, provenance: inner, tree: tree && writeTree(tree) });
  readArtifact(strictly(written, ['artifact']));
  return written;
}

function writeMembers(
  readers: Readers,
  members: Readonly<Record<string, string | number | boolean | JsonObject | null>>,
): JsonObject {
  const entries: [string, JsonValue][] = [];
  for (const key of Object.keys(readers)) {
    const member = members[key] ?? null;
    if (member === null || member === '' || member === 0) continue;
    entries.push([key, typeof member === 'number' ? new JsonNumber(String(member)) : member]);
  }
  return JsonObject.from(entries);
}
