import { toUtf8 } from '@bulla/core/crypto';
import { JsonObject, memberAt, stringify } from '@bulla/core/json';
import {
  type ErrorFrame,
  type NotificationFrame,
  quote,
  type RequestFrame,
  type ResultFrame,
} from '../../mcp/index.ts';
import { checkContents } from '../answers/contents.ts';
import { asDenial, denialBytes } from '../denial.ts';
import type { Host } from '../peer/channel.ts';
import { type Edit, locate, replace, splice } from '../wire/splice.ts';
import { Asks, reread } from './asks.ts';
import type { Member, Members } from './members.ts';
import { type HostRequest, HostRequests, type LegHandler } from './requests.ts';

export type Answer = ResultFrame | ErrorFrame;

/** What goes to the members and comes back from them, whatever it is about. */
export class Traffic {
  readonly requests = new HostRequests();
  readonly asks = new Asks();
  readonly members: Members;
  readonly log: (line: string) => void;

  constructor(members: Members, log: (line: string) => void) {
    this.members = members;
    this.log = log;
  }

  /** The whole request to one member, the first where none is meant. */
  pass(request: HostRequest, frame: RequestFrame, index: number | null): void | Promise<void> {
    const member = (index === null ? undefined : this.members.at(index)) ?? this.members.first;
    return this.send(request, frame, member, (bytes) => {
      this.#checkForeign(member, bytes);
      return request.answer(this.naming(member, bytes));
    });
  }

  /** A request, or a part of it, to a member. What it says meanwhile goes to the host; if `answered` throws, the request fails. */
  send(
    request: HostRequest,
    frame: RequestFrame,
    member: Member,
    answered: (bytes: Uint8Array) => void | Promise<void>,
    others: Partial<LegHandler> = {},
  ): void | Promise<void> {
    const handler: LegHandler = {
      wrote: (bytes) => this.wrote(member, bytes, request.channel),
      answered: (bytes) => {
        try {
          return answered(bytes);
        } catch (error) {
          return this.fail(request, error);
        }
      },
      closed: () => request.close(),
      ...others,
    };
    return member.link.fromHost(frame, this.requests.leg(request, member, handler));
  }

  /** The same request to some members; `answered` gets what each of them answered, in their order. */
  sendAll(
    request: HostRequest,
    frame: RequestFrame,
    members: readonly Member[],
    answered: (answers: readonly Answer[]) => void | Promise<void>,
  ): void | Promise<void> {
    const answers: Answer[] = [];
    let waiting = members.length;
    const sent = members.map((member, i) =>
      this.send(request, frame, member, (bytes) => {
        answers[i] = reread(bytes) as Answer;
        if (--waiting === 0) return answered(answers);
      }),
    );
    return whenAll(sent);
  }

  /** Answers a request with an error, and withdraws what is open of it. */
  fail(request: HostRequest, error: unknown): void | Promise<void> {
    const denial = asDenial(error);
    const why = denial.cause instanceof Error ? ` (${quote(denial.cause.message)})` : '';
    this.log(`${quote(request.method)}: ${denial.message}${why} [${denial.code}]`);
    const answered = request.answer(denialBytes(request.idBytes, denial));
    this.withdraw(request);
    return answered;
  }

  /** Nobody waits for the answers of members any more. */
  withdraw(request: HostRequest): void {
    for (const leg of request.legs) leg.member.link.gone(leg);
  }

  /** Says in a link's denial which of the servers it was that ended. */
  naming({ ended, key }: Member, bytes: Uint8Array): Uint8Array {
    if (ended === null) return bytes;
    const frame = reread(bytes);
    if (frame.kind !== 'error' || memberAt(frame.error.data, ['code']) !== 'GATEWAY_SERVER_ENDED') {
      return bytes;
    }
    const { message } = frame.error;
    const named = message.replace(/^Bulla: The server\b/, () => `Bulla: The server ${quote(key)}`);
    return splice(bytes, [replace(locate(frame, 'error', 'message')!, toUtf8(stringify(named)))]);
  }

  /**
   * To the host all members are one server, so that none may give content for an address whose content is pinned for
   * another one. Its own link has recorded the outcome before. Throws a denial.
   */
  #checkForeign(member: Member, bytes: Uint8Array): void {
    const others = this.members.all.filter((other) => other !== member && other.pins.hasContents);
    if (others.length === 0) return;
    const answer = reread(bytes) as Answer;
    for (const { pins } of others) checkContents(answer, null, ['structuredContent'], pins);
  }

  /** A message of a member that is no answer, on its way to the host. */
  wrote(member: Member, bytes: Uint8Array, to: Host): void | Promise<void> {
    const frame = reread(bytes);
    if (frame.kind === 'request') return this.asks.send(member, frame, to);
    if (frame.kind === 'notification' && frame.method === 'notifications/cancelled') {
      const sent = this.asks.cancel(member, frame);
      if (sent !== false) return sent;
    }
    if (frame.kind === 'notification' && frame.method === 'notifications/message') {
      return to.write(splice(bytes, loggerEdits(member, frame)));
    }
    return to.write(bytes);
  }
}

/** The name of a log begins with the key of the server whose it is. */
function loggerEdits({ key }: Member, frame: NotificationFrame): Edit[] {
  const logger = locate(frame, 'params', 'logger');
  if (typeof logger?.value === 'string') {
    return [replace(logger, toUtf8(stringify(`${key}/${logger.value}`)))];
  }
  const params = locate(frame, 'params');
  if (logger !== null || !(params?.value instanceof JsonObject)) return [];
  const start = params.span.start + 1;
  const comma = params.value.size === 0 ? '' : ',';
  return [{ start, end: start, bytes: toUtf8(`"logger":${stringify(key)}${comma}`) }];
}

/** A promise to wait for where one of several is. */
export function whenAll(sent: readonly (void | Promise<void>)[]): void | Promise<void> {
  const pending = sent.filter((one) => one !== undefined);
  if (pending.length > 0) return Promise.all(pending).then(() => {});
}
