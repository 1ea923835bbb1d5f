import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { BullaError } from '@bulla/core/error';
import { JsonNumber, lineBatches, memberAt, parse } from '@bulla/core/json';
import { DEFAULT_MAX_FRAME_BYTES, type Frame, type Id, parseFrame } from '../../mcp/index.ts';
import { writeLine } from '../../os/index.ts';
import type { Channel, Host } from './channel.ts';

/** The two ends of the pipe to the host, as a server has them: standard input and output. */
export interface HostStreams {
  readonly input: Readable;
  readonly output: Writable;
}

/** Takes the host's messages. While a promise is pending, nothing more is read. */
export interface HostReceiver {
  frame(frame: Frame): void | Promise<void>;
  refused(error: BullaError, bytes: Uint8Array): void | Promise<void>;
}

/** Reads the host's messages, one a line, until it closes its side. Never rejects: a broken pipe counts as its end. */
export async function readHost(
  input: Readable,
  receiver: HostReceiver,
  maxBytes: number = DEFAULT_MAX_FRAME_BYTES,
): Promise<void> {
  try {
    for await (const batch of lineBatches(input, maxBytes)) {
      for (const line of batch) {
        // Without a promise to wait for, the lines of one chunk are taken at once.
        const pending = isBlank(line) ? undefined : take(line, receiver, maxBytes);
        if (pending) await pending;
      }
    }
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
  }
}

function take(line: Uint8Array, receiver: HostReceiver, maxBytes: number): void | Promise<void> {
  let frame: Frame;
  try {
    frame = parseFrame(line, { maxBytes });
  } catch (error) {
    return receiver.refused(error as BullaError, line);
  }
  return receiver.frame(frame);
}

function isBlank(line: Uint8Array): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}

/** The id in a message that was refused, if one can be read: the waiting caller then gets the error. */
export function idIn(bytes: Uint8Array): Id | null {
  try {
    const id = memberAt(parse(bytes, { allow: ['duplicate-keys', 'lone-surrogates', 'bom'] }), ['id']);
    if (typeof id === 'string' && id.isWellFormed()) return id;
    return id instanceof JsonNumber && /^-?(?:0|[1-9][0-9]*)$/.test(id.lexeme) ? id : null;
  } catch {
    return null;
  }
}

/** Writes messages to the host, whole and in order. */
export class HostWriter implements Channel, Host {
  readonly scope = '';
  readonly #output: Writable;
  readonly #gone = new AbortController();

  constructor(output: Writable) {
    this.#output = output;
    for (const event of ['error', 'close']) output.on(event, () => this.#gone.abort());
  }

  /** Returns a promise to wait for when the pipe is full. Messages to a host that is gone are dropped. */
  write(bytes: Uint8Array): void | Promise<void> {
    if (this.#gone.signal.aborted) return;
    if (!writeLine(this.#output, bytes)) return this.#drained();
  }

  answer(bytes: Uint8Array): void | Promise<void> {
    return this.write(bytes);
  }

  close(): void {}

  get isGone(): boolean {
    return this.#gone.signal.aborted;
  }

  /** Waits no longer than this for a host that does not read; then it counts as gone. */
  hurry(ms: number): void {
    setTimeout(() => this.#gone.abort(), ms).unref();
  }

  /** Resolves when everything is taken, or the host is gone. */
  async flushed(): Promise<void> {
    if (this.#output.writableNeedDrain) await this.#drained();
    while (this.#output.writableLength > 0 && !this.#gone.signal.aborted) await sleep(5);
  }

  async #drained(): Promise<void> {
    await once(this.#output, 'drain', { signal: this.#gone.signal }).catch(() => {});
  }
}
