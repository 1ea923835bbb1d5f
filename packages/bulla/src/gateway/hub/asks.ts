import { toUtf8 } from '@bulla/core/crypto';
import {
  Exchange,
  type Frame,
  type Id,
  idKey,
  type NotificationFrame,
  parseFrame,
  type RequestFrame,
  type Waiting,
} from '../../mcp/index.ts';
import type { Host } from '../peer/channel.ts';
import { type Edit, locate, replace, splice } from '../wire/splice.ts';
import { idOf } from '../wire/tokens.ts';
import type { Member } from './members.ts';

/** A request of a server, which its link gave to the hub to send to the host. */
interface Ask extends Waiting {
  readonly id: Id;
  readonly member: Member;
  /** Where it was sent. */
  readonly to: Host;
}

/** A message of the host, and the member that it is for. */
export interface Addressed {
  readonly member: Member;
  readonly frame: Frame;
}

/**
 * The requests of all servers to the host, under ids and progress tokens of the hub's own: two servers may use the same.
 */
export class Asks {
  readonly #exchange = new Exchange<Ask>();

  /** Sends a request of a member to the host. */
  send(member: Member, frame: RequestFrame, to: Host): void | Promise<void> {
    const ask: Ask = { id: frame.id, scope: scopeOf(member), member, to };
    // A link has no two open requests under one id.
    this.#exchange.take(ask);
    const id = toUtf8(this.#exchange.assign(ask).lexeme);
    const edits = [replace(locate(frame, 'id')!, id)];
    const token = locate(frame, 'params', '_meta', 'progressToken');
    if (token !== null) edits.push(replace(token, id));
    return to.write(splice(frame.bytes, edits));
  }

  /** Sends that a member withdraws a request. False when it has no such request. */
  cancel(member: Member, frame: NotificationFrame): false | void | Promise<void> {
    const id = idOf(frame.params ?? undefined, 'requestId');
    const ask = id === null ? undefined : this.#exchange.find('asker', id, scopeOf(member));
    if (ask === undefined) return false;
    const shown = toUtf8(this.#exchange.idOf(ask)!.lexeme);
    this.#exchange.free(ask);
    return ask.to.write(splice(frame.bytes, [replace(locate(frame, 'params', 'requestId')!, shown)]));
  }

  /** The answer of the host as the member expects it; `late` when nobody waits for it, null when nobody asked. */
  answered(frame: Extract<Frame, { kind: 'result' | 'error' }>): Addressed | 'late' | null {
    const ask = this.#exchange.settle(frame.id);
    if (typeof ask === 'string') return ask === 'late' ? ask : null;
    this.#exchange.free(ask);
    return { member: ask.member, frame: edited(frame, [replace(locate(frame, 'id')!, ownId(ask))]) };
  }

  /** The host's progress with a request, as the member expects it; null where it belongs to none. */
  progressed(frame: NotificationFrame): Addressed | null {
    const token = idOf(frame.params ?? undefined, 'progressToken');
    const ask = token === null ? undefined : this.#exchange.find('other', token);
    if (ask === undefined) return null;
    const place = locate(frame, 'params', 'progressToken')!;
    return { member: ask.member, frame: edited(frame, [replace(place, ownId(ask))]) };
  }
}

const scopeOf = ({ index }: Member): string => `${index}:`;
/** The id that the link gave, which is also its progress token. */
const ownId = ({ id }: Ask): Uint8Array => toUtf8(idKey(id));

/** A message with edits, read again. */
export function edited<F extends Frame>(frame: F, edits: readonly Edit[]): F {
  return edits.length === 0 ? frame : (reread(splice(frame.bytes, edits)) as F);
}

/** Reads what a link wrote. */
export function reread(bytes: Uint8Array): Frame {
  return parseFrame(bytes, { maxBytes: bytes.length });
}
