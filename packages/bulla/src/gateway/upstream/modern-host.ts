import { randomBytes } from 'node:crypto';
import type { BullaError } from '@bulla/core/error';
import { JsonObject, stringify } from '@bulla/core/json';
import {
  type Frame,
  type Id,
  idKey,
  type NotificationFrame,
  type RequestFrame,
  type ResultFrame,
  STATELESS_VERSIONS,
} from '../../mcp/index.ts';
import { Denial, denialBytes, RPC } from '../denial.ts';
import { LEVELS } from '../gates/params.ts';
import { bytesOf, locate, type Member, raw, replace, setMembers, splice } from '../wire/splice.ts';
import { idOf, SERVER_INFO } from '../wire/tokens.ts';
import { serverFailed } from '../wire/wire.ts';
import { type Ends, hasCapability, MAY_ASK, objectBytes } from './ends.ts';
import { type Answer, cancelledBytes, read, resultBytes } from './life.ts';
import { Listens } from './listens.ts';
import {
  type Asked,
  askerOf,
  declares,
  digestOf,
  inputRequired,
  keyOf,
  needOf,
  type OpenCall,
  withoutMeta,
} from './open-call.ts';

/** Results that say how long they may be kept (2026-07-28, Caching). */
const CACHEABLE = [
  ...['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list', 'resources/read'],
];
const COMPLETE: Member = ['resultType', raw('"complete"')];
const UNCACHED: readonly Member[] = [
  ['ttlMs', raw('0')],
  ['cacheScope', raw('"private"')],
];
/** 2025-11-25: a resource that is not there; the code is not used any more. */
const RESOURCE_NOT_FOUND = -32002;
const INVALID_PARAMS = -32602;
/** 2025-11-25, Elicitation, URL Elicitation Required Error. */
const URL_ELICITATION_REQUIRED = -32042;

/** Limits on the calls that wait for the host to repeat them, and on what one of them may ask for. */
const MAX_HELD = 256;
const MAX_ASKED = 32;

/** A host of the stateless era at a server of the initialize one. */
export class ModernHost {
  readonly #ends: Ends;
  readonly #listens: Listens;
  /** By the server's id. */
  readonly #open = new Map<string, OpenCall>();
  /** The calls that wait for the host to repeat them, by the state that it was given. Each is used once. */
  readonly #held = new Map<string, OpenCall>();
  /** The level that the server was last told. */
  #level: string | null = null;
  #count = 0;

  constructor(ends: Ends) {
    this.#ends = ends;
    this.#listens = new Listens(ends);
  }

  get #capabilities(): JsonObject {
    return this.#ends.life.session!.frame.result.get('capabilities') as JsonObject;
  }

  /** Handles a request of the host. Rejects as the transport does. */
  async request(given: RequestFrame, signal?: AbortSignal): Promise<void> {
    const { life, deliver, follow } = this.#ends;
    const frame = read(given.bytes) as RequestFrame;
    const { id, method } = frame;
    if (method === 'server/discover') return deliver(discoverResult(id, life.session!.frame), id);
    if (method === 'subscriptions/listen') return follow(this.#listens.start(frame, signal));
    // Responses without a state answer nothing that the server asked.
    if (MAY_ASK.includes(method) && frame.params!.has('requestState')) return this.#repeated(frame, signal);
    return this.#start(frame, signal);
  }

  async #start(frame: RequestFrame, signal?: AbortSignal): Promise<void> {
    const { life } = this.#ends;
    const asker = askerOf(frame, signal);
    const told = this.#tellLevel(asker.level);
    // Over one stream the server reads it first anyway.
    if (told !== null && life.isPerRequest) await told;
    const bytes = splice(frame.bytes, withoutMeta(frame));
    const call: OpenCall = {
      id: frame.id,
      method: frame.method,
      digest: MAY_ASK.includes(frame.method) ? digestOf(frame) : '',
      stop: new AbortController(),
      asker,
      capabilities: asker.capabilities,
      asked: new Map(),
      early: null,
      timer: undefined,
    };
    this.#open.set(keyOf(call), call);
    life.expect(call.id, {
      answered: (answer) => this.#answered(call, answer),
      failed: (error) => {
        const id = call.asker?.id;
        this.#close(call);
        if (life.ended === null) this.#ends.follow(this.#refuse(id, serverFailed(error)));
      },
    });
    this.#attend(call);
    try {
      await life.send(read(bytes), call.stop.signal);
    } catch (error) {
      life.forget(call.id);
      const id = call.asker?.id;
      this.#close(call);
      // The sender of the first request is told by the rejection.
      if (id !== undefined && idKey(id) === keyOf(call)) throw error;
      if (life.ended === null && !call.stop.signal.aborted)
        await this.#refuse(id, serverFailed(error as BullaError));
    }
  }

  /** The server sends what its clients last wanted; each request gets what it asked for. */
  #tellLevel(level: string | null): Promise<void> | null {
    if (level === null || level === this.#level || !LEVELS.includes(level)) return null;
    if (!hasCapability(this.#capabilities, 'logging')) return null;
    this.#level = level;
    return this.#ends.life.ask('logging/setLevel', raw(stringify({ level }))).then(
      () => {},
      () => {},
    );
  }

  /** The host waits for the answer, until it cancels. */
  #attend(call: OpenCall): void {
    const { life } = this.#ends;
    const asker = call.asker!;
    life.alias(asker.id, call.id);
    asker.signal?.addEventListener('abort', () => {
      if (call.asker !== asker) return;
      life.forget(call.id);
      this.#close(call);
      call.stop.abort();
      // Over one stream the sender tells it; over HTTP it only closes the stream, which is no cancellation here.
      if (life.isPerRequest) void life.tell(cancelledBytes(call.id));
    });
  }

  #close(call: OpenCall): void {
    clearTimeout(call.timer);
    call.asker = null;
    this.#open.delete(keyOf(call));
  }

  #answered(call: OpenCall, answer: Answer): void | Promise<void> {
    this.#open.delete(keyOf(call));
    if (call.asker === null) {
      call.early = answer;
      return;
    }
    return this.#finish(call, answer);
  }

  /** Gives the host the answer as one of the stateless era. */
  #finish(call: OpenCall, answer: Answer): void | Promise<void> {
    const { id } = call.asker!;
    const edits = [replace(locate(answer, 'id')!, raw(idKey(id)))];
    if (answer.kind === 'result') {
      const cache = CACHEABLE.includes(call.method) ? UNCACHED : [];
      edits.push(...setMembers(locate(answer, 'result')!, [COMPLETE, ...cache]));
    } else if (answer.error.code === RESOURCE_NOT_FOUND) {
      edits.push(replace(locate(answer, 'error', 'code')!, raw(String(INVALID_PARAMS))));
    } else if (answer.error.code === URL_ELICITATION_REQUIRED) {
      return this.#urlRequired(call, answer);
    }
    this.#close(call);
    return this.#ends.deliver(splice(answer.bytes, edits), id);
  }

  /** In the stateless era the server asks for elicitations in a result; the call is made anew after them. */
  #urlRequired(call: OpenCall, answer: Answer): void | Promise<void> {
    const { id } = call.asker!;
    const asked = MAY_ASK.includes(call.method) ? urlsOf(answer) : null;
    const isDeclared = declares(call.capabilities, ['elicitation', 'url']);
    if (asked === null || !isDeclared || this.#held.size >= MAX_HELD) {
      this.#close(call);
      const message = isDeclared
        ? 'The server wants an elicitation, which cannot be read from its answer.'
        : 'The server wants the user to open a URL first, which the host does not declare that it can.';
      return this.#refuse(id, new Denial('server', 'GATEWAY_INPUT', message));
    }
    for (const each of asked) call.asked.set(`input-${++this.#count}`, each);
    return this.#hold(call);
  }

  /** Answers the host's request with what the server asks for; its own call stays open. */
  #hold(call: OpenCall): void | Promise<void> {
    const { id } = call.asker!;
    const state = randomBytes(32).toString('base64url');
    this.#held.set(state, call);
    call.asker = null;
    call.timer = setTimeout(() => this.#expire(state, call), this.#ends.timeoutMs);
    return this.#ends.deliver(resultBytes(id, inputRequired(call.asked, state)), id);
  }

  /** The host did not repeat the call in time. */
  #expire(state: string, call: OpenCall): void {
    const { life } = this.#ends;
    this.#held.delete(state);
    const isOpen = this.#open.has(keyOf(call));
    this.#close(call);
    if (!isOpen) return;
    life.forget(call.id);
    const denial = new Denial('server', 'GATEWAY_TIMEOUT', 'The host did not answer in time.');
    for (const { idBytes } of call.asked.values()) void life.tell(denialBytes(idBytes, denial));
    void life.tell(cancelledBytes(call.id));
    call.stop.abort();
  }

  /** The host repeats a call with the answers. */
  async #repeated(frame: RequestFrame, signal?: AbortSignal): Promise<void> {
    const { life } = this.#ends;
    const state = frame.params!.get('requestState');
    const call = typeof state === 'string' ? this.#held.get(state) : undefined;
    if (call === undefined || call.digest !== digestOf(frame)) {
      const message = 'The requestState belongs to no call that waits for input, or to another one.';
      return this.#refuse(frame.id, new Denial('arguments', 'GATEWAY_PARAMS', message));
    }
    const responses = responsesOf(frame);
    if (responses === null) {
      const message = 'inputResponses is an object with a result for each of the inputRequests.';
      return this.#refuse(frame.id, new Denial('arguments', 'GATEWAY_PARAMS', message));
    }
    this.#held.delete(state as string);
    clearTimeout(call.timer);
    if (call.early === null && !this.#open.has(keyOf(call)))
      return this.#anew(call, frame, responses, signal);
    call.asker = askerOf(frame, signal);
    call.capabilities = call.asker.capabilities;
    this.#attend(call);
    for (const [key, { idBytes }] of call.asked) {
      const response = responses.get(key);
      if (response === undefined) continue;
      call.asked.delete(key);
      void life.tell(raw('{"jsonrpc":"2.0","id":', idBytes, ',"result":', response.bytes, '}'));
    }
    if (call.early !== null) {
      const { early } = call;
      call.early = null;
      return this.#finish(call, early);
    }
    if (call.asked.size > 0) return this.#hold(call);
  }

  /** The server refused the call until its user has been to a URL: it is made again. */
  async #anew(
    call: OpenCall,
    frame: RequestFrame,
    responses: Responses,
    signal?: AbortSignal,
  ): Promise<void> {
    const actions = [...call.asked.keys()].map((key) => responses.get(key)?.value.get('action'));
    if (actions.every((action) => action === 'accept')) return this.#start(frame, signal);
    if (actions.includes(undefined)) {
      call.asker = askerOf(frame, signal);
      return this.#hold(call);
    }
    const message = 'The call needs input, which was declined.';
    return this.#refuse(frame.id, new Denial('server', 'GATEWAY_INPUT', message));
  }

  async #refuse(id: Id | undefined, denial: Denial): Promise<void> {
    if (id !== undefined) await this.#ends.deliver(denialBytes(raw(idKey(id)), denial), id);
  }

  /** A notification or a request of the server. */
  fromServer(frame: Frame, on?: Id): void | Promise<void> {
    if (frame.kind === 'request') return this.#asked(frame, on);
    if (frame.kind === 'notification') return this.#notified(frame, on);
    return this.#ends.pass(frame, on);
  }

  /** The server ended. */
  end(): void {
    this.#listens.end();
    for (const call of [...this.#open.values(), ...this.#held.values()]) this.#close(call);
    this.#held.clear();
  }

  #asked(frame: RequestFrame, on?: Id): void | Promise<void> {
    const { life, host, features, pass } = this.#ends;
    const { id, method, params } = frame;
    const own = on === undefined ? undefined : this.#open.get(idKey(on));
    if (host.initialize !== null && own === undefined) return pass(frame, on);
    if (method === 'ping') return life.tell(resultBytes(id, raw('{}')));
    const need = needOf(method, params);
    const open = on === undefined ? [...this.#open.values()] : own === undefined ? [] : [own];
    const asking = open.filter((call) => need !== null && MAY_ASK.includes(call.method));
    const candidates = asking.filter((call) => declares(call.capabilities, need!));
    const idBytes = Uint8Array.from(bytesOf(frame, locate(frame, 'id')!));
    const isPermitted = need !== null && features.has(need[0]!);
    if (candidates.length === 0 && asking.length === 1 && isPermitted)
      return this.#lacks(asking[0]!, need, idBytes);
    // Nobody can be asked: that is refused and recorded where all requests are checked.
    if (candidates.length === 0) return pass(frame, on);
    const [call] = candidates;
    const why =
      candidates.length > 1
        ? 'Several requests of the host are open, and it does not say to which of them it belongs.'
        : params?.has('task')
          ? 'Tasks do not pass this gateway.'
          : call!.asked.size >= MAX_ASKED || this.#held.size >= MAX_HELD
            ? 'Too much was asked that is not answered.'
            : null;
    if (why !== null) return life.tell(denialBytes(idBytes, new Denial('ids', 'GATEWAY_UNRELATED', why)));
    call!.asked.set(`input-${++this.#count}`, { idBytes, method, params: paramsOf(frame) });
    if (call!.asker !== null) return this.#hold(call!);
  }

  /** 2026-07-28, Basic, `_meta`: a request that needs what its host does not declare is refused, and says what. */
  async #lacks(call: OpenCall, need: readonly string[], idBytes: Uint8Array): Promise<void> {
    const { life } = this.#ends;
    const message = `The call needs ${need.join(' by ')}, which the host does not declare that it can do.`;
    await life.tell(denialBytes(idBytes, new Denial('session', 'GATEWAY_INPUT', message)));
    const id = call.asker?.id;
    life.forget(call.id);
    this.#close(call);
    call.stop.abort();
    await life.tell(cancelledBytes(call.id));
    const requiredCapabilities = need.reduceRight<object>((inner, name) => ({ [name]: inner }), {});
    const options = { rpc: RPC.capability, data: { requiredCapabilities } };
    await this.#refuse(id, new Denial('session', 'GATEWAY_INPUT', message, options));
  }

  #notified(frame: NotificationFrame, on?: Id): void | Promise<void> {
    const { host, pass } = this.#ends;
    switch (frame.method) {
      case 'notifications/progress':
        return this.#progress(frame, on);
      case 'notifications/message':
        return this.#message(frame, on);
      case 'notifications/cancelled':
        return this.#withdrawn(frame, on);
      case 'notifications/elicitation/complete':
        return host.initialize === null ? undefined : pass(frame, on);
    }
    if (!Listens.isOf(frame.method)) return pass(frame, on);
    const told = this.#listens.changed(frame);
    if (host.initialize !== null) return pass(frame, on);
    if (told !== false) return told;
    // 2025-11-25: a server that declared it tells unasked that a list changed. Whoever keeps the lists must know.
    return this.#listens.isDeclared(frame.method) ? this.#ends.changed(frame.method) : pass(frame, on);
  }

  #progress(frame: NotificationFrame, on?: Id): void | Promise<void> {
    const token = idOf(frame.params ?? undefined, 'progressToken');
    const call = token === null ? undefined : this.#open.get(idKey(token));
    if (call === undefined) return this.#ends.pass(frame, on);
    if (call.asker === null || call.asker.token === null) return;
    const place = locate(frame, 'params', 'progressToken')!;
    return this.#ends.deliver(splice(frame.bytes, [replace(place, call.asker.token)]), call.asker.id);
  }

  /** A log message belongs to the request that asked for it. */
  #message(frame: NotificationFrame, on?: Id): void | Promise<void> {
    const { host, pass } = this.#ends;
    const level = LEVELS.indexOf(String(frame.params?.get('level')));
    const wanting = [...this.#open.values()].filter(
      ({ id, asker }) =>
        (on === undefined || idKey(on) === idKey(id)) &&
        asker?.level != null &&
        level >= LEVELS.indexOf(asker.level),
    );
    if (wanting.length === 1) return pass(frame, wanting[0]!.asker!.id);
    if (host.initialize !== null) return pass(frame, on);
  }

  /** The server withdraws what it asked for. */
  #withdrawn(frame: NotificationFrame, on?: Id): void | Promise<void> {
    const place = locate(frame, 'params', 'requestId');
    const bytes = place === null ? '' : Buffer.from(bytesOf(frame, place)).toString();
    for (const call of this.#open.values()) {
      for (const [key, { idBytes }] of call.asked) {
        if (Buffer.from(idBytes).toString() === bytes) return void call.asked.delete(key);
      }
    }
    return this.#ends.pass(frame, on);
  }
}

type Responses = ReadonlyMap<string, { readonly value: JsonObject; readonly bytes: Uint8Array }>;

/** The host's answers by the keys of the requests; null for what has not that form. */
function responsesOf(frame: RequestFrame): Responses | null {
  const place = locate(frame, 'params', 'inputResponses');
  if (place === null) return new Map();
  if (!(place.value instanceof JsonObject)) return null;
  const { keys, values } = place.value;
  if (!values.every((value) => value instanceof JsonObject)) return null;
  return new Map(
    keys.map((key, i) => {
      const { start, end } = place.span.children![i]!;
      return [key, { value: values[i] as JsonObject, bytes: frame.bytes.slice(start, end) }];
    }),
  );
}

/** The parameters of a server's request. In the stateless era an elicitation by URL has no id. */
function paramsOf(frame: RequestFrame): Uint8Array | null {
  const place = locate(frame, 'params');
  if (place === null) return null;
  const bytes = Uint8Array.from(bytesOf(frame, place));
  if (frame.method !== 'elicitation/create' || !frame.params!.has('elicitationId')) return bytes;
  const shift = place.span.start;
  const edits = setMembers(place, [], ['elicitationId']);
  return splice(
    bytes,
    edits.map((edit) => ({ ...edit, start: edit.start - shift, end: edit.end - shift })),
  );
}

/** The elicitations that a server requires before a call; null for an answer that has not that form. */
function urlsOf(answer: Answer): Asked[] | null {
  const place = locate(answer, 'error', 'data', 'elicitations');
  if (place === null || !Array.isArray(place.value)) return null;
  const { length } = place.value;
  if (length === 0 || length > MAX_ASKED) return null;
  const asked = place.value.map((item, i): Asked | null => {
    const isUrl = item instanceof JsonObject && item.get('mode') === 'url';
    if (!isUrl || ['url', 'message'].some((key) => typeof item.get(key) !== 'string')) return null;
    const { start, end } = place.span.children![i]!;
    const request = read(
      raw(
        '{"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":',
        answer.bytes.subarray(start, end),
        '}',
      ),
    );
    return { idBytes: raw('0'), method: 'elicitation/create', params: paramsOf(request as RequestFrame) };
  });
  return asked.includes(null) ? null : (asked as Asked[]);
}

/** The answer to the host's `server/discover`, from what the server answered to `initialize`. */
function discoverResult(id: Id, initialized: ResultFrame): Uint8Array {
  const member = (name: string): Uint8Array | null => {
    const place = locate(initialized, 'result', name);
    return place && bytesOf(initialized, place);
  };
  const [instructions, info] = [member('instructions'), member('serverInfo')];
  const result = objectBytes([
    COMPLETE,
    ['supportedVersions', raw(stringify(STATELESS_VERSIONS))],
    ['capabilities', member('capabilities')!],
    ...(instructions === null ? [] : [['instructions', instructions] as const]),
    ...UNCACHED,
    ...(info === null ? [] : [['_meta', objectBytes([[SERVER_INFO, info]])] as const]),
  ]);
  return resultBytes(id, result);
}
