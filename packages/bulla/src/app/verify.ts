import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { BullaError } from '@bulla/core/error';
import { JsonObject, parse } from '@bulla/core/json';
import {
  type Artifact,
  recognise,
  type SegmentRunner,
  SQLITE_MAGIC,
  type Trace,
  type Trust,
  trace,
  type Verdict,
  verifyArtifact,
} from '@bulla/core/verify';
import { openSource, runnerFor } from '../chain/index.ts';
import { signatureBeside } from '../locks/index.ts';
import { naming, readInput } from '../os/index.ts';
import { readLockFile } from './locked.ts';

/** A lockfile that was named as one, and the signature that was named with it. */
interface NamedLock {
  readonly file: string;
  /** Default: what lies beside the lock. */
  readonly signature?: string | undefined;
}

/** The verdict on a file, or why it cannot be read. */
type FileVerdict = { readonly file: string } & (
  | { readonly verdict: Verdict }
  | { readonly error: BullaError }
);

/**
 * Reads files once, recognises what they hold, and verifies each by itself and against the others. `-` is standard
 * input. Gives one result a file, in their order, the lock last.
 */
export async function* verifyFiles(
  files: readonly string[],
  trust: Trust,
  lock?: NamedLock,
): AsyncGenerator<FileVerdict> {
  const found: { file: string; artifact: Artifact | BullaError }[] = files.map((file) => ({
    file,
    artifact: attempt(() => openArtifact(file)),
  }));
  if (lock !== undefined) found.push({ file: lock.file, artifact: attempt(() => openLock(lock)) });
  const artifacts = found.flatMap(({ artifact }) => (artifact instanceof BullaError ? [] : artifact));
  for (const { file, artifact } of found) {
    if (artifact instanceof BullaError) yield { file, error: artifact };
    else yield { file, verdict: await verifyArtifact(artifact, artifacts, trust, runner(artifact)) };
  }
}

/**
 * Walks from a capsule, by its id or hash, to everything that it rests on among these files. Throws `TRACE_NO_RECORD`,
 * `EVIDENCE_INVALID`, and for a file that cannot be read or recognised what `recognise` throws.
 */
export function traceFiles(capsule: string, files: readonly string[], trust: Trust): Promise<Trace> {
  const artifacts = files.map((file) => naming(file, () => openArtifact(file)));
  return trace(capsule, artifacts, trust);
}

function attempt<T>(action: () => T): T | BullaError {
  try {
    return action();
  } catch (error) {
    if (error instanceof BullaError) return error;
    throw error;
  }
}

function runner(artifact: Artifact): SegmentRunner | undefined {
  return artifact.kind === 'capsules' ? runnerFor(artifact.source) : undefined;
}

/** The artifact in a file. Throws `INPUT_…`, and what `recognise` and `openSource` throw. */
function openArtifact(file: string): Artifact {
  if (isSqlite(file)) return { kind: 'capsules', name: file, source: openSource(file), capsule: null };
  const bytes = readInput(file, 'chain');
  const artifact = attempt(() => recognise(bytes, { name: file }));
  if (artifact instanceof BullaError) throw isKeyring(bytes) ? keyring(artifact) : artifact;
  return artifact.kind === 'lockfile' && file !== '-'
    ? withSignature(artifact, signatureBeside(file))
    : artifact;
}

function openLock({ file, signature }: NamedLock): Artifact {
  return withSignature(
    recognise(readLockFile(file), { name: file, as: 'lockfile' }) as Artifact<'lockfile'>,
    signature === undefined
      ? signatureBeside(file)
      : { path: signature, bytes: readInput(signature, 'signature') },
  );
}

function withSignature(
  lock: Artifact<'lockfile'>,
  signature: { path: string; bytes: Uint8Array } | null,
): Artifact<'lockfile'> {
  return signature === null ? lock : { ...lock, signature: { name: signature.path, bytes: signature.bytes } };
}

/** More than any keyring has. */
const MAX_KEYRING = 1 << 20;

function isKeyring(bytes: Uint8Array): boolean {
  const root = bytes.length > MAX_KEYRING ? undefined : attempt(() => parse(bytes));
  return root instanceof JsonObject && root.has('active_epoch');
}

function keyring({ code }: BullaError): BullaError {
  const message = 'This is a keyring, which other files are verified with; name it with --keyring.';
  return new BullaError(code, message);
}

/** A database is not read into memory: its records are read from the file. */
function isSqlite(file: string): boolean {
  if (file === '-' || !statSync(file, { throwIfNoEntry: false })?.isFile()) return false;
  let opened: number;
  try {
    opened = openSync(file, 'r');
  } catch {
    return false; // whoever reads it says why it cannot be read
  }
  try {
    const start = Buffer.alloc(SQLITE_MAGIC.length);
    return readSync(opened, start) === start.length && start.toString('latin1') === SQLITE_MAGIC;
  } catch {
    return false; // the same
  } finally {
    closeSync(opened);
  }
}
