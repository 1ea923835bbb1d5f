/**
 * The way back to the host for one of its messages. Over standard streams all messages share one; over HTTP each has
 * its own response.
 */
export interface Channel {
  /** Ids and progress tokens of the host's requests tell them apart among the requests of one scope. */
  readonly scope: string;
  /** Sends a message that belongs to the request. A promise to wait for when the way is full. */
  write(bytes: Uint8Array): void | Promise<void>;
  /** Sends the answer: nothing comes after it. */
  answer(bytes: Uint8Array): void | Promise<void>;
  /** No answer will come. */
  close(): void;
  /** Whether nothing reaches the host any more, as far as that is known. */
  readonly isGone?: boolean;
}

/** Sends messages to the host that belong to none of its requests. */
export interface Host {
  write(bytes: Uint8Array): void | Promise<void>;
}
