import type { Writable } from 'node:stream';
import { BullaError } from '@bulla/core/error';

/** Where a command writes. */
export interface Output extends Writable {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

interface Outputs {
  readonly stdout: Output;
  readonly stderr: Output;
}

let swapped: Outputs | null = null;

/** The streams of this run of a command: those of the process, unless somebody runs commands inside their own. */
export const streams: Outputs = {
  get stdout() {
    return swapped?.stdout ?? process.stdout;
  },
  get stderr() {
    return swapped?.stderr ?? process.stderr;
  },
};

/** Puts other streams in their place; null gives back those of the process. */
export function swapStreams(outputs: Outputs | null): void {
  swapped = outputs;
}

const watched = new WeakSet<Output>();
const gone = new WeakSet<Output>();

/** Whether the reader of this stream has gone away, so that whoever writes much can stop. */
export function isGone(stream: Output): boolean {
  return gone.has(stream);
}

/**
 * Writes, and waits until it is taken. When the reader has gone away (`| head -1`), nothing is written any more and the
 * command goes on to its verdict, because its exit code still tells something. Rejects with `OUTPUT_UNWRITABLE` when
 * nothing can be written for another reason, such as a full disk.
 */
export function write(stream: Output, data: string | Uint8Array): Promise<void> {
  if (!watched.has(stream)) {
    watched.add(stream);
    // The callback below gets the same error; without a listener it would end the process.
    stream.on('error', () => undefined);
  }
  if (gone.has(stream)) return Promise.resolve();
  return new Promise((resolve, reject) => {
    stream.write(data, (error) => {
      if (!error) resolve();
      else if (isClosed(error as NodeJS.ErrnoException)) {
        gone.add(stream);
        resolve();
      } else {
        const { code } = error as NodeJS.ErrnoException;
        reject(
          new BullaError('OUTPUT_UNWRITABLE', `The output cannot be written (${code}).`, { cause: error }),
        );
      }
    });
  });
}

function isClosed({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EPIPE' || code === 'ECONNRESET' || code === 'ERR_STREAM_DESTROYED' || code === 'EOF';
}
