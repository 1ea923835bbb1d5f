import { closeSync, openSync, readSync } from 'node:fs';
import { realDisk } from './disk.ts';
import { readParts } from './file.ts';

const PART = 64 * 1024;
const WAIT_MS = 5;

/** A program that runs commands inside itself puts its own input here; null is the input of the process. */
let source: Uint8Array | null = null;
let isRead = false;

/** Lets the next reader take these bytes for standard input; null gives back the input of the process. */
export function takeStandardInput(bytes: Uint8Array | null): void {
  source = bytes;
  isRead = false;
}

/**
 * All of standard input, however slowly it comes; null when it is more than `maxBytes`, of which no more is read. It can
 * be read once: a second time throws `EALREADY`, because one input cannot stand for two files.
 */
export function readStandardInput(maxBytes: number, readPart = fromProcess): Uint8Array | null {
  once();
  if (source !== null) return source.length > maxBytes ? null : source;
  return readParts(readPart, maxBytes);
}

/** Writes all of standard input to a new file of our own. It can be read once, as {@link readStandardInput} says. */
export function copyStandardInput(path: string): void {
  once();
  const file = openSync(path, 'wx', 0o600);
  try {
    const part = Buffer.allocUnsafe(PART);
    if (source !== null) realDisk.write(file, source);
    else
      for (let count = fromProcess(part); count > 0; count = fromProcess(part))
        realDisk.write(file, part.subarray(0, count));
  } finally {
    closeSync(file);
  }
}

function once(): void {
  if (isRead) throw Object.assign(new Error('standard input was read before'), { code: 'EALREADY' });
  isRead = true;
}

const waiting = new Int32Array(new SharedArrayBuffer(4));

/** Pipes and terminals are often not blocking: where there is nothing yet, this tries again until there is. */
function fromProcess(buffer: Buffer): number {
  for (;;) {
    try {
      return readSync(0, buffer);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      // Windows tells the end of a pipe in this way.
      if (code === 'EOF') return 0;
      if (code !== 'EAGAIN' && code !== 'EINTR') throw error;
      Atomics.wait(waiting, 0, 0, WAIT_MS);
    }
  }
}
