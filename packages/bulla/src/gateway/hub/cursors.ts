import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ListKind } from '@bulla/core/lock';

/** Where a list goes on: in the list of a member, at the cursor of its server or at the beginning. */
export interface Position {
  readonly member: number;
  readonly cursor: string | null;
}

const MAC_BYTES = 16;
/** Limit on the cursor of a server, in bytes. */
const MAX_CURSOR = 64 * 1024;

/**
 * The cursors that a host gets for a list of several servers. Each holds its position under a key of this session, so
 * that none can be made up, taken from another session, or used for another list.
 */
export class Cursors {
  readonly #key = randomBytes(32);

  /** Null for a position whose own cursor is too long. */
  write(kind: ListKind, { member, cursor }: Position): string | null {
    const position = Buffer.from(cursor === null ? `${member}` : `${member}:${cursor}`);
    if (position.length > MAX_CURSOR) return null;
    return Buffer.concat([this.#mac(kind, position), position]).toString('base64url');
  }

  /** Null for what is not exactly a cursor that was written here for this list. */
  read(kind: ListKind, text: string): Position | null {
    if (text.length > 2 * MAX_CURSOR) return null;
    const bytes = Buffer.from(text, 'base64url');
    if (bytes.length <= MAC_BYTES || bytes.toString('base64url') !== text) return null;
    const position = bytes.subarray(MAC_BYTES);
    if (!timingSafeEqual(bytes.subarray(0, MAC_BYTES), this.#mac(kind, position))) return null;
    const [, member, cursor] = /^(\d+)(?::(.*))?$/s.exec(position.toString())!;
    return { member: Number(member), cursor: cursor ?? null };
  }

  #mac(kind: ListKind, position: Uint8Array): Buffer {
    const mac = createHmac('sha256', this.#key).update(`${kind}\0`).update(position).digest();
    return mac.subarray(0, MAC_BYTES);
  }
}
