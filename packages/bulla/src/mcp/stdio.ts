import { BullaError } from '@bulla/core/error';
import { writeLine } from '../os/index.ts';
import { type Child, type ChildOptions, startChild, stopChild, within } from './child.ts';
import { DEFAULT_MAX_FRAME_BYTES, type Frame, type FrameOptions, parseFrame, tooLarge } from './frame.ts';
import { Gatherer } from './gather.ts';
import { type Receiver, receiverFailed, type Transport } from './transport.ts';

export interface StdioOptions extends ChildOptions {
  readonly frames?: FrameOptions | undefined;
  /**
   * Told of a line on standard output that does not begin as JSON does. The specification forbids such lines, but
   * servers print banners there and the SDKs skip them, so they are skipped and told here.
   */
  readonly onNoise?: ((line: Uint8Array) => void) | undefined;
  /** How long the server may take to end by itself once its input is closed. Default 2,000 ms. */
  readonly graceMs?: number | undefined;
  /** How long it may take once it was asked to end, before it is killed. Default 2,000 ms. */
  readonly termMs?: number | undefined;
}

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const DEFAULT_GRACE_MS = 2000;
/** How long to wait for the exit code and the last words of a server that closed a pipe, to tell them. */
const LAST_WORDS_MS = 500;

/**
 * Starts a server and speaks with it over its standard streams, one message a line. `ended` tells
 * `MCP_SERVER_ENDED` when the server ended or closed a stream, and `MCP_RECEIVER_FAILED`. Rejects with
 * `MCP_SPAWN_FAILED`, and as `confined` throws.
 */
export async function connectStdio(
  command: string,
  args: readonly string[],
  options: StdioOptions,
  receiver: Receiver,
): Promise<Transport> {
  const child = await startChild(command, args, options);
  let closing: Promise<void> | undefined;
  void read(child, options, {
    frame: (frame) => (closing ? undefined : receiver.frame(frame)),
    refused: (error, bytes) => (closing ? undefined : receiver.refused(error, bytes)),
    ended: (error) => (closing ? undefined : receiver.ended(error)),
  });
  return {
    isPerRequest: false,
    async send(frame, signal) {
      signal?.throwIfAborted();
      await write(child, frame);
    },
    established() {},
    close() {
      closing ??= stopChild(child, options.graceMs ?? DEFAULT_GRACE_MS, options.termMs ?? DEFAULT_GRACE_MS);
      return closing;
    },
  };
}

async function write(child: Child, frame: Frame): Promise<void> {
  const error = await new Promise<Error | null | undefined>((resolve) => {
    writeLine(child.stdin, frame.bytes, resolve);
  });
  if (error) throw await ended(child, 'closed its standard input');
}

async function ended(child: Child, otherwise: string): Promise<BullaError> {
  await within(child.closed, LAST_WORDS_MS);
  const { code, signal } = await Promise.race([child.exit, { code: null, signal: null }]);
  const what =
    code !== null ? `ended with exit code ${code}` : signal !== null ? `was ended by ${signal}` : otherwise;
  const words = child.lastWords();
  return new BullaError(
    'MCP_SERVER_ENDED',
    `The server ${what}.${words === null ? '' : ` It last wrote on standard error: ${words}`}`,
  );
}

/** Reads lines until standard output ends. Of a line over the limit nothing is kept, and the next one is read again. */
async function read(child: Child, options: StdioOptions, receiver: Receiver): Promise<void> {
  const maxBytes = options.frames?.maxBytes ?? DEFAULT_MAX_FRAME_BYTES;
  const line = new Gatherer(maxBytes);
  const keep = (part: Uint8Array): void => {
    const wasOver = line.isOver;
    line.add(part);
    if (line.isOver && !wasOver) receiver.refused(tooLarge(maxBytes), null);
  };
  const takeChunk = async (chunk: Buffer): Promise<void> => {
    let start = 0;
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      const part = chunk.subarray(start, end);
      start = end + 1;
      let whole: Uint8Array | null = part;
      // Most lines are whole in one chunk, and need no copy.
      if (!line.isEmpty || part.length > maxBytes) {
        keep(part);
        whole = line.take();
      }
      // Without a promise to wait for, the lines of one chunk are taken at once.
      const pending = whole && take(whole, options, receiver);
      if (pending) await pending;
    }
    keep(chunk.subarray(start));
  };
  let failure: BullaError | null = null;
  try {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      failure = await takeChunk(chunk).then(() => null, receiverFailed);
      if (failure !== null) break;
    }
  } catch {} // the pipe broke, which is as good as its end
  receiver.ended(failure ?? (await ended(child, 'closed its standard output')));
}

function take(bytes: Uint8Array, options: StdioOptions, receiver: Receiver): void | Promise<void> {
  const first = bytes.findIndex((byte) => byte !== SPACE && byte !== TAB && byte !== CR);
  if (first < 0) return;
  if (!LIKE_JSON.test(latin1(bytes.subarray(first, first + 64)))) {
    options.onNoise?.(bytes);
    return;
  }
  let frame: Frame;
  try {
    frame = parseFrame(bytes, options.frames);
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    receiver.refused(error, bytes);
    return;
  }
  return receiver.frame(frame);
}

/** An object, or an array that could be a batch, or a byte order mark; `[info] ready` is none of these. */
const LIKE_JSON = /^(?:\{|\[[ \t\r]*(?:[{[\]]|$)|\xef\xbb\xbf)/;

function latin1({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1');
}
