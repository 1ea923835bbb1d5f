import { createHash, randomBytes } from 'node:crypto';
import { closeSync, fstatSync, readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { parseNote } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type Checkpoint, parseCheckpointBody } from '@bulla/core/log';
import {
  accessFile,
  createDirectory,
  fileError,
  isThere,
  LIMITS,
  openFound,
  readFound,
  realDisk,
  writeNewFile,
} from '../os/index.ts';

/**
 * The checkpoints of one origin in a file outside the database, a line of JSON each, so that a database that was
 * set back is recognised. Lines are only ever added. A line that a crash cut off is not JSON, and was never
 * acknowledged.
 */
export interface CheckpointFile {
  /** Adds a checkpoint; resolves when it is durable. Rejects with `CHECKPOINT_FILE`. */
  add(note: string, madeAt: Date): Promise<void>;
  /** The longest of the newest ones, or null. Throws `CHECKPOINT_FILE` for a file that cannot be read. */
  newest(): Checkpoint | null;
  /** The newest ones as they were signed, up to a thousand. Throws `CHECKPOINT_FILE`. */
  recent(): readonly string[];
}

/** A folder of such files. */
export function checkpointFolder(folder: string): {
  of(origin: string): CheckpointFile;
  /** The default name of the operator: chosen once at random, and kept in the folder. */
  operator(): string;
} {
  return {
    of: (origin) => checkpointFile(join(folder, fileName(origin)), folder),
    operator: () => guarded(folder, () => readOrMakeOperator(folder)),
  };
}

/** Origins are names of logs, often with slashes; very long ones are named by their hash. */
function fileName(origin: string): string {
  const name = encodeURIComponent(origin);
  const short = name.length <= 200 ? name : createHash('sha256').update(origin).digest('hex');
  return `${short}.checkpoints`;
}

function readOrMakeOperator(folder: string): string {
  const file = join(folder, 'operator');
  if (!isThere(file)) {
    createDirectory(folder);
    const draft = join(folder, `operator.${process.pid}.${randomBytes(4).toString('hex')}`);
    try {
      writeNewFile(realDisk, draft, Buffer.from(`bulla-${randomBytes(8).toString('hex')}\n`));
      realDisk.link(draft, file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    } finally {
      realDisk.remove(draft);
    }
    realDisk.syncDirectory(folder);
  }
  const operator = Buffer.from(readFound(file, LIMITS.key) ?? []).toString('utf8');
  if (/^[^\s+/]+\n$/.test(operator)) return operator.trimEnd();
  throw new BullaError('CHECKPOINT_FILE', `${file} does not hold the name of an operator.`);
}

/** How much of the end of a file is read to find the newest checkpoint, and the newest thousand. */
const TAIL = 64 * 1024;
const LONG_TAIL = LIMITS.signature;

function checkpointFile(path: string, folder: string): CheckpointFile {
  return {
    async add(note, madeAt) {
      const line = JSON.stringify({ made_at: madeAt.toISOString(), checkpoint: note });
      try {
        const isNew = !isThere(path);
        if (isNew) createDirectory(folder);
        // Waiting for the disk must not keep the next records waiting, so this is done on another thread.
        const file = await open(path, 'a+', 0o600);
        try {
          // A line that was cut off before stays on a line of its own.
          await file.appendFile(`${(await endsWithNewline(file)) ? '' : '\n'}${line}\n`);
          await file.sync();
        } finally {
          await file.close();
        }
        if (isNew) realDisk.syncDirectory(folder);
      } catch (cause) {
        throw fileError('CHECKPOINT_FILE', path, 'used', cause);
      }
    },
    newest() {
      if (!guarded(path, () => isThere(path))) return null;
      const lines = guarded(path, () => readTail(path, TAIL)).split('\n');
      const known = lines.flatMap((line) => readLine(line)?.checkpoint ?? []);
      if (known.length === 0 && lines.length > 1)
        throw new BullaError('CHECKPOINT_FILE', `${path} holds no checkpoint that can be read.`);
      return known.reduce<Checkpoint | null>((a, b) => (a === null || b.size >= a.size ? b : a), null);
    },
    recent() {
      if (!guarded(path, () => isThere(path))) return [];
      return (readCheckpointLines(guarded(path, () => readTail(path, LONG_TAIL))) ?? []).slice(-1000);
    },
  };
}

/** All checkpoints in the text of such a file, in order; null for text that is none. */
export function readCheckpointLines(text: string): string[] | null {
  const notes = text.split('\n').flatMap((line) => readLine(line)?.note ?? []);
  return notes.length === 0 ? null : notes;
}

function readLine(line: string): { note: string; checkpoint: Checkpoint } | null {
  try {
    const { checkpoint: note } = JSON.parse(line) as { checkpoint: string };
    return { note, checkpoint: parseCheckpointBody(parseNote(note).text) };
  } catch {
    return null;
  }
}

function readTail(path: string, most: number): string {
  const file = openFound(path);
  try {
    const { size } = fstatSync(file);
    const from = Math.max(0, size - most);
    const bytes = Buffer.alloc(size - from);
    readSync(file, bytes, 0, bytes.length, from);
    return bytes.toString('utf8');
  } finally {
    closeSync(file);
  }
}

async function endsWithNewline(file: FileHandle): Promise<boolean> {
  const { size } = await file.stat();
  if (size === 0) return true;
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0] === 0x0a;
}

function guarded<T>(path: string, work: () => T): T {
  return accessFile('CHECKPOINT_FILE', path, 'used', work);
}
