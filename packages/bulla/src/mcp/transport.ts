import type { Code } from '@bulla/core/codes';
import { BullaError } from '@bulla/core/error';
import type { ErrorFrame, Frame, Id } from './frame.ts';

/** What a transport tells its owner. */
export interface Receiver {
  /**
   * A message came; over HTTP perhaps on the stream of the answer to the request `on`. While the promise is pending,
   * nothing more is read from the stream that it came on. Where it fails, the conversation ends with
   * `MCP_RECEIVER_FAILED`.
   */
  frame(frame: Frame, on?: Id): void | Promise<void>;
  /** An invalid message came; its bytes are given unless they were too many to hold. */
  refused(error: BullaError, bytes: Uint8Array | null): void;
  /** Nothing will come any more. Called at most once, and not after `close`. */
  ended(error: BullaError): void;
}

/**
 * Gives a message to its receiver. Throws or rejects with `MCP_RECEIVER_FAILED` where the receiver fails, so that
 * nobody takes that for something that the server did.
 */
export function deliver(receiver: Receiver, frame: Frame, on?: Id): void | Promise<void> {
  try {
    return receiver.frame(frame, on)?.catch((error) => {
      throw receiverFailed(error);
    });
  } catch (error) {
    throw receiverFailed(error);
  }
}

export function receiverFailed(cause: unknown): BullaError {
  const why = cause instanceof Error ? ` (${quote(cause.message)})` : '';
  const message = `A message of the server could not be handled${why}.`;
  return new BullaError('MCP_RECEIVER_FAILED', message, { cause });
}

/** Carries messages to and from one server. */
export interface Transport {
  /** Whether every request has a stream of its own: it lasts until the answer, and closing it cancels the request. */
  readonly isPerRequest: boolean;
  /**
   * Sends a message. Resolves when it is delivered; over HTTP a request is delivered when the answer to it was
   * given to the receiver. Rejects with an `MCP_…` code when that failed, and with the signal's reason when it was
   * aborted, which over HTTP closes the stream of the answer.
   */
  send(frame: Frame, signal?: AbortSignal): Promise<void>;
  /**
   * Tells that the handshake of the initialize era is done. Over HTTP the version then stands in a header of every
   * message, and with `listen` the server's own stream is opened.
   */
  established(protocolVersion: string, listen: boolean): void;
  /** Ends the conversation and waits until nothing of it is left. Never rejects. */
  close(): Promise<void>;
}

export type Connect = (receiver: Receiver) => Promise<Transport>;

/** The server answered a request with a JSON-RPC error. */
export class RpcError extends BullaError {
  readonly rpc: ErrorFrame['error'];

  constructor(method: string, rpc: ErrorFrame['error']) {
    super('MCP_ERROR_ANSWER', `The server answered ${method} with error ${rpc.code}: ${quote(rpc.message)}.`);
    this.rpc = rpc;
  }
}

/** The server answered a message with an unsuccessful HTTP status. */
export class HttpStatusError extends BullaError {
  readonly status: number;
  /** The JSON-RPC error that the body held, if it held one. */
  readonly rpc: ErrorFrame['error'] | null;

  /** The `WWW-Authenticate` header of a 401 or 403. */
  readonly challenge: string | null;

  constructor(
    code: Code,
    message: string,
    status: number,
    rpc: ErrorFrame['error'] | null = null,
    challenge: string | null = null,
  ) {
    super(code, message);
    this.status = status;
    this.rpc = rpc;
    this.challenge = challenge;
  }
}

/** What a server said, made fit for a sentence: in quotes, short, and with nothing that a terminal would obey. */
export function quote(text: string): string {
  const short = text.length > 200 ? `${text.slice(0, 200)}…` : text;
  return JSON.stringify(short).replace(
    /[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  );
}
