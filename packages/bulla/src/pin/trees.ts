import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { BullaError } from '@bulla/core/error';
import type { Layout } from './layout.ts';
import type { Contents, PackedFile } from './untar.ts';

// Unpacked trees are kept in one folder, each under the digest of what it was unpacked from. A tree proves nothing by
// lying there: whoever uses it compares every byte with the tarballs, whose hashes are in the lock. Nobody writes into
// a tree: it is made under another name, gets its own by a rename, and is taken away by another rename.

const DRAFT = 'draft-';
const DAY_MS = 86_400_000;
/** Nobody works on a draft for that long. */
const DRAFT_MS = DAY_MS;
/** A tree that nobody started for that long is removed when another one is unpacked. */
const UNUSED_MS = 30 * DAY_MS;
/** A process that uses a tree says so as often. */
const TOUCH_MS = DAY_MS / 4;

/** Files are read-only; folders are not, so that whoever wants to can remove them in the usual way. */
const FOLDER_MODE = 0o700;
const modeOf = ({ isProgram }: PackedFile) => (isProgram ? 0o500 : 0o400);

type Draft = ReturnType<typeof newDraft>;

/**
 * A new folder for a tree, which is removed when this process ends, unless it became one before. Throws
 * `PIN_INSTALL_FAILED`, and so does `write`.
 */
export function newDraft(trees: string) {
  const folder = draftIn(trees);
  const discard = () => {
    process.off('exit', discard);
    removeTree(folder);
  };
  writing(folder, () => mkdirSync(folder, { mode: FOLDER_MODE }));
  process.on('exit', discard);
  return {
    folder,
    write(path: string, { folders, files }: Contents): void {
      const root = join(folder, path);
      for (const name of ['', ...folders]) {
        const made = join(root, name);
        writing(made, () => mkdirSync(made, { recursive: true, mode: FOLDER_MODE }));
      }
      for (const [name, file] of files) {
        const written = join(root, name);
        writing(written, () => writeFileSync(written, file.bytes, { flag: 'wx', mode: modeOf(file) }));
      }
    },
    discard,
  };
}

function draftIn(trees: string): string {
  return join(trees, `${DRAFT}${randomBytes(12).toString('hex')}`);
}

function writing(path: string, act: () => void): void {
  try {
    act();
  } catch (cause) {
    throw new BullaError('PIN_INSTALL_FAILED', `${path} cannot be written in ${dirname(path)}.`, { cause });
  }
}

/** Gives a draft its name. False if there is a tree of that name. Throws `PIN_INSTALL_FAILED`. */
export function settle({ folder }: Draft, tree: string): boolean {
  try {
    renameSync(folder, tree);
    return true;
  } catch (cause) {
    if (lstatSync(tree, { throwIfNoEntry: false }) !== undefined) return false;
    throw new BullaError('PIN_INSTALL_FAILED', `${tree} cannot be made.`, { cause });
  }
}

/** Takes a tree away, for whatever reason. A program that runs from it may lose what it has not loaded yet. */
export function takeAway(tree: string): void {
  const aside = draftIn(dirname(tree));
  try {
    renameSync(tree, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw new BullaError('PIN_INSTALL_FAILED', `${tree} cannot be taken away.`, { cause: error });
  }
  removeTree(aside);
}

function removeTree(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** Compares a tree with what it must be, package by package; `done` tells the first difference, or null. */
export function compareTree(tree: string) {
  let difference: string | null = null;
  return {
    take(path: string, { files }: Contents): void {
      for (const [name, file] of files) {
        if (difference !== null) return;
        if (!isAsPacked(join(tree, path, name), file)) difference = `${path}/${name} is not as it was packed`;
      }
    },
    done(layout: Layout): string | null {
      try {
        return difference ?? extraIn(tree, layout);
      } catch {
        return 'it cannot be read';
      }
    },
  };
}

function isAsPacked(path: string, file: PackedFile): boolean {
  let descriptor: number;
  try {
    // Without waiting for whoever writes into a pipe.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return false;
  }
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.size !== file.bytes.length || !isOurs(stats, modeOf(file))) return false;
    return holds(descriptor, file.bytes);
  } catch {
    return false;
  } finally {
    closeSync(descriptor);
  }
}

/** Comparing makes no garbage: there are thousands of files. */
const scratch = Buffer.alloc(1 << 18);

/** Whether a file holds these bytes and ends there. */
function holds(descriptor: number, bytes: Buffer): boolean {
  for (let at = 0; ; ) {
    const length = readSync(descriptor, scratch, 0, scratch.length, at);
    if (length === 0) return at === bytes.length;
    if (!scratch.subarray(0, length).equals(bytes.subarray(at, at + length))) return false;
    at += length;
  }
}

function isOurs({ uid, mode }: Stats, expected: number): boolean {
  if (process.platform === 'win32') return true;
  return uid === process.getuid!() && (mode & 0o7777) === expected;
}

/** What lies in a tree and should not, or the other way round. */
function extraIn(tree: string, { files, folders }: Layout): string | null {
  let seen = 0;
  const entries = readdirSync(tree, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(tree.length + 1).replaceAll(sep, '/');
    const isExpected = entry.isDirectory() ? folders.has(name) : entry.isFile() && files.has(name);
    if (!isExpected) return `${name} was not packed`;
    if (entry.isDirectory() && !isOurs(lstatSync(path), FOLDER_MODE)) return `${name} has another mode`;
    seen++;
  }
  if (!isOurs(lstatSync(tree), FOLDER_MODE)) return 'it has another mode';
  return seen === files.size + folders.size ? null : 'something is missing';
}

/** Says that a tree is used, so that nobody removes it soon. */
export function touch(tree: string): void {
  try {
    const now = new Date();
    utimesSync(tree, now, now);
  } catch {} // it is not there, or the disk is read-only: nothing hangs on it
}

/** Says it again and again, until the tree is no longer used. */
export function use(tree: string): () => void {
  touch(tree);
  const timer = setInterval(touch, TOUCH_MS, tree).unref();
  return () => clearInterval(timer);
}

/** Removes trees that nobody used for long, and what was left by a process that was killed. What fails is left. */
export function collect(trees: string, now: number): void {
  for (const name of readdirSync(trees)) {
    const path = join(trees, name);
    const maxAge = name.startsWith(DRAFT) ? DRAFT_MS : TREE.test(name) ? UNUSED_MS : Number.POSITIVE_INFINITY;
    try {
      if (now - lstatSync(path).mtimeMs > maxAge) takeAway(path);
    } catch {} // another process was faster
  }
}

const TREE = /^[0-9a-f]{64}$/;
