import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import {
  JsonNumber,
  JsonObject,
  type JsonValue,
  parse,
  type Span,
  spanIn,
  stringify,
} from '@bulla/core/json';

/** The id of a request: a string, or an integer by its digits. */
export type Id = string | JsonNumber;

interface Common {
  /** The message as it came, without the line end that framed it. */
  readonly bytes: Uint8Array;
  readonly message: JsonObject;
  /** Where its values stand, once somebody asked (`spanOf`). */
  readonly spans: { root: Span | null };
}

export interface RequestFrame extends Common {
  readonly kind: 'request';
  readonly id: Id;
  readonly method: string;
  readonly params: JsonObject | null;
}

export interface NotificationFrame extends Common {
  readonly kind: 'notification';
  readonly method: string;
  readonly params: JsonObject | null;
}

export interface ResultFrame extends Common {
  readonly kind: 'result';
  readonly id: Id;
  readonly result: JsonObject;
}

export interface ErrorFrame extends Common {
  readonly kind: 'error';
  /** Null when the sender could not read the id of what it answers. */
  readonly id: Id | null;
  readonly error: { readonly code: number; readonly message: string; readonly data: JsonValue | undefined };
}

/** One JSON-RPC message (MCP 2026-07-28, Basic, Messages): its bytes, and what was read out of them. */
export type Frame = RequestFrame | NotificationFrame | ResultFrame | ErrorFrame;

export interface FrameOptions {
  /** The longest message, in bytes. Default {@link DEFAULT_MAX_FRAME_BYTES}. */
  readonly maxBytes?: number;
}

/**
 * The longest message by default: what the SDK's own stdio transport reads. A host can take no more, and the worst
 * that a hostile server can put into it (millions of empty objects) stays under a gigabyte when parsed.
 */
export const DEFAULT_MAX_FRAME_BYTES: number = 10 * 1024 * 1024;

const MEMBERS = ['jsonrpc', 'id', 'method', 'params', 'result', 'error'];
const ERROR_MEMBERS = ['code', 'message', 'data'];
const INTEGER = /^-?(?:0|[1-9][0-9]*)$/;

/**
 * Reads one message. Throws `MCP_FRAME_TOO_LARGE`, `MCP_FRAME_JSON` with the parser's error as its cause for what
 * is not strict JSON, `MCP_FRAME_BATCH` for an array of messages, `MCP_FRAME_CASE_TWIN` for a member that a reader
 * of any case would confuse with a known one, and `MCP_FRAME_SHAPE` for everything else that is not exactly a
 * request, a notification, a result or an error.
 */
export function parseFrame(bytes: Uint8Array, options: FrameOptions = {}): Frame {
  const message = parseMessage(bytes, options);
  if (Array.isArray(message)) {
    throw new BullaError('MCP_FRAME_BATCH', 'Several messages came in one array; each must come alone.');
  }
  if (!(message instanceof JsonObject)) throw misshapen('A message is an object.');
  checkMembers(message, MEMBERS, '');
  if (message.get('jsonrpc') !== '2.0') throw misshapen('The member jsonrpc must be "2.0".', '/jsonrpc');
  const has = (name: string): boolean => message.has(name);
  const spans = { root: null };
  if (has('method')) {
    if (has('result') || has('error')) throw misshapen('A message with a method has no result and no error.');
    const method = message.get('method');
    if (typeof method !== 'string') throw misshapen('A method is a string.', '/method');
    const params = message.get('params') ?? null;
    if (has('params') && !(params instanceof JsonObject)) throw misshapen('params is an object.', '/params');
    const rest = { bytes, message, spans, method, params: params as JsonObject | null };
    if (!has('id')) return { kind: 'notification', ...rest };
    return { kind: 'request', id: readId(message.get('id')), ...rest };
  }
  if (has('params')) throw misshapen('params stands only beside a method.', '/params');
  if (has('result')) {
    if (has('error')) throw misshapen('An answer has a result or an error, not both.');
    const result = message.get('result');
    if (!(result instanceof JsonObject)) throw misshapen('A result is an object.', '/result');
    return { kind: 'result', id: readId(message.get('id')), result, bytes, message, spans };
  }
  if (!has('error')) throw misshapen('A message has a method, a result or an error.');
  const id = message.get('id') ?? null;
  return {
    kind: 'error',
    id: id === null ? null : readId(id),
    error: readError(message.get('error')),
    bytes,
    message,
    spans,
  };
}

function parseMessage(bytes: Uint8Array, { maxBytes = DEFAULT_MAX_FRAME_BYTES }: FrameOptions): JsonValue {
  if (bytes.length > maxBytes) throw tooLarge(maxBytes);
  try {
    return parse(bytes, { maxBytes });
  } catch (cause) {
    if (!(cause instanceof BullaError)) throw cause;
    throw new BullaError('MCP_FRAME_JSON', `A message is not strict JSON. ${cause.message}`, {
      cause,
      ...(cause.offset === undefined ? {} : { offset: cause.offset }),
    });
  }
}

export function tooLarge(maxBytes: number): BullaError {
  return new BullaError('MCP_FRAME_TOO_LARGE', `A message is longer than ${maxBytes} bytes.`, {
    offset: maxBytes,
  });
}

function misshapen(message: string, path = ''): BullaError {
  return new BullaError('MCP_FRAME_SHAPE', message, { path });
}

/** Refuses members that are not known: a reader that does not care for case would take some for known ones. */
function checkMembers(object: JsonObject, known: readonly string[], path: string): void {
  const twin = caseTwin(object, known);
  if (twin !== null) {
    throw new BullaError(
      'MCP_FRAME_CASE_TWIN',
      `The member ${JSON.stringify(twin)} differs from a known one only in case.`,
      { path },
    );
  }
  for (const key of object.keys) {
    if (!known.includes(key))
      throw misshapen(`The member ${JSON.stringify(key.slice(0, 40))} is not known.`, path);
  }
}

/**
 * The first key that is not one of `known` but would be taken for it by a reader that ignores case, such as Go's
 * standard decoder (which also folds U+017F and U+212A), or null.
 */
export function caseTwin(object: JsonObject, known: readonly string[]): string | null {
  let find = finders.get(known);
  if (find === undefined) {
    find = twinFinder(known);
    finders.set(known, find);
  }
  return find(object);
}

/** For each list of names that somebody keeps, so that every message is held against a list that is folded already. */
const finders = new WeakMap<readonly string[], (object: JsonObject) => string | null>();

/** The same for many objects. */
export function twinFinder(known: readonly string[]): (object: JsonObject) => string | null {
  const longest = Math.max(...known.map((name) => name.length));
  const exact = new Set(known);
  const folded = new Set(known.map(foldCase));
  // Folding makes no text shorter.
  const isTwin = (key: string): boolean =>
    key.length <= longest && !exact.has(key) && folded.has(foldCase(key));
  return ({ keys }) => keys.find(isTwin) ?? null;
}

/** A text without regard to case, as the most careless reader would have it. */
export function foldCase(text: string): string {
  return text.toUpperCase().toLowerCase();
}

/** The longest id. They are kept while requests are open, on both sides. */
const MAX_ID = 1024;

function readId(id: JsonValue | undefined): Id {
  const text = id instanceof JsonNumber ? id.lexeme : id;
  if (typeof text === 'string' && text.length > MAX_ID) {
    throw misshapen(`An id has at most ${MAX_ID} characters.`, '/id');
  }
  if (typeof id === 'string' || (id instanceof JsonNumber && INTEGER.test(id.lexeme))) return id;
  throw misshapen('An id is a string or an integer, written without fraction and exponent.', '/id');
}

function readError(error: JsonValue | undefined): ErrorFrame['error'] {
  if (!(error instanceof JsonObject)) throw misshapen('An error is an object.', '/error');
  checkMembers(error, ERROR_MEMBERS, '/error');
  const code = error.get('code');
  const message = error.get('message');
  if (!(code instanceof JsonNumber && INTEGER.test(code.lexeme) && Number.isSafeInteger(code.toNumber()))) {
    throw misshapen('The code of an error is an integer.', '/error/code');
  }
  if (typeof message !== 'string') throw misshapen('The message of an error is a string.', '/error/message');
  return { code: code.toNumber(), message, data: error.get('data') };
}

/** The id as a key: two ids have the same one only if they are of the same type and equal. */
export function idKey(id: Id): string {
  return typeof id === 'string' ? JSON.stringify(id) : id.lexeme;
}

/** Where every value of the message stands in `frame.bytes`; only what is asked for is looked for. */
export function spanOf({ spans, bytes }: Frame): Span {
  spans.root ??= spanIn(bytes);
  return spans.root;
}

/** Writes a request. Throws a `VALUE_…` code for params that JSON cannot hold. */
export function requestFrame(id: Id | number, method: string, params?: object): RequestFrame {
  return written({ jsonrpc: '2.0', id, method, ...(params && { params }) }) as RequestFrame;
}

/** Writes a notification. Throws as {@link requestFrame}. */
export function notificationFrame(method: string, params?: object): NotificationFrame {
  return written({ jsonrpc: '2.0', method, ...(params && { params }) }) as NotificationFrame;
}

/** Writes the answer to a request. Throws as {@link requestFrame}. */
export function resultFrame(id: Id, result: object): ResultFrame {
  return written({ jsonrpc: '2.0', id, result }) as ResultFrame;
}

/** Writes the refusal of a request. */
export function errorFrame(id: Id | null, code: number, message: string): ErrorFrame {
  return written({ jsonrpc: '2.0', id, error: { code, message } }) as ErrorFrame;
}

function written(message: object): Frame {
  const bytes = toUtf8(stringify(message));
  return parseFrame(bytes, { maxBytes: bytes.length });
}
