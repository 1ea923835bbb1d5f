import { toUtf8 } from '@bulla/core/crypto';
import { JsonObject, type JsonValue, memberAt, stringify } from '@bulla/core/json';
import type { NotificationFrame, RequestFrame } from '../../mcp/index.ts';
import { cutItems, cutMembers, type Edit, locate } from '../wire/splice.ts';
import { SUBSCRIPTION_ID } from '../wire/tokens.ts';
import { edited, reread } from './asks.ts';
import { can, type Member } from './members.ts';
import type { HostRequest } from './requests.ts';
import { type Traffic, whenAll } from './traffic.ts';

const URIS = 'resourceSubscriptions';
/** What a host can listen to beside resources, and the capability that tells of it. */
const CHANGES: Readonly<Record<string, string>> = {
  toolsListChanged: 'tools',
  promptsListChanged: 'prompts',
  resourcesListChanged: 'resources',
};

/** What a member gets of a request to listen. */
export interface ListenPart {
  readonly member: Member;
  readonly edits: readonly Edit[];
}

/**
 * Divides a request to listen: each member is asked for the changes that it tells of, and for its own resources. Null
 * for one that cannot be divided, or that no member would have a part of: one link then decides on all of it.
 */
export function splitListen(
  frame: RequestFrame,
  members: readonly Member[],
  ownerOf: (uri: string) => number | null,
): ListenPart[] | null {
  const wanted = locate(frame, 'params', 'notifications');
  if (!(wanted?.value instanceof JsonObject)) return null;
  const { keys, values } = wanted.value;
  if (keys.some((key) => key !== URIS && !Object.hasOwn(CHANGES, key))) return null;
  const uris = wanted.value.get(URIS) ?? [];
  if (!Array.isArray(uris)) return null;
  const owners = uris.map((uri) => (typeof uri === 'string' ? ownerOf(uri) : null));
  if (owners.some((owner) => !members.some(({ index }) => index === owner))) return null;
  const parts = members.flatMap((member): ListenPart[] => {
    const isOwn = (i: number) => owners[i] === member.index;
    const isMeant = (key: string, value: JsonValue) =>
      key === URIS ? owners.some((_, i) => isOwn(i)) : value === true && tells(member, CHANGES[key]!);
    const meant = keys.map((key, i) => isMeant(key, values[i]!));
    if (!meant.includes(true)) return [];
    const at = keys.indexOf(URIS);
    const items = at >= 0 && meant[at] ? cutItems(wanted.span.children![at]!, (i) => !isOwn(i)) : [];
    return [{ member, edits: [...items, ...cutMembers(wanted.span, (i) => !meant[i])] }];
  });
  return parts.length === 0 ? null : parts;
}

function tells(member: Member, capability: string): boolean {
  const known = member.capabilities ?? member.pins.capabilities;
  return can(member, capability) && memberAt(known, [capability, 'listChanged']) === true;
}

/** Limits on the notifications that wait for the acknowledgement: how many, and how long each is. */
const MAX_HELD = 64;
const MAX_HELD_BYTES = 16 * 1024;

/**
 * One subscription of the host at several members (2026-07-28, Subscriptions). The host gets one acknowledgement, once
 * every member has acknowledged its part, and what came before it afterwards. It ends with the last member; one that
 * refuses its part before that ends it at once.
 */
export class Listening {
  readonly #request: HostRequest;
  readonly #traffic: Traffic;
  /** The members that have not acknowledged their part, and those that have. */
  readonly #silent = new Set<Member>();
  readonly #open = new Set<Member>();
  readonly #honoured = new Map<string, JsonValue>();
  readonly #held = new Map<string, Uint8Array>();
  #isAcknowledged = false;
  /** How the last member ended its part without an answer. */
  #cancelled: Uint8Array | null = null;

  constructor(request: HostRequest, traffic: Traffic) {
    this.#request = request;
    this.#traffic = traffic;
  }

  start(frame: RequestFrame, parts: readonly ListenPart[]): void | Promise<void> {
    for (const { member } of parts) this.#silent.add(member);
    return whenAll(
      parts.map(({ member, edits }) =>
        this.#traffic.send(
          this.#request,
          edited(frame, edits),
          member,
          (bytes) => this.#answered(member, bytes),
          { wrote: (bytes) => this.#message(member, bytes), closed: () => this.#closed(member) },
        ),
      ),
    );
  }

  #answered(member: Member, bytes: Uint8Array): void | Promise<void> {
    const isRefusal = !this.#isAcknowledged && reread(bytes).kind === 'error';
    if (!this.#isLast(member) && !isRefusal) return this.#acknowledge();
    const answered = this.#request.answer(this.#traffic.naming(member, bytes));
    this.#traffic.withdraw(this.#request);
    return answered;
  }

  /** The server withdrew its part without an answer. */
  #closed(member: Member): void {
    if (!this.#isLast(member)) return void this.#acknowledge();
    if (this.#cancelled !== null) void this.#request.channel.write(this.#cancelled);
    this.#request.close();
  }

  /** The part of a member has ended. */
  #isLast(member: Member): boolean {
    this.#silent.delete(member);
    this.#open.delete(member);
    return this.#silent.size + this.#open.size === 0;
  }

  #message(member: Member, bytes: Uint8Array): void | Promise<void> {
    const frame = reread(bytes);
    if (frame.kind !== 'notification') return this.#traffic.wrote(member, bytes, this.#request.channel);
    if (frame.method === 'notifications/subscriptions/acknowledged') {
      this.#silent.delete(member);
      this.#open.add(member);
      if (!this.#isAcknowledged) this.#honour(frame);
      return this.#acknowledge();
    }
    if (frame.method === 'notifications/cancelled') {
      const sent = this.#traffic.asks.cancel(member, frame);
      if (sent !== false) return sent;
      this.#cancelled = bytes;
      return;
    }
    if (this.#isAcknowledged || locate(frame, 'params', '_meta', SUBSCRIPTION_ID) === null) {
      return this.#traffic.wrote(member, bytes, this.#request.channel);
    }
    // The same again would tell the host nothing more.
    if (this.#held.size < MAX_HELD && bytes.length <= MAX_HELD_BYTES)
      this.#held.set(Buffer.from(bytes).toString('latin1'), bytes);
  }

  #honour({ params }: NotificationFrame): void {
    const given = params?.get('notifications');
    if (!(given instanceof JsonObject)) return;
    for (const key of Object.keys(CHANGES)) if (given.get(key) === true) this.#honoured.set(key, true);
    const uris = given.get(URIS);
    if (!Array.isArray(uris)) return;
    const known = (this.#honoured.get(URIS) ?? []) as JsonValue[];
    this.#honoured.set(URIS, [...known, ...uris.filter((uri) => typeof uri === 'string')]);
  }

  /** Tells the host what it will hear of, once all members have said it. */
  #acknowledge(): void | Promise<void> {
    if (this.#isAcknowledged || this.#silent.size > 0) return;
    this.#isAcknowledged = true;
    const { channel, idBytes } = this.#request;
    const start = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{${stringify(SUBSCRIPTION_ID)}:`;
    const end = `},"notifications":${stringify(JsonObject.from(this.#honoured))}}}`;
    let written = channel.write(Buffer.concat([toUtf8(start), idBytes, toUtf8(end)]));
    for (const bytes of this.#held.values()) written = channel.write(bytes);
    this.#held.clear();
    return written;
  }
}
