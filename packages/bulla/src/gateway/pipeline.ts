import { toUtf8 } from '@bulla/core/crypto';
import type { BullaError } from '@bulla/core/error';
import {
  Exchange,
  type Frame,
  idKey,
  type NotificationFrame,
  parseFrame,
  quote,
  type RequestFrame,
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
import { idIn } from './peer/host.ts';
import { bytesOf, locate, replace, splice } from './wire/splice.ts';
import { idOf, SUBSCRIPTION_ID, tokenOf } from './wire/tokens.ts';

type Side = 'host' | 'server';

/** A request of the server that was forwarded to the host. */
interface ServerRequest extends Waiting {
  readonly idBytes: Uint8Array;
  readonly token: string | null;
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

  fromHost(frame: Frame): void | Promise<void> {
    return this.#guarded('host', frame, () => {
      if (frame.kind === 'request') return this.#flows.start(frame);
      if (frame.kind === 'notification') return this.#notification('host', frame);
      const match = this.#serverRequests.settle(frame.id);
      if (match === 'late') return;
      if (typeof match === 'string') return this.#unasked('host', match);
      this.#serverRequests.free(match);
      return this.#send(frame, splice(frame.bytes, [replace(locate(frame, 'id')!, match.idBytes)]));
    });
  }

  fromServer(frame: Frame): void | Promise<void> {
    return this.#guarded('server', frame, () => {
      if (frame.kind === 'request') return this.#serverRequest(frame);
      if (frame.kind === 'notification') return this.#notification('server', frame);
      const found = this.#context.wire.settle(frame);
      return typeof found === 'string' ? this.#unasked('server', found) : found;
    });
  }

  /** An internal error refuses the message, and the session goes on. */
  #guarded(from: Side, frame: Frame | null, handle: () => void | Promise<void>): void | Promise<void> {
    try {
      return handle()?.catch((error) => this.#broke(from, frame, error));
    } catch (error) {
      return this.#broke(from, frame, error);
    }
  }

  /** A request of the host that was taken in is answered elsewhere; the id of another may be that of an open one. */
  #broke(from: Side, frame: Frame | null, error: unknown): void | Promise<void> {
    tellFailure(this.#context, `from ${from}`, error);
    const isRequest = frame?.kind === 'request';
    if (from === 'server') {
      return isRequest ? this.#refuseServer(toUtf8(idKey(frame.id)), asDenial(error)) : undefined;
    }
    if (isRequest || frame === null) return this.#context.host.write(denialBytes(null, asDenial(error)));
  }

  /** Invalid frame from the host: answer with an error, keep the session. */
  refusedFromHost(error: BullaError, bytes: Uint8Array): void | Promise<void> {
    return this.#guarded('host', null, () => {
      const rpc = error.code === 'MCP_FRAME_JSON' ? RPC.parse : RPC.invalid;
      // The parser's message quotes the host, which is not for a record.
      this.#drop(new Denial('frame', error.code, 'The host sent an invalid message.'), 'host', error.code);
      const id = rpc === RPC.invalid ? idIn(bytes) : null;
      // Under the id of an open request, the host would take it for the answer to that one.
      const isClear = id !== null && !this.#context.wire.isTaken(id);
      const denial = new Denial('frame', error.code, error.message, { rpc });
      return this.#context.host.write(denialBytes(isClear ? toUtf8(idKey(id)) : null, denial));
    });
  }

  /** Invalid frame from the server: drop it; the waiting caller gets the error. */
  refusedFromServer(error: BullaError, bytes: Uint8Array | null): void | Promise<void> {
    return this.#guarded('server', null, () => {
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
    void this.#guarded('server', null, () => this.#drop(denial, 'server', ''));
  }

  /** Fails every open request: nothing more comes from the server, or is waited for. */
  end(denial: Denial): void {
    this.#context.wire.end(denial);
  }

  /** Resolves when everything that was begun is recorded and answered. */
  async idle(): Promise<void> {
    await this.#flows.idle();
    await this.#context.record.settled();
  }

  #serverRequest(frame: RequestFrame): void | Promise<void> {
    const { features, session, host, pins } = this.#context;
    const place = locate(frame, 'id')!;
    const request: ServerRequest = {
      id: frame.id,
      idBytes: Uint8Array.from(bytesOf(frame, place)),
      token: tokenOf(frame.params?.get('_meta'), 'progressToken'),
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
      return host.write(splice(frame.bytes, [replace(place, id)]));
    } catch (error) {
      requests.free(request);
      throw error;
    }
  }

  #notification(from: Side, frame: NotificationFrame): void | Promise<void> {
    const { features, offers, pins, session, wire, host } = this.#context;
    if (from === 'server') offers.changed(frame.method);
    try {
      const { carries, params } = notification(from, frame.method, features);
      if (from === 'host') checkParams(frame.params, params);
      else checkTwins(frame.params, params);
      if (from === 'server' && carries !== 'subscription') checkAll(frame.params, [], pins);
      if (frame.method === 'notifications/resources/updated') this.#checkUpdated(frame);
      if (carries === 'request') return this.#cancelled(from, frame);
      if (carries === 'token') {
        const token = tokenOf(frame.params ?? undefined, 'progressToken');
        const isOpen =
          from === 'server'
            ? token !== null && wire.progress(token)
            : this.#serverRequests.open().some((request) => request.token === token);
        if (token === null || !isOpen) throw unrelated('The progress belongs to no open request.');
      }
      if (carries === 'subscription') return this.#subscribed(frame);
      if (frame.method === 'notifications/initialized' && !session.isEstablished) {
        throw unrelated('The session was not initialized.');
      }
      return from === 'host' ? this.#send(frame, frame.bytes) : host.write(frame.bytes);
    } catch (error) {
      this.#drop(asDenial(error), from, frame.method);
    }
  }

  /** The updated resource may be a part of what the host subscribed to, but must be one that it could read. */
  #checkUpdated({ params }: NotificationFrame): void {
    const uri = params?.get('uri');
    if (typeof uri !== 'string') throw unrelated('It names no resource.');
    if (this.#context.enforce.calls) resourceItems(uri, this.#context.pins);
  }

  /** The cancelled request has another id on the other side. */
  #cancelled(from: Side, frame: NotificationFrame): void | Promise<void> {
    const { wire, host } = this.#context;
    const place = locate(frame, 'params', 'requestId');
    const id = idOf(frame.params ?? undefined, 'requestId');
    if (place === null || id === null) throw unrelated('It names no request.');
    if (from === 'host') {
      const ours = wire.cancel(id);
      if (ours === null) return;
      return this.#send(frame, splice(frame.bytes, [replace(place, toUtf8(idKey(ours)))]));
    }
    const request = this.#serverRequests.find('asker', id);
    const ours = request && this.#serverRequests.idOf(request);
    if (request !== undefined) this.#serverRequests.free(request);
    const theirs = ours ? toUtf8(ours.lexeme) : wire.subscription(id, true);
    if (theirs === null) throw unrelated('The request is not open.');
    return host.write(splice(frame.bytes, [replace(place, theirs)]));
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
    const theirs = id === null ? null : wire.subscription(id, false);
    if (theirs === null) throw unrelated('The subscription is not open.');
    return host.write(splice(frame.bytes, [replace(place, theirs)]));
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

function unrelated(message: string): Denial {
  return new Denial('ids', 'GATEWAY_UNRELATED', message);
}
