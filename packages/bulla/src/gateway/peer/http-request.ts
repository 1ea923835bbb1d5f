import type { IncomingMessage } from 'node:http';
import { EVENTS_TYPE, mediaTypeOf } from '../../mcp/index.ts';
import { RPC } from '../denial.ts';
import { weightOf } from '../wire/slots.ts';
import { Refusal } from './http-response.ts';

type Headers = IncomingMessage['headersDistinct'];

/** Throws a refusal if the host does not say that it takes all of these types. */
export function checkAccept({ accept = [] }: Headers, types: readonly string[]): void {
  const ranges = accept.flatMap((value) => value.split(','));
  const taken = ranges.filter((range) => !/;\s*q=0(?:\.0*)?\s*$/i.test(range)).map(mediaTypeOf);
  if (types.every((type) => taken.includes(type))) return;
  throw new Refusal(406, 'session', 'GATEWAY_HTTP', `The Accept header must list ${types.join(' and ')}.`);
}

/** Throws a refusal if the request has not exactly the form in which messages come. */
export function checkPost(headers: Headers): void {
  const type = headers['content-type'] ?? [];
  const [, charset = 'utf-8'] = /;\s*charset="?([^";]*)"?/i.exec(type[0] ?? '') ?? [];
  if (type.length !== 1 || mediaTypeOf(type[0]) !== 'application/json' || charset.toLowerCase() !== 'utf-8') {
    throw new Refusal(415, 'session', 'GATEWAY_HTTP', 'A message comes as application/json, in UTF-8.');
  }
  const encodings = headers['content-encoding'] ?? [];
  if (encodings.some((encoding) => encoding.toLowerCase() !== 'identity')) {
    throw new Refusal(415, 'session', 'GATEWAY_HTTP', 'A message comes without a content encoding.');
  }
  checkAccept(headers, ['application/json', EVENTS_TYPE]);
}

interface Limits {
  /** Bodies that are being read or wait to be parsed, in bytes. */
  readonly unread: number;
  /** The weight of messages that are parsed and not yet taken by their sessions. */
  readonly weight: number;
}

const LIMITS: Limits = { unread: 128 * 1024 * 1024, weight: 64 * 1024 * 1024 };

/** The memory for messages of one agent on their way into its sessions. */
export class Room {
  readonly #limits: Limits;
  #unread = 0;
  #weight = 0;
  #entered: Promise<void> = Promise.resolve();
  #wake: () => void = () => {};

  constructor(limits: Limits = LIMITS) {
    this.#limits = limits;
  }

  /**
   * Reads a body, waits until there is room to parse it, and keeps that room until `use` has ended. Throws a refusal for
   * a body that is too large, or too much to read now. Rejects with the error of a sender that went away or is too slow.
   */
  async read<Result>(
    request: IncomingMessage,
    maxBytes: number,
    use: (body: Uint8Array) => Promise<Result>,
  ): Promise<Result> {
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
    const body = await this.#read(request, maxBytes);
    const weight = weightOf(body);
    this.#entered = this.#enter(this.#entered, weight);
    await this.#entered;
    this.#unread -= body.length;
    try {
      return await use(body);
    } finally {
      this.#weight -= weight;
      this.#wake();
    }
  }

  /** One after the other, so that small messages do not keep a large one waiting. */
  async #enter(before: Promise<void>, weight: number): Promise<void> {
    await before;
    while (this.#weight > 0 && this.#weight + weight > this.#limits.weight) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#weight += weight;
  }

  async #read(request: IncomingMessage, maxBytes: number): Promise<Uint8Array> {
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        size += chunk.length;
        this.#unread += chunk.length;
        if (size > maxBytes) throw tooLarge(maxBytes);
        if (this.#unread > this.#limits.unread) throw overloaded('Too many messages are on their way.');
        chunks.push(chunk);
      }
    } catch (error) {
      this.#unread -= size;
      throw error;
    }
    return Buffer.concat(chunks);
  }
}

function tooLarge(maxBytes: number): Refusal {
  const message = `A message is longer than ${maxBytes} bytes.`;
  return new Refusal(413, 'frame', 'MCP_FRAME_TOO_LARGE', message, { rpc: RPC.invalid });
}

/** There is no room now; the host may try again. */
export function overloaded(message: string): Refusal {
  return new Refusal(503, 'ids', 'GATEWAY_OVERLOADED', message, { headers: { 'retry-after': '5' } });
}
