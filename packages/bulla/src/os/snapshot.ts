import {
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { fileError, readUpTo } from './file.ts';
import { copyStandardInput } from './stdin.ts';

/** What SQLite keeps beside a database: records that are committed and not in the file itself yet. */
const WAL = '-wal';

/** A copy that nobody else can change or read, and that is gone when it is removed. */
interface Snapshot {
  readonly path: string;
  /** Whether a write-ahead log of SQLite was copied with it. */
  readonly wal: boolean;
  remove(): void;
}

/**
 * Copies a file, and the write-ahead log of a database beside it, to a folder of our own; `-` is standard input. Throws
 * `CHAIN_SOURCE_MISSING`, and `INPUT_UNREADABLE` for what cannot be read or copied.
 */
export function snapshot(file: string): Snapshot {
  const isInput = file === '-';
  if (!isInput && !existsSync(file))
    throw new BullaError('CHAIN_SOURCE_MISSING', `There is no file ${file}.`);
  const folder = mkdtempSync(join(tmpdir(), 'bulla-snapshot-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const path = join(folder, isInput ? 'input' : basename(file));
  const copy = (ending: string) => {
    copyFileSync(`${file}${ending}`, `${path}${ending}`);
    // A read-only file stays read-only in its copy, which SQLite must be able to open.
    chmodSync(`${path}${ending}`, 0o600);
  };
  try {
    if (isInput) {
      copyStandardInput(path);
      return { path, wal: false, remove };
    }
    if (!statSync(file).isFile()) {
      copyPipe(file, path);
      return { path, wal: false, remove };
    }
    copy('');
    const wal = existsSync(`${file}${WAL}`);
    if (wal) copy(WAL);
    return { path, wal, remove };
  } catch (cause) {
    remove();
    throw fileError('INPUT_UNREADABLE', isInput ? 'Standard input' : file, 'read', cause);
  }
}

/** The most that is copied from a pipe such as `<(command)`. */
const MAX_PIPE = 1 << 30;

function copyPipe(from: string, to: string): void {
  const file = openSync(from, 'r');
  try {
    const bytes = readUpTo(file, MAX_PIPE);
    if (bytes === null) throw Object.assign(new Error('too large'), { code: 'EFBIG' });
    writeFileSync(to, bytes, { mode: 0o600, flag: 'wx' });
  } finally {
    closeSync(file);
  }
}
