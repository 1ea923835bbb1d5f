import type { BullaError } from '@bulla/core/error';
import { JsonObject, stringify } from '@bulla/core/json';
import {
  type Frame,
  type Id,
  INITIALIZE_VERSIONS,
  idKey,
  type NotificationFrame,
  type RequestFrame,
  type ResultFrame,
  RpcError,
} from '../../mcp/index.ts';
import { Denial, denialBytes, RPC } from '../denial.ts';
import { bytesOf, type Edit, locate, raw, setMembers, splice } from '../wire/splice.ts';
import { SERVER_INFO } from '../wire/tokens.ts';
import { serverFailed } from '../wire/wire.ts';
import { type Ends, hasCapability, MAX_URIS, MAY_ASK, objectBytes } from './ends.ts';
import { type Answer, read, resultBytes } from './life.ts';
import { Listening, tellsOf } from './listening.ts';
import { type Inputs, Round } from './rounds.ts';

/** A host of the initialize era at a server of the stateless one. */
export class LegacyHost {
  readonly #ends: Ends;
  readonly #listening: Listening;
  readonly #inputs: Inputs = new Map();
  /** To which request of the host the stream of a repeated call belongs. */
  readonly #streams = new Map<string, Id>();

  constructor(ends: Ends) {
    this.#ends = ends;
    this.#listening = new Listening(ends);
  }

  /** Handles a request of the host. Rejects as the transport does. */
  async request(given: RequestFrame, signal?: AbortSignal): Promise<void> {
    const { host, life } = this.#ends;
    switch (given.method) {
      case 'ping':
        return this.#reply(given.id, raw('{}'));
      case 'logging/setLevel': {
        const capabilities = life.discovered!.result.get('capabilities') as JsonObject;
        if (!hasCapability(capabilities, 'logging')) return this.#refuse(given.id, unknownMethod());
        host.level = given.params!.get('level') as string;
        return this.#reply(given.id, raw('{}'));
      }
      case 'resources/subscribe':
      case 'resources/unsubscribe':
        return this.#ends.follow(this.#subscribe(given));
    }
    this.#listening.ensure();
    const frame = read(splice(given.bytes, this.#withMeta(given))) as RequestFrame;
    if (!MAY_ASK.includes(given.method)) return life.send(frame, signal);
    return new Round(this.#ends, this.#inputs, this.#streams, frame, signal).start();
  }

  /** The edits that tell the server what the host told once. */
  #withMeta(given: RequestFrame): Edit[] {
    const frame = read(given.bytes);
    const meta = this.#ends.host.meta();
    const place = locate(frame, 'params', '_meta');
    if (place?.value instanceof JsonObject) return setMembers(place, meta);
    const params = locate(frame, 'params');
    if (params !== null) return setMembers(params, [['_meta', objectBytes(meta)]]);
    return setMembers(locate(frame)!, [['params', raw('{"_meta":', objectBytes(meta), '}')]]);
  }

  /** A notification of the host, other than that it cancels. */
  notify({ method }: NotificationFrame): void {
    if (method !== 'notifications/initialized') return;
    this.#ends.host.isInitialized = true;
    this.#listening.ensure();
  }

  /** An answer of the host; false if it is to nothing that was asked for a call. */
  answer(frame: Answer): boolean {
    const take = frame.id === null ? undefined : this.#inputs.get(idKey(frame.id));
    take?.(frame);
    return take !== undefined;
  }

  /** A notification or a request of the server. */
  fromServer(frame: Frame, on?: Id): void | Promise<void> {
    if (frame.kind === 'notification') {
      const handled = this.#listening.notified(frame);
      if (handled !== false) return handled;
    }
    // 2026-07-28, Streamable HTTP, Receiving Messages: the server asks in results only.
    if (frame.kind === 'request') {
      return this.#ends.life.tell(denialBytes(raw(idKey(frame.id)), noRequests()));
    }
    return this.#ends.pass(frame, on === undefined ? undefined : (this.#streams.get(idKey(on)) ?? on));
  }

  /** Makes the subscriptions of a server that was started again. */
  resume(): void {
    this.#listening.ensure();
  }

  async #subscribe({ id, method, params }: RequestFrame): Promise<void> {
    const { uris } = this.#ends.host;
    const uri = params!.get('uri') as string;
    const isNew = method === 'resources/subscribe' && !uris.has(uri);
    if (isNew && uris.size >= MAX_URIS) {
      const message = `The host is subscribed to ${MAX_URIS} resources already.`;
      return this.#refuse(id, new Denial('server', 'GATEWAY_OVERLOADED', message));
    }
    if (method === 'resources/subscribe') uris.add(uri);
    else uris.delete(uri);
    try {
      const accepted = await this.#listening.update();
      if (uris.has(uri) && !tellsOf(accepted, uri)) {
        uris.delete(uri);
        const message = 'The server does not tell of changes of this resource.';
        return this.#refuse(id, new Denial('server', 'GATEWAY_PARAMS', message));
      }
    } catch (error) {
      if (isNew) uris.delete(uri);
      // That the server is gone fails every open request elsewhere.
      if (this.#ends.life.ended === null) return this.#refuse(id, refusal(error as BullaError));
      return;
    }
    return this.#reply(id, raw('{}'));
  }

  async #reply(id: Id, result: Uint8Array): Promise<void> {
    await this.#ends.deliver(resultBytes(id, result), id);
  }

  async #refuse(id: Id, denial: Denial): Promise<void> {
    await this.#ends.deliver(denialBytes(raw(idKey(id)), denial), id);
  }
}

function noRequests(): Denial {
  const message = 'A server of this protocol version sends no requests.';
  return new Denial('method', 'GATEWAY_METHOD', message, { rpc: RPC.method });
}

function unknownMethod(): Denial {
  return new Denial('server', 'GATEWAY_METHOD', 'The server does not offer this.', { rpc: RPC.method });
}

function refusal(error: BullaError): Denial {
  if (!(error instanceof RpcError)) return serverFailed(error);
  const message = `The server answered with error ${error.rpc.code}.`;
  return new Denial('server', 'GATEWAY_SERVER_FAILED', message, { cause: error });
}

/** The answer to the host's `initialize`, from what the server says of itself in the stateless era. */
export function initializeResult(request: RequestFrame, discovered: ResultFrame): Uint8Array {
  const asked = request.params?.get('protocolVersion');
  const known = typeof asked === 'string' && INITIALIZE_VERSIONS.includes(asked);
  const version = known ? asked : INITIALIZE_VERSIONS[0]!;
  const bytesAt = (...path: string[]): Uint8Array | null => {
    const place = locate(discovered, 'result', ...path);
    return place && bytesOf(discovered, place);
  };
  const instructions = bytesAt('instructions');
  const result = objectBytes([
    ['protocolVersion', raw(stringify(version))],
    ['capabilities', bytesAt('capabilities') ?? raw('{}')],
    ['serverInfo', bytesAt('_meta', SERVER_INFO) ?? raw('{"name":"unknown","version":"unknown"}')],
    ...(instructions === null ? [] : [['instructions', instructions] as const]),
  ]);
  return resultBytes(request.id, result);
}
