import { closeSync, fstatSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';

/** Every way in which the keyring changes the disk, so that tests can fail each of them. Errors are Node's. */
export interface Disk {
  /** Creates a file that must not exist yet, and opens it. */
  create(path: string, mode: number): number;
  /** Opens a file to write over what it holds. */
  open(path: string): number;
  write(file: number, bytes: Uint8Array): void;
  sync(file: number): void;
  close(file: number): void;
  rename(from: string, to: string): void;
  /** Gives a file a second name, which must not exist yet. */
  link(from: string, to: string): void;
  /** Removes a file; one that is not there is no error. */
  remove(path: string): void;
  /** Makes the names in a directory durable. */
  syncDirectory(path: string): void;
}

export const realDisk: Disk = {
  create: (path, mode) => openSync(path, 'wx', mode),
  open: (path) => openSync(path, 'r+'),
  write(file, bytes) {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
  },
  sync: fsyncSync,
  close: closeSync,
  rename: renameSync,
  link: linkSync,
  remove: (path) => rmSync(path, { force: true }),
  syncDirectory(path) {
    if (process.platform === 'win32') return; // directories cannot be opened there
    const directory = openSync(path, 'r');
    try {
      fsyncSync(directory);
    } finally {
      closeSync(directory);
    }
  },
};

/** Writes a new file whose bytes are durable when this returns; its name is once the directory is synced. */
export function writeNewFile(disk: Disk, path: string, bytes: Uint8Array, mode = 0o600): void {
  const file = disk.create(path, mode);
  try {
    disk.write(file, bytes);
    disk.sync(file);
  } finally {
    disk.close(file);
  }
}

/**
 * Overwrites a file with zeros and removes it. On journalling, copy-on-write and flash storage earlier blocks may
 * survive all the same: no program can promise more from here.
 */
export function eraseFile(disk: Disk, path: string): void {
  const file = disk.open(path);
  try {
    disk.write(file, new Uint8Array(Math.max(32, fstatSync(file).size)));
    disk.sync(file);
  } finally {
    disk.close(file);
  }
  disk.remove(path);
}
