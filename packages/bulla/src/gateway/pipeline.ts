import { toUtf8 } from '@bulla/core/crypto';
import type { BullaError } from '@bulla/core/error';
import { JsonNumber } from '@bulla/core/json';
import {
  type ErrorFrame,
  Exchange,
  type Frame,
  type Id,
  idKey,
  type NotificationFrame,
  notificationFrame,
  parseFrame,
  quote,
  type RequestFrame,
  type ResultFrame,
  requestFrame,
  type Transport,
  type Waiting,
} from '../mcp/index.ts';
import { checkAll } from './answers/contents.ts';
import type { Context } from './context.ts';
import { asDenial, Denial, denialBytes, RPC } from './denial.ts';
import { Flows } from './flows.ts';
import { notification, serverRequest } from './gates/methods.ts';
import { checkParams, checkTwins } from './gates/params.ts';
import { resourceItems } from './gates/pinned.ts';
import { tellFailure } from './notices.ts';
import type { Channel, Host } from './peer/channel.ts';
import { idIn } from './peer/host.ts';
import { bytesOf, type Located, locate, replace, splice } from './wire/splice.ts';
import { idOf, isToken, SUBSCRIPTION_ID } from './wire/tokens.ts';
import type { Request } from './wire/wire.ts';

type Side = 'host' | 'server';

/** A request of the server that was forwarded to the host. */
interface ServerRequest extends Waiting {
  readonly idBytes: Uint8Array;
  /** The progress token that the server gave with it, byte for byte. */
  readonly tokenBytes: Uint8Array | null;
  /** Where it was sent. */
  readonly to: Host;
  /** Takes the answer to a request of our own, which the server does not see. */
  readonly answered: ((answer: ResultFrame | ErrorFrame) => void) | null;
}

const MAX_SERVER_REQUESTS = 256;

/**
 * Routes every message between host and server through the checks that may change or stop it. While a promise is
 * pending, the side that sent the message is not read.
 */
export class Pipeline {
  readonly #context: Context;
  readonly #server: Pick<Transport, 'send'>;
  readonly #flows: Flows;
  readonly #serverRequests = new Exchange<ServerRequest>();

  constructor(context: Context, server: Pick<Transport, 'send'>) {
    this.#context = context;
    this.#server = server;
    this.#flows = new Flows(context);
  }

  /** `channel` is the way back for what it brings about. */
  fromHost(frame: Frame, channel: Channel): void | Promise<void> {
    return this.#guarded('host', frame, channel, () => {
      if (frame.kind === 'request') return this.#flows.start(frame, channel);
      if (frame.kind === 'notification') return this.#fromHost(frame, channel);
      const match = this.#serverRequests.settle(frame.id);
      if (match === 'late') return;
      if (typeof match === 'string') return this.#unasked('host', match);
      this.#serverRequests.free(match);
      if (match.answered !== null) return match.answered(frame);
      return this.#send(frame, splice(frame.bytes, [replace(locate(frame, 'id')!, match.idBytes)]));
    });
  }

  /** `on` is the id of the request on whose stream it came, where requests have streams of their own. */
  fromServer(frame: Frame, on?: Id): void | Promise<void> {
    return this.#guarded('server', frame, null, () => {
      const about = on === undefined ? undefined : this.#context.wire.find(on);
      if (frame.kind === 'request') return this.#serverRequest(frame, about);
      if (frame.kind === 'notification') return this.#fromServer(frame, about);
      const found = this.#context.wire.settle(frame);
      return typeof found === 'string' ? this.#unasked('server', found) : found;
    });
  }

  /** An internal error refuses the message, and the session goes on. */
  #guarded(
    from: Side,
    frame: Frame | null,
    channel: Channel | null,
    handle: () => void | Promise<void>,
  ): void | Promise<void> {
    try {
      return handle()?.catch((error) => this.#broke(from, frame, channel, error));
    } catch (error) {
      return this.#broke(from, frame, channel, error);
    }
  }

  /** The host closed the way back of some of its requests, which cancels them. */
  gone(channel: Channel): void {
    this.#context.wire.gone(channel);
  }

  /** A request of the host that was taken in is answered elsewhere; the id of another may be that of an open one. */
  #broke(from: Side, frame: Frame | null, channel: Channel | null, error: unknown): void | Promise<void> {
    tellFailure(this.#context, `from ${from}`, error);
    const isRequest = frame?.kind === 'request';
    if (channel === null) {
      return isRequest ? this.#refuseServer(toUtf8(idKey(frame.id)), asDenial(error)) : undefined;
    }
    if (isRequest || frame === null) return channel.answer(denialBytes(null, asDenial(error)));
  }

  /** Invalid frame from the host: answer with an error, keep the session. */
  refusedFromHost(error: BullaError, bytes: Uint8Array, channel: Channel): void | Promise<void> {
    return this.#guarded('host', null, channel, () => {
      const rpc = error.code === 'MCP_FRAME_JSON' ? RPC.parse : RPC.invalid;
      // The parser's message quotes the host, which is not for a record.
      this.#drop(new Denial('frame', error.code, 'The host sent an invalid message.'), 'host', error.code);
      const id = rpc === RPC.invalid ? idIn(bytes) : null;
      // Under the id of an open request, the host would take it for the answer to that one.
      const isClear = id !== null && !this.#context.wire.isTaken(id, channel.scope);
      const denial = new Denial('frame', error.code, error.message, { rpc });
      return channel.answer(denialBytes(isClear ? toUtf8(idKey(id)) : null, denial));
    });
  }

  /** Invalid frame from the server: drop it; the waiting caller gets the error. */
  refusedFromServer(error: BullaError, bytes: Uint8Array | null): void | Promise<void> {
    return this.#guarded('server', null, null, () => {
      // The parser's message holds text of the server, which is not for a model.
      const message = `The server sent an invalid message (${error.code}).`;
      const denial = new Denial('frame', 'GATEWAY_BAD_ANSWER', message, { cause: error });
      this.#drop(denial, 'server', error.message);
      return this.#context.wire.settleUnread(bytes === null ? null : idIn(bytes), denial);
    });
  }

  /** A line of the server that does not begin as JSON does. */
  noise(): void {
    const message = 'The server printed a line that is not a JSON-RPC message.';
    const denial = new Denial('frame', 'GATEWAY_NOISE', message);
    void this.#guarded('server', null, null, () => this.#drop(denial, 'server', ''));
  }

  /** Fails every open request: nothing more comes from the server, or is waited for. */
  end(denial: Denial): void {
    this.#context.wire.end(denial);
  }

  /** A list changed, as this notification tells: what was read of it does not count any more. */
  changed(method: string): void {
    this.#context.offers.changed(method);
  }

  /**
   * The server ended and will be started again: fails what was asked of it, withdraws what it asked, and forgets what it
   * offered.
   */
  reset(denial: Denial): void {
    const { offers, wire, log } = this.#context;
    log(`${denial.message} It is started again when it is needed. [${denial.code}]`);
    offers.forget();
    for (const request of this.#serverRequests.open()) if (request.answered === null) this.#withdraw(request);
    wire.reset(denial);
  }

  /** Tells the host that nobody waits for its answer any more. */
  #withdraw(request: ServerRequest): void {
    const requestId = this.#serverRequests.idOf(request);
    this.#serverRequests.free(request);
    if (requestId === null) return;
    void request.to.write(notificationFrame('notifications/cancelled', { requestId }).bytes);
  }

  /** Sends the host a request of our own. Rejects where too many are open, and when the signal is aborted. */
  async askHost(
    to: Host,
    method: string,
    params: object,
    signal: AbortSignal,
  ): Promise<ResultFrame | ErrorFrame> {
    const requests = this.#serverRequests;
    if (requests.size >= MAX_SERVER_REQUESTS)
      throw new Denial('ids', 'GATEWAY_OVERLOADED', 'Too many requests to the host are open.');
    const { promise, resolve, reject } = Promise.withResolvers<ResultFrame | ErrorFrame>();
    const request: ServerRequest = {
      ...{ id: null, idBytes: new Uint8Array(), tokenBytes: null, to, answered: resolve },
    };
    requests.take(request);
    const onAbort = (): void => {
      if (requests.isOpen(request)) this.#withdraw(request);
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort);
    try {
      if (signal.aborted) onAbort();
      else await to.write(requestFrame(requests.assign(request), method, params).bytes);
      return await promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Resolves when everything that was begun is recorded and answered. */
  async idle(): Promise<void> {
    await this.#flows.idle();
    await this.#context.record.settled();
  }

  /** It goes to the host with what belongs to the request that it is about, if that is known. */
  #serverRequest(frame: RequestFrame, about: Request | undefined): void | Promise<void> {
    const { features, session, host, pins } = this.#context;
    const place = locate(frame, 'id')!;
    const token = locate(frame, 'params', '_meta', 'progressToken');
    const request: ServerRequest = {
      id: frame.id,
      idBytes: Uint8Array.from(bytesOf(frame, place)),
      tokenBytes: token !== null && isToken(token.value) ? Uint8Array.from(bytesOf(frame, token)) : null,
      to: about?.channel ?? host,
      answered: null,
    };
    const requests = this.#serverRequests;
    try {
      serverRequest(frame.method, features);
      checkAll(frame.params, [], pins);
      if (!session.isEstablished) {
        const message = 'A server may send requests only in an initialized session.';
        throw new Denial('session', 'GATEWAY_SESSION', message);
      }
      if (requests.size >= MAX_SERVER_REQUESTS || !requests.take(request)) {
        throw new Denial('ids', 'GATEWAY_ID_IN_USE', 'The id is in use, or too many requests are open.');
      }
    } catch (error) {
      const denial = asDenial(error);
      this.#drop(denial, 'server', frame.method);
      return this.#refuseServer(request.idBytes, denial);
    }
    try {
      const id = toUtf8(requests.assign(request).lexeme);
      const tokens = request.tokenBytes === null ? [] : [replace(token!, id)];
      return request.to.write(splice(frame.bytes, [replace(place, id), ...tokens]));
    } catch (error) {
      requests.free(request);
      throw error;
    }
  }

  #fromHost(frame: NotificationFrame, { scope }: Channel): void | Promise<void> {
    const { features, session, wire } = this.#context;
    try {
      const { carries, params } = notification('host', frame.method, features);
      checkParams(frame.params, params);
      if (carries === 'request') {
        const place = cancelled(frame);
        const ours = wire.cancel(place.value as Id, scope);
        if (ours === null) return;
        return this.#send(frame, splice(frame.bytes, [replace(place, toUtf8(idKey(ours)))]));
      }
      if (carries === 'token') {
        const id = idOf(frame.params ?? undefined, 'progressToken');
        const request = id === null ? undefined : this.#serverRequests.find('other', id);
        return this.#send(frame, this.#withToken(frame, request));
      }
      if (frame.method === 'notifications/initialized' && !session.isEstablished) {
        throw unrelated('The session was not initialized.');
      }
      return this.#send(frame, frame.bytes);
    } catch (error) {
      this.#drop(asDenial(error), 'host', frame.method);
    }
  }

  #fromServer(frame: NotificationFrame, about: Request | undefined): void | Promise<void> {
    const { features, offers, pins, wire, host } = this.#context;
    offers.changed(frame.method);
    try {
      const { carries, params } = notification('server', frame.method, features);
      checkTwins(frame.params, params);
      if (carries !== 'subscription') checkAll(frame.params, [], pins);
      if (frame.method === 'notifications/resources/updated') this.#checkUpdated(frame);
      if (carries === 'request') return this.#cancelledByServer(frame);
      if (carries === 'token') {
        const id = idOf(frame.params ?? undefined, 'progressToken');
        const request = id === null ? undefined : (wire.progress(id) ?? undefined);
        const bytes = this.#withToken(frame, request);
        return request!.channel.write(bytes);
      }
      if (carries === 'subscription') return this.#subscribed(frame);
      return (about?.channel ?? host).write(frame.bytes);
    } catch (error) {
      this.#drop(asDenial(error), 'server', frame.method);
    }
  }

  /** The bytes of a notification of progress with the token of whoever sent the request. Throws a denial for none. */
  #withToken(frame: NotificationFrame, request: Request | ServerRequest | undefined): Uint8Array {
    const bytes = request?.tokenBytes ?? null;
    if (bytes === null) throw unrelated('The progress belongs to no open request.');
    return splice(frame.bytes, [replace(locate(frame, 'params', 'progressToken')!, bytes)]);
  }

  /** The updated resource may be a part of what the host subscribed to, but must be one that it could read. */
  #checkUpdated({ params }: NotificationFrame): void {
    const uri = params?.get('uri');
    if (typeof uri !== 'string') throw unrelated('It names no resource.');
    if (this.#context.enforce.calls) resourceItems(uri, this.#context.pins);
  }

  /** The server withdraws a request of its own, or ends a subscription. */
  #cancelledByServer(frame: NotificationFrame): void | Promise<void> {
    const place = cancelled(frame);
    const id = place.value as Id;
    const request = this.#serverRequests.find('asker', id);
    const ours = request && this.#serverRequests.idOf(request);
    if (request !== undefined) this.#serverRequests.free(request);
    if (request && ours) return request.to.write(splice(frame.bytes, [replace(place, toUtf8(ours.lexeme))]));
    const subscription = this.#context.wire.subscription(id, true);
    if (subscription === null) throw unrelated('The request is not open.');
    const { channel, idBytes } = subscription;
    const written = channel.write(splice(frame.bytes, [replace(place, idBytes)]));
    channel.close();
    return written;
  }

  /** In the stateless era the notification says to which request of the host it belongs. */
  #subscribed(frame: NotificationFrame): void | Promise<void> {
    const { session, wire, host } = this.#context;
    const place = locate(frame, 'params', '_meta', SUBSCRIPTION_ID);
    if (place === null) {
      if (!session.isEstablished) throw unrelated('The host has not subscribed to it.');
      return host.write(frame.bytes);
    }
    const id = idOf(frame.params?.get('_meta'), SUBSCRIPTION_ID);
    const subscription = id === null ? null : wire.subscription(id, false);
    if (subscription === null) throw unrelated('The subscription is not open.');
    return subscription.channel.write(splice(frame.bytes, [replace(place, subscription.idBytes)]));
  }

  #refuseServer(id: Uint8Array, denial: Denial): Promise<void> {
    const bytes = denialBytes(id, denial);
    return this.#send(parseFrame(bytes), bytes);
  }

  /** Sends to the server. That it is gone is noticed by the reader of its output. */
  async #send(frame: Frame, bytes: Uint8Array): Promise<void> {
    await this.#server.send({ ...frame, bytes }).catch(() => {});
  }

  #unasked(from: Side, match: 'duplicate' | 'unknown'): void {
    const denial =
      match === 'duplicate'
        ? new Denial('ids', 'GATEWAY_ANSWER_DUPLICATE', `The ${from} answered a request twice.`)
        : new Denial('ids', 'GATEWAY_ANSWER_UNKNOWN', `The ${from} answered a request that was never made.`);
    this.#drop(denial, from, '');
  }

  /** A message that nobody is answered for: it is recorded, and the operator is told the first time. */
  #drop(denial: Denial, from: Side, key: string): void {
    const method = `from ${from}`;
    // The messages are ours, and few: a flood of one kind hides no other, and one side does not hide the other.
    const budget = `${from} ${denial.stage} ${denial.code} ${denial.message}`;
    const isNew = this.#context.record.incident({ denial, method, key: `${from} ${key}`, budget });
    const what = key === '' || key === denial.code ? '' : ` (${quote(key)})`;
    if (isNew)
      this.#context.log(`dropped a message from the ${from}${what}: ${denial.message} [${denial.code}]`);
  }
}

/** Where a notification names the request that it cancels. Throws a denial for one that names none. */
function cancelled(frame: NotificationFrame): Located {
  const place = locate(frame, 'params', 'requestId');
  if (place !== null && (typeof place.value === 'string' || place.value instanceof JsonNumber)) return place;
  throw unrelated('It names no request.');
}

function unrelated(message: string): Denial {
  return new Denial('ids', 'GATEWAY_UNRELATED', message);
}
