import { type Id, idKey, type RequestFrame } from '../../mcp/index.ts';
import type { Channel } from '../peer/channel.ts';
import { bytesOf, locate } from '../wire/splice.ts';
import type { Member } from './members.ts';

/** What comes back for the part of a request that a member has. */
export interface LegHandler {
  /** A message that belongs to the request. */
  wrote(bytes: Uint8Array): void | Promise<void>;
  answered(bytes: Uint8Array): void | Promise<void>;
  /** No answer will come. */
  closed(): void;
}

/** The part of a host's request that one member has; to its link, it is the way back to the host. */
export class Leg implements Channel {
  /** Each leg is a scope of its own, because the hub itself tells the host's ids apart. */
  readonly scope: string;
  readonly member: Member;
  readonly #request: HostRequest;
  readonly #handler: LegHandler;
  #isOver = false;

  constructor(scope: string, member: Member, request: HostRequest, handler: LegHandler) {
    this.scope = scope;
    this.member = member;
    this.#request = request;
    this.#handler = handler;
  }

  write(bytes: Uint8Array): void | Promise<void> {
    if (!this.#request.isOver) return this.#handler.wrote(bytes);
  }

  answer(bytes: Uint8Array): void | Promise<void> {
    if (!this.#end()) return;
    if (!this.#request.isOver) return this.#handler.answered(bytes);
    // The answer was on its way when the host cancelled.
    if (this.#request.isCancelled) this.#request.channel.close();
  }

  get isGone(): boolean {
    return this.#request.isCancelled || (this.#request.channel.isGone ?? false);
  }

  close(): void {
    if (this.#end() && !this.#request.isOver) this.#handler.closed();
  }

  #end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#request.legs.delete(this);
    return true;
  }
}

/** An open request of the host. */
export class HostRequest {
  readonly method: string;
  /** The host's id, byte for byte. */
  readonly idBytes: Uint8Array;
  readonly channel: Channel;
  /** The open parts of it. */
  readonly legs = new Set<Leg>();
  readonly #free: () => void;
  #isOver = false;
  #isCancelled = false;

  constructor(frame: RequestFrame, channel: Channel, free: () => void) {
    this.method = frame.method;
    this.idBytes = Uint8Array.from(bytesOf(frame, locate(frame, 'id')!));
    this.channel = channel;
    this.#free = free;
  }

  /** Whether the host has its answer, or wants none any more. */
  get isOver(): boolean {
    return this.#isOver;
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  answer(bytes: Uint8Array): void | Promise<void> {
    if (this.#end()) return this.channel.answer(bytes);
  }

  close(): void {
    if (this.#end()) this.channel.close();
  }

  /** The host wants no answer any more. */
  cancel(): void {
    this.#isCancelled = this.#end();
  }

  /** The host may use the id again. False if it could before. */
  #end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#free();
    return true;
  }
}

/** The open requests of the host, by its own ids. */
export class HostRequests {
  readonly #open = new Map<string, HostRequest>();
  #legs = 0;

  /** Takes a request in; null when the host has another one open under the same id. */
  take(frame: RequestFrame, channel: Channel): HostRequest | null {
    const key = keyOf(frame.id, channel);
    if (this.#open.has(key)) return null;
    const request = new HostRequest(frame, channel, () => void this.#open.delete(key));
    this.#open.set(key, request);
    return request;
  }

  find(id: Id, channel: Channel): HostRequest | undefined {
    return this.#open.get(keyOf(id, channel));
  }

  /** The requests whose way back this is. */
  on(channel: Channel): HostRequest[] {
    return [...this.#open.values()].filter((request) => request.channel === channel);
  }

  leg(request: HostRequest, member: Member, handler: LegHandler): Leg {
    const leg = new Leg(`${this.#legs++}:`, member, request, handler);
    request.legs.add(leg);
    return leg;
  }
}

function keyOf(id: Id, { scope }: Channel): string {
  return `${JSON.stringify(scope)} ${idKey(id)}`;
}
