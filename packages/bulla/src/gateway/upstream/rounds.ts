import { randomUUID } from 'node:crypto';
import type { BullaError } from '@bulla/core/error';
import { JsonObject, stringify } from '@bulla/core/json';
import { type Id, idKey, quote, type RequestFrame } from '../../mcp/index.ts';
import { Denial, denialBytes } from '../denial.ts';
import { AGAIN } from '../gates/methods.ts';
import {
  bytesOf,
  type Located,
  locate,
  type Member,
  raw,
  replace,
  setMembers,
  splice,
} from '../wire/splice.ts';
import { serverFailed } from '../wire/wire.ts';
import type { Ends } from './ends.ts';
import { type Answer, cancelledBytes, read, requestBytes } from './life.ts';

/** Limits on how often a call may ask for input, and for how much at once. */
const MAX_ROUNDS = 16;
const MAX_INPUTS = 32;
/** How long to wait before a call is repeated that asked for nothing. */
const PAUSE_MS = 250;

/** The requests that the host was given for inputs, by their ids. */
export type Inputs = Map<string, (answer: Answer) => void>;

/**
 * A call of a host of the initialize era to a server of the stateless one. What the server asks for in a result reaches
 * the host as requests, and the call is repeated with the answers (2026-07-28, Multi Round-Trip Requests); the host sees
 * one call.
 */
export class Round {
  readonly #ends: Ends;
  readonly #inputs: Inputs;
  readonly #streams: Map<string, Id>;
  readonly #original: RequestFrame;
  readonly #signal: AbortSignal | undefined;
  readonly #asked = new Map<string, Id>();
  #responses: (readonly [key: Uint8Array, value: Uint8Array])[] = [];
  #state: Uint8Array | null = null;
  /** Under which id the server has the call now. */
  #current: Id | null = null;
  #rounds = 0;
  #pause: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(
    ends: Ends,
    inputs: Inputs,
    streams: Map<string, Id>,
    original: RequestFrame,
    signal?: AbortSignal,
  ) {
    this.#ends = ends;
    this.#inputs = inputs;
    this.#streams = streams;
    this.#original = original;
    this.#signal = signal;
  }

  /** Sends the call. Rejects as the transport does. */
  start(): Promise<void> {
    this.#signal?.addEventListener('abort', this.#cancelled);
    return this.#send(this.#original);
  }

  async #send(frame: RequestFrame): Promise<void> {
    const { life } = this.#ends;
    const { id } = frame;
    this.#current = id;
    life.alias(this.#original.id, id);
    if (frame !== this.#original) this.#streams.set(idKey(id), this.#original.id);
    life.expect(id, {
      answered: (answer, on) => this.#answered(answer, on),
      failed: (error) => this.#failed(error),
    });
    try {
      await life.send(frame, this.#signal);
    } catch (error) {
      life.forget(id);
      if (frame === this.#original) {
        this.#close();
        throw error;
      }
      this.#failed(error as BullaError);
    }
  }

  #answered(frame: Answer, on?: Id): void | Promise<void> {
    if (this.#isOver) return;
    this.#streams.delete(idKey(frame.id!));
    this.#current = null;
    if (frame.kind === 'error' || frame.result.get('resultType') !== 'input_required') {
      return this.#finish(frame, on);
    }
    const requests = locate(frame, 'result', 'inputRequests');
    // What is not of this form is refused where all answers are checked.
    if (requests !== null && !isRequests(requests)) return this.#finish(frame, on);
    const state = locate(frame, 'result', 'requestState');
    if (state !== null && typeof state.value !== 'string')
      return this.#refuse('its requestState is not a string');
    const size = requests === null ? 0 : (requests.value as JsonObject).size;
    if (size === 0 && state === null) return this.#refuse('it asks for input, but not for which');
    if (size > MAX_INPUTS) return this.#refuse(`it asks for more than ${MAX_INPUTS} inputs at once`);
    this.#rounds++;
    if (this.#rounds > MAX_ROUNDS) return this.#refuse(`it asks for input more than ${MAX_ROUNDS} times`);
    this.#state = state && Uint8Array.from(bytesOf(frame, state));
    this.#responses = [];
    this.#ends.life.alias(this.#original.id, null);
    if (size > 0) return this.#ask(frame, requests!);
    this.#pause = setTimeout(() => this.#repeat(), PAUSE_MS);
  }

  /** Gives the host each request of the result, as a message of its own. */
  async #ask(frame: Answer, { value, span }: Located): Promise<void> {
    const { life } = this.#ends;
    const entries = (value as JsonObject).values.map((request, i) => {
      const key = Uint8Array.from(frame.bytes.subarray(span.keys![i]!.start, span.keys![i]!.end));
      const id = life.freshId();
      return { key, id, bytes: inputBytes(frame, { value: request, span: span.children![i]! }, id) };
    });
    for (const { key, id } of entries) {
      const name = idKey(id);
      this.#asked.set(name, id);
      this.#inputs.set(name, (answer) => this.#input(name, key, answer));
    }
    for (const { id, bytes } of entries) {
      // A refusal of the first ends the call.
      if (!this.#asked.has(idKey(id))) continue;
      await this.#ends.deliver(bytes, this.#original.id);
    }
  }

  /** The host's answer to one of the requests. */
  #input(name: string, key: Uint8Array, answer: Answer): void {
    this.#inputs.delete(name);
    this.#asked.delete(name);
    if (answer.kind === 'error') {
      const message = `The call needs input, which was refused with error ${answer.error.code}: ${quote(answer.error.message)}.`;
      this.#ends.follow(this.#deny(new Denial('server', 'GATEWAY_INPUT', message)));
      return;
    }
    this.#responses.push([key, Uint8Array.from(bytesOf(answer, locate(answer, 'result')!))]);
    if (this.#asked.size === 0) this.#repeat();
  }

  #repeat(): void {
    const original = this.#original;
    const id = this.#ends.life.freshId();
    const responses = this.#responses.flatMap(([key, value], i) => [i > 0 ? ',' : '', key, ':', value]);
    const members: Member[] = [];
    if (this.#responses.length > 0) members.push(['inputResponses', raw('{', responses, '}')]);
    if (this.#state !== null) members.push(['requestState', this.#state]);
    const bytes = splice(original.bytes, [
      replace(locate(original, 'id')!, raw(id.lexeme)),
      ...setMembers(locate(original, 'params')!, members, AGAIN),
    ]);
    this.#ends.follow(this.#send(read(bytes) as RequestFrame));
  }

  /** The answer of the server to the repeated call is that to the call. */
  #finish(frame: Answer, on?: Id): void | Promise<void> {
    this.#close();
    const { id } = this.#original;
    if (idKey(frame.id!) === idKey(id)) return this.#ends.pass(frame, on);
    return this.#ends.deliver(splice(frame.bytes, [replace(locate(frame, 'id')!, raw(idKey(id)))]), id);
  }

  #refuse(what: string): void | Promise<void> {
    const message = `The server's answer cannot be used: ${what}.`;
    return this.#deny(new Denial('server', 'GATEWAY_BAD_ANSWER', message));
  }

  #deny(denial: Denial): void | Promise<void> {
    if (this.#isOver) return;
    const withdrawn = this.#close();
    const answered = this.#ends.deliver(
      denialBytes(raw(idKey(this.#original.id)), denial),
      this.#original.id,
    );
    return withdrawn ? withdrawn.then(() => answered) : answered;
  }

  #failed(error: BullaError): void {
    // That the server is gone fails every open call elsewhere.
    if (this.#ends.life.ended !== null || this.#signal?.aborted) this.#close();
    else this.#ends.follow(this.#deny(serverFailed(error)));
  }

  readonly #cancelled = (): void => {
    if (this.#current !== null) this.#ends.life.forget(this.#current);
    this.#ends.follow(this.#close(false));
  };

  /** Nothing more is done for the call; what the host was asked for is withdrawn. */
  #close(isAnswered = true): void | Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#pause);
    this.#signal?.removeEventListener('abort', this.#cancelled);
    const { life } = this.#ends;
    // A cancelled call is told to the server under the id that it has there.
    if (isAnswered) life.alias(this.#original.id, this.#original.id);
    if (this.#current !== null) this.#streams.delete(idKey(this.#current));
    const asked = [...this.#asked];
    this.#asked.clear();
    const told = asked.map(([name, id]) => {
      this.#inputs.delete(name);
      return this.#ends.deliver(cancelledBytes(id), this.#original.id);
    });
    if (told.some((each) => each)) return Promise.all(told).then(() => {});
  }
}

function isRequests({ value }: Located): boolean {
  if (!(value instanceof JsonObject)) return false;
  return value.values.every(
    (request) =>
      request instanceof JsonObject &&
      typeof request.get('method') === 'string' &&
      (!request.has('params') || request.get('params') instanceof JsonObject),
  );
}

/** A request in a result as a message. In the initialize era an elicitation by URL has an id. */
function inputBytes(frame: Answer, { value, span }: Located, id: Id): Uint8Array {
  const request = value as JsonObject;
  const at = request.indexOf('params');
  const method = request.get('method') as string;
  if (at < 0) return requestBytes(id, method, null);
  const params: Located = { value: request.values[at]!, span: span.children![at]! };
  const bytes = requestBytes(id, method, bytesOf(frame, params));
  const isUrl = method === 'elicitation/create' && (params.value as JsonObject).get('mode') === 'url';
  if (!isUrl || (params.value as JsonObject).has('elicitationId')) return bytes;
  const member: Member = ['elicitationId', raw(stringify(randomUUID()))];
  return splice(bytes, setMembers(locate(read(bytes), 'params')!, [member]));
}
