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
import { bytesOf, placeOf, replace, splice } from './wire/splice.ts';
import { idOf, SUBSCRIPTION_ID, tokenOf } from './wire/tokens.ts';

/** A request of the server that the host was asked. */
interface ServerRequest extends Waiting {
  readonly idBytes: Uint8Array;
  readonly token: string | null;
}

/** Limit on open requests of the server. */
const MAX_ASKED = 256;

/**
 * Where every message goes: those of the host to the server, and those of the server to the host, each past the stages
 * that may change or stop it. While a promise is pending, the side that sent the message is not read.
 */
export class Pipeline {
  readonly #context: Context;
  readonly #server: Pick<Transport, 'send'>;
  readonly #flows: Flows;
  readonly #asked = new Exchange<ServerRequest>();

  constructor(context: Context, server: Pick<Transport, 'send'>) {
    this.#context = context;
    this.#server = server;
    this.#flows = new Flows(context);
  }

  fromHost(frame: Frame): void | Promise<void> {
    return this.#guarded('host', frame, () => this.#fromHost(frame));
  }

  fromServer(frame: Frame): void | Promise<void> {
    return this.#guarded('server', frame, () => this.#fromServer(frame));
  }

  /** Deals with a message. Where we fail at it, it is refused like one that may not pass, and the session goes on. */
  #guarded(
    from: 'host' | 'server',
    frame: Frame | null,
    deal: () => void | Promise<void>,
  ): void | Promise<void> {
    try {
      return deal()?.catch((error) => this.#broke(from, frame, error));
    } catch (error) {
      return this.#broke(from, frame, error);
    }
  }

  /** A request of the host that was taken in has its answer elsewhere; of another, the id may be that of an open one. */
  #broke(from: 'host' | 'server', frame: Frame | null, error: unknown): void | Promise<void> {
    tellFailure(this.#context, `from ${from}`, error);
    if (from === 'host') {
      const isAsking = frame === null || frame.kind === 'request';
      return isAsking ? this.#context.host.write(denialBytes(null, asDenial(error))) : undefined;
    }
    if (frame?.kind !== 'request') return;
    const bytes = denialBytes(toUtf8(idKey(frame.id)), asDenial(error));
    return this.#send(parseFrame(bytes), bytes);
  }

  #fromHost(frame: Frame): void | Promise<void> {
    if (frame.kind === 'request') return this.#flows.start(frame);
    if (frame.kind === 'notification') return this.#told('host', frame);
    const match = this.#asked.settle(frame.id);
    if (typeof match === 'string') {
      if (match !== 'late') this.#unasked('host', match);
      return;
    }
    this.#asked.free(match);
    return this.#send(frame, splice(frame.bytes, [replace(placeOf(frame, 'id')!, match.idBytes)]));
  }

  #fromServer(frame: Frame): void | Promise<void> {
    if (frame.kind === 'request') return this.#serverAsks(frame);
    if (frame.kind === 'notification') return this.#told('server', frame);
    const found = this.#context.wire.settle(frame);
    if (typeof found === 'string') this.#unasked('server', found);
    else return found;
  }

  /** Invalid frame from the host: answer with an error, keep the session. */
  refusedFromHost(error: BullaError, bytes: Uint8Array): void | Promise<void> {
    return this.#guarded('host', null, () => this.#refusedFromHost(error, bytes));
  }

  #refusedFromHost(error: BullaError, bytes: Uint8Array): void | Promise<void> {
    const rpc = error.code === 'MCP_FRAME_JSON' ? RPC.parse : RPC.invalid;
    const denial = new Denial('frame', error.code, error.message, { rpc });
    // What the parser found quotes the host, which is not for a record.
    const noted = new Denial('frame', error.code, 'The host sent something that is no message.');
    this.#drop(noted, 'host', error.code);
    const id = rpc === RPC.invalid ? idIn(bytes) : null;
    // Under the id of an open request, the host would take it for the answer to that one.
    const isClear = id !== null && !this.#context.wire.isTaken(id);
    return this.#context.host.write(denialBytes(isClear ? toUtf8(idKey(id)) : null, denial));
  }

  /** Invalid frame from the server: drop it; the waiting caller gets the error. */
  refusedFromServer(error: BullaError, bytes: Uint8Array | null): void | Promise<void> {
    return this.#guarded('server', null, () => this.#refusedFromServer(error, bytes));
  }

  #refusedFromServer(error: BullaError, bytes: Uint8Array | null): void | Promise<void> {
    // What the parser found holds words of the server, which are not for a model.
    const message = `The server sent something that is no message (${error.code}).`;
    const denial = new Denial('frame', 'GATEWAY_BAD_ANSWER', message, { cause: error });
    this.#drop(denial, 'server', error.message);
    return this.#context.wire.settleUnread(bytes === null ? null : idIn(bytes), denial);
  }

  /** A line came from the server that does not even begin as a message does. */
  noise(): void {
    const denial = new Denial('frame', 'GATEWAY_NOISE', 'The server prints lines that are no messages.');
    void this.#guarded('server', null, () => this.#drop(denial, 'server', ''));
  }

  /** Nothing more comes from the server, or is waited for. */
  end(denial: Denial): void {
    this.#context.wire.end(denial);
  }

  /** Resolves when everything that was begun is recorded and told. */
  async idle(): Promise<void> {
    await this.#flows.idle();
    await this.#context.record.settled();
  }

  #serverAsks(frame: RequestFrame): void | Promise<void> {
    const { features, session, host, pins } = this.#context;
    const request: ServerRequest = {
      id: frame.id,
      idBytes: Uint8Array.from(bytesOf(frame, placeOf(frame, 'id')!)),
      token: tokenOf(frame.params?.get('_meta'), 'progressToken'),
    };
    try {
      serverRequest(frame.method, features);
      checkAll(frame.params, [], pins);
      if (!session.isEstablished) {
        throw new Denial(
          'session',
          'GATEWAY_SESSION',
          'A server may ask only in a session that was initialized.',
        );
      }
      if (this.#asked.size >= MAX_ASKED || !this.#asked.take(request)) {
        throw new Denial('ids', 'GATEWAY_ID_IN_USE', 'The id is in use, or too many requests are open.');
      }
    } catch (error) {
      const denial = asDenial(error);
      this.#drop(denial, 'server', frame.method);
      const bytes = denialBytes(request.idBytes, denial);
      return this.#send(parseFrame(bytes), bytes);
    }
    try {
      const id = toUtf8(this.#asked.assign(request).lexeme);
      return host.write(splice(frame.bytes, [replace(placeOf(frame, 'id')!, id)]));
    } catch (error) {
      this.#asked.free(request);
      throw error;
    }
  }

  #told(from: 'host' | 'server', frame: NotificationFrame): void | Promise<void> {
    const { features, offers, pins, session, wire } = this.#context;
    if (from === 'server') offers.changed(frame.method);
    try {
      const { carries, params } = notification(from, frame.method, features);
      if (from === 'host') checkParams(frame.params, params);
      else checkTwins(frame.params, params);
      if (from === 'server' && carries !== 'subscription') checkAll(frame.params, [], pins);
      if (frame.method === 'notifications/resources/updated') this.#updated(frame);
      if (carries === 'request') return this.#cancelled(from, frame);
      if (carries === 'token') {
        const token = tokenOf(frame.params ?? undefined, 'progressToken');
        const isOpen = token !== null && (from === 'server' ? wire.progress(token) : this.#isAsked(token));
        if (!isOpen) throw unrelated('The progress belongs to no open request.');
      }
      if (carries === 'subscription') return this.#subscribed(frame);
      if (frame.method === 'notifications/initialized' && !session.isEstablished) {
        throw unrelated('The session was not initialized.');
      }
      return this.#deliver(from, frame, frame.bytes);
    } catch (error) {
      this.#drop(asDenial(error), from, frame.method);
    }
  }

  /** It may be about a part of what the host has subscribed to, but about nothing that it could not read. */
  #updated({ params }: NotificationFrame): void {
    const uri = params?.get('uri');
    if (typeof uri !== 'string') throw unrelated('It names no resource.');
    if (this.#context.enforce.calls) resourceItems(uri, this.#context.pins);
  }

  #isAsked(token: string): boolean {
    return this.#asked.open().some((request) => request.token === token);
  }

  /** The request that is taken back has another id on the other side. */
  #cancelled(from: 'host' | 'server', frame: NotificationFrame): void | Promise<void> {
    const place = placeOf(frame, 'params', 'requestId');
    const id = idOf(frame.params ?? undefined, 'requestId');
    if (place === null || id === null) throw unrelated('It names no request.');
    if (from === 'host') {
      const ours = this.#context.wire.cancel(id);
      if (ours === null) return;
      return this.#send(frame, splice(frame.bytes, [replace(place, toUtf8(idKey(ours)))]));
    }
    const asked = this.#asked.find('asker', id);
    const ours = asked && this.#asked.idOf(asked);
    if (asked !== undefined) {
      this.#asked.abandon(asked);
      this.#asked.free(asked);
    }
    const theirs = ours ? toUtf8(ours.lexeme) : this.#context.wire.subscription(id, true);
    if (theirs === null) throw unrelated('The request is not open.');
    return this.#context.host.write(splice(frame.bytes, [replace(place, theirs)]));
  }

  /** In the stateless era the notification says to which request of the host it belongs. */
  #subscribed(frame: NotificationFrame): void | Promise<void> {
    const { session, wire, host } = this.#context;
    const place = placeOf(frame, 'params', '_meta', SUBSCRIPTION_ID);
    if (place === null) {
      if (!session.isEstablished) throw unrelated('The host has not subscribed to it.');
      return host.write(frame.bytes);
    }
    const id = idOf(frame.params?.get('_meta'), SUBSCRIPTION_ID);
    const theirs = id === null ? null : wire.subscription(id, false);
    if (theirs === null) throw unrelated('The subscription is not open.');
    return host.write(splice(frame.bytes, [replace(place, theirs)]));
  }

  #deliver(from: 'host' | 'server', frame: Frame, bytes: Uint8Array): void | Promise<void> {
    return from === 'host' ? this.#send(frame, bytes) : this.#context.host.write(bytes);
  }

  /** Sends to the server. That it is gone shows elsewhere. */
  async #send(frame: Frame, bytes: Uint8Array): Promise<void> {
    await this.#server.send({ ...frame, bytes }).catch(() => {});
  }

  #unasked(from: 'host' | 'server', match: 'duplicate' | 'unknown'): void {
    const denial =
      match === 'duplicate'
        ? new Denial('ids', 'GATEWAY_ANSWER_DUPLICATE', `The ${from} answered a request twice.`)
        : new Denial('ids', 'GATEWAY_ANSWER_UNKNOWN', `The ${from} answered a request that was never made.`);
    this.#drop(denial, from, '');
  }

  /** Nobody can be answered, so it is recorded, and told to the operator the first time. */
  #drop(denial: Denial, from: 'host' | 'server', key: string): void {
    const method = `from ${from}`;
    // Its words are ours, and few: a flood of one kind hides no other, and the one side not the other.
    const budget = `${from} ${denial.stage} ${denial.code} ${denial.message}`;
    const isNew = this.#context.record.incident({ denial, method, key: `${from} ${key}`, budget });
    const what = key === '' || key === denial.code ? '' : ` (${quote(key)})`;
    if (isNew)
      this.#context.log(`dropped something from the ${from}${what}: ${denial.message} [${denial.code}]`);
  }
}

function unrelated(message: string): Denial {
  return new Denial('ids', 'GATEWAY_UNRELATED', message);
}
