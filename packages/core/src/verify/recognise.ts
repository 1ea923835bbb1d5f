import { readSnapshot } from '../capability/index.ts';
import { fromBase64url, fromUtf8, parseCheckpointBody, parseNote } from '../crypto/index.ts';
import { AUTHORIZATION_TYPE, parseEnvelope, parsePolicy, readAuthorization } from '../envelope/index.ts';
import { attempt, BullaError } from '../error.ts';
import { JsonObject, parse } from '../json/index.ts';
import { readBundle, readLock, readSignature } from '../lock/index.ts';
import { parseProof } from '../log/index.ts';
import { ManifestError, readBindings, validateManifest } from '../manifest/index.ts';
import { type Artifact, KINDS, type Kind } from './artifact.ts';
import { latin1, openBytes, SQLITE_MAGIC } from './source.ts';

export interface RecogniseOptions {
  /** The label of the artifact, for reports. Default none. */
  readonly name?: string;
  /** The kind that the caller says it is; nothing else is then considered. */
  readonly as?: Kind;
}

/**
 * Decides what bytes are and reads them. What they are called decides nothing. Throws `VERIFY_UNRECOGNISED`,
 * `VERIFY_AMBIGUOUS` for what two kinds claim, and the codes of the reader for what claims to be a chain, a manifest or a
 * capability envelope and cannot be read: `CHAIN_SOURCE…`, `JSON_…`, `CAPABILITY_…`.
 */
export function recognise(bytes: Uint8Array, options: RecogniseOptions = {}): Artifact {
  const look = lookAt(bytes);
  const { as } = options;
  const [kind, other] = as === undefined ? KINDS.filter((candidate) => CLAIMS[candidate](look)) : [as];
  if (kind === undefined) throw unrecognised(look);
  // Of a broken document nothing is good, whatever it was to be.
  if (other !== undefined && look.root !== 'broken') {
    const message = `This could be read as two kinds of artifact: ${kind}, ${other}.`;
    throw new BullaError('VERIFY_AMBIGUOUS', message);
  }
  return { kind, name: options.name ?? '', ...READERS[kind](look, options) } as Artifact;
}

function unrecognised({ bytes, start }: Look): BullaError {
  const message =
    bytes.length === 0
      ? 'The file is empty.'
      : start.startsWith(SQLITE_MAGIC)
        ? 'This is a SQLite database, which is read from a file.'
        : 'This is no artifact that Bulla knows.';
  return new BullaError('VERIFY_UNRECOGNISED', message);
}

/** What bytes look like from outside. All kinds are told apart by this, and by nothing else. */
interface Look {
  readonly bytes: Uint8Array;
  /** The beginning, in Latin-1. */
  readonly start: string;
  /** The text, where it ends with a line of a note's signatures; else null. */
  readonly note: string | null;
  /**
   * The JSON object that they are, read leniently to see what it claims to be; `broken` for what begins as one and
   * cannot be read, of which nothing can be good; null for everything else, also for several documents in a row.
   */
  readonly root: JsonObject | 'broken' | null;
}

function lookAt(bytes: Uint8Array): Look {
  return { bytes, start: latin1(bytes.subarray(0, 1 << 16)), note: noteIn(bytes), root: rootOf(bytes) };
}

function rootOf(bytes: Uint8Array): JsonObject | 'broken' | null {
  if (bytes.find((byte) => byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) !== 0x7b)
    return null;
  const root = attempt(() => parse(bytes, { allow: ['duplicate-keys', 'lone-surrogates', 'non-finite'] }));
  if (root instanceof BullaError) return root.code === 'JSON_TRAILING_DATA' ? null : 'broken';
  return root instanceof JsonObject ? root : null;
}

/** More than any note, checkpoint or proof has. */
const MAX_NOTE = 1 << 20;

function noteIn(bytes: Uint8Array): string | null {
  if (bytes.length > MAX_NOTE) return null;
  const text = attempt(() => fromUtf8(bytes));
  return typeof text === 'string' && /\n\n(?:\u2014 [^\n]*\n)+$/.test(text) ? text : null;
}

function hasAll({ root }: Look, ...members: readonly string[]): boolean {
  return root instanceof JsonObject && members.every((name) => root.has(name));
}

/** Whether they are a JSON object with any of these members, or a broken one that speaks of them. */
function hasAny({ root, bytes }: Look, ...members: readonly string[]): boolean {
  if (root === null) return false;
  if (root !== 'broken') return members.some((name) => root.has(name));
  const text = latin1(bytes);
  return members.some((name) => text.includes(`"${name}"`));
}

const isProof = ({ start }: Look) => start.startsWith('c2sp.org/tlog-proof@');

function isCheckpoint({ note }: Look): boolean {
  return note !== null && !(attempt(() => parseCheckpointBody(parseNote(note).text)) instanceof BullaError);
}

function isAuthorization({ root }: Look): boolean {
  const signatures = root instanceof JsonObject ? root.get('signatures') : undefined;
  if (!Array.isArray(signatures)) return false;
  return signatures.some((each) => {
    const header = each instanceof JsonObject ? each.get('protected') : undefined;
    if (typeof header !== 'string') return false;
    const bytes = attempt(() => fromBase64url(header));
    return bytes instanceof Uint8Array && latin1(bytes).includes(AUTHORIZATION_TYPE);
  });
}

/** The released program's signature is a line of hex digits, behind a header or alone. */
function isLockSignature(look: Look): boolean {
  if (hasAll(look, 'payloadType', 'payload', 'signatures')) return true;
  if (
    look.bytes.length > 4096 ||
    !/^\s*(?:\{[^\n]*"canon_version"[^\n]*\n\s*)?[0-9A-Fa-f]{128}\s*$/.test(look.start)
  )
    return false;
  return !(attempt(() => readSignature(look.bytes)) instanceof BullaError);
}

/** They have no member of their own: every member names a server and a tool, and nothing else. No member: nothing is bound. */
function isBindings({ root }: Look): boolean {
  if (!(root instanceof JsonObject)) return false;
  return root.values.every(
    (bound) => bound instanceof JsonObject && bound.size === 2 && bound.has('server') && bound.has('tool'),
  );
}

/** YAML, of which JSON is a part; the key stands at the beginning of a line. */
function isRules(look: Look): boolean {
  return hasAll(look, 'rules') || (look.root === null && /(?:^|\n)rules:\s/.test(look.start));
}

function isCapsules({ root, start }: Look): boolean {
  if (root instanceof JsonObject) return root.has('signature') || root.has('capsules');
  // The empty list is one, so that it can be told that it holds nothing.
  return /^\s*[[{]/.test(start) && (/"signature"\s*:/.test(start) || /^\s*\[\s*\]\s*$/.test(start));
}

/** Whether bytes claim to be of a kind; they may still be bad. */
const CLAIMS: Readonly<Record<Kind, (look: Look) => boolean>> = {
  'log proof': isProof,
  checkpoint: (look) => !isProof(look) && isCheckpoint(look),
  'signed note': (look) => look.note !== null && !isProof(look) && !isCheckpoint(look),
  bundle: ({ start }) => start.startsWith('PK\u0003\u0004'),
  lockfile: (look) => hasAny(look, 'lockFileVersion', 'server_command'),
  'lock signature': isLockSignature,
  'execution envelope': (look) => hasAll(look, 'policy_binding', 'action_type'),
  authorization: isAuthorization,
  'capability envelope': (look) =>
    hasAll(look, 'schemaVersion', 'runtime') || hasAll(look, 'staticHash', 'runtimeHash', 'toolRefs'),
  manifest: (look) => hasAny(look, 'permission_scopes', 'capability_flags'),
  bindings: isBindings,
  rules: isRules,
  'execution policy': (look) => hasAll(look, 'policy_namespace', 'policy_doc'),
  capsules: isCapsules,
};

type Contents<K extends Kind> = Omit<Artifact<K>, 'kind' | 'name'>;

const READERS: { readonly [K in Kind]: (look: Look, options: RecogniseOptions) => Contents<K> } = {
  'log proof': ({ bytes }) => ({ proof: attempt(() => parseProof(bytes)) }),
  checkpoint: ({ note }) => ({ note: note!, checkpoint: parseCheckpointBody(parseNote(note!).text) }),
  'signed note': ({ note }) => ({ note: note! }),
  bundle: ({ bytes }) => ({ bundle: attempt(() => readBundle(bytes)) }),
  lockfile: ({ bytes }) => ({ bytes, lock: attempt(() => readLock(bytes)) }),
  'lock signature': ({ bytes }) => ({ bytes }),
  'execution envelope': ({ bytes }) => ({ envelope: attempt(() => parseEnvelope(bytes)) }),
  authorization: ({ bytes }) => ({ bytes, claims: attempt(() => readAuthorization(bytes)) }),
  'capability envelope': ({ bytes }) => ({ snapshot: readSnapshot(bytes) }),
  manifest({ bytes }) {
    const report = validateManifest(bytes);
    const error = report.manifest === null ? new ManifestError(report) : undefined;
    if (error?.code.startsWith('JSON_')) throw error;
    return { report };
  },
  bindings: ({ bytes, root }) => ({
    bindings: attempt(() => readBindings(bytes, root instanceof JsonObject ? root.keys : [])),
  }),
  rules: ({ bytes }) => ({ bytes }),
  'execution policy': ({ bytes }) => ({ policy: attempt(() => parsePolicy(bytes)) }),
  capsules({ bytes }, { name }) {
    const source = openBytes(name || 'The input', bytes);
    if (source.format !== 'capsule') return { source, capsule: null };
    const capsule = attempt(() => parse(bytes));
    return { source, capsule: capsule instanceof JsonObject ? capsule : bytes };
  },
};
