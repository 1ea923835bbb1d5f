import { BullaError } from '@bulla/core/error';
import { unbroken } from '../os/index.ts';
import { readBody } from './events.ts';
import {
  DEFAULT_MAX_FRAME_BYTES,
  type ErrorFrame,
  type Frame,
  type FrameOptions,
  parseFrame,
  type RequestFrame,
} from './frame.ts';
import { HttpStatusError, quote, type Receiver } from './transport.ts';

/** How a server refused credentials. */
export interface RefusedCredentials {
  readonly status: number;
  /** The `WWW-Authenticate` header. */
  readonly challenge: string | null;
  /** What stood in the `Authorization` header. */
  readonly authorization: string | null;
}

export interface Authorizer {
  /** What stands in the `Authorization` header, or null. What is known to end soon is renewed before. */
  header(): string | null | Promise<string | null>;
  /**
   * Gets other credentials than those that the server refused, once for all who ask meanwhile, and tells whether there are
   * any. Rejects with `MCP_OAUTH_FAILED` when a person was asked in vain.
   */
  renew(refused: RefusedCredentials): Promise<boolean>;
  /** What the operator can do when there are none: a sentence that quotes nobody. */
  readonly advice: string;
}

export interface HttpOptions {
  /** Headers of every request, beside those of the protocol. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Such headers whose values are secrets, whatever their names. */
  readonly secretHeaders?: Readonly<Record<string, string>> | undefined;
  readonly authorizer?: Authorizer | undefined;
  /**
   * Get other credentials when the server refuses those of a request, and send it again, once: what was refused was not
   * executed. Default false: who asks does that.
   */
  readonly renews?: boolean | undefined;
  /** The server refuses the credentials, and there are no others. Only with `renews`. */
  readonly onUnauthorized?: ((error: HttpStatusError) => void) | undefined;
  /** The headers in which arguments of a call stand too. */
  readonly headersOf?: ((request: RequestFrame) => Readonly<Record<string, string>>) | undefined;
  readonly frames?: FrameOptions | undefined;
}

interface CallRequest {
  readonly method: 'POST' | 'GET' | 'DELETE';
  readonly headers: Record<string, string>;
  readonly body?: Uint8Array;
  readonly signal: AbortSignal;
  /** Default: the address of the server. */
  readonly url?: URL;
}

/** One HTTP exchange with the server. */
export type Call = ReturnType<typeof createCall>;

/**
 * A token that was given by the operator. One that is refused is read again where `read` is given, which may reject: the
 * place where it stands may hold another one by now.
 */
export function bearer(given: string, read?: () => Promise<string>): Authorizer {
  let token = given;
  let reading: Promise<void> | null = null;
  const header = () => `Bearer ${token}`;
  return {
    header,
    async renew({ status, authorization }) {
      if (status !== 401) return false;
      if (header() === authorization && read !== undefined) {
        reading ??= read()
          .then((next) => {
            token = next;
          })
          .catch(() => {}) // the token that was refused stays
          .finally(() => {
            reading = null;
          });
        await reading;
      }
      return header() !== authorization;
    },
    advice:
      read === undefined
        ? 'Start the gateway again with a token that the server takes.'
        : 'Put a token that the server takes where the configuration refers to it; it is read again with the next request.',
  };
}

const SECRET_NAME =
  /key|token|secret|pass|pwd|auth(?!or$)|cred|bearer|cookie|session|sign|private|jwt|\bpat\b/i;

/**
 * Makes the function that calls a server. It throws `MCP_HTTP_HEADER` for a header that HTTP cannot carry and
 * `MCP_HTTP_INSECURE` for credentials that would go over plain HTTP to another machine. The function rejects with
 * `MCP_HTTP_UNREACHABLE`, with `MCP_HTTP_REDIRECT`, because the address is what was locked and credentials must not
 * follow, with `MCP_HTTP_UNAUTHORIZED` for 401 and 403, with `MCP_HTTP_SCOPE` for 403 where more is wanted than was
 * granted, and with the signal's reason.
 */
export function createCall(url: URL, options: HttpOptions) {
  const common = checkHeaders(options.headers ?? {});
  const secret = checkHeaders(options.secretHeaders ?? {});
  for (const [name, value] of secret) common.set(name, value);
  const isSecret =
    options.authorizer || [...common.keys()].some((name) => secret.has(name) || SECRET_NAME.test(name));
  if (url.protocol === 'http:' && !isLoopback(url) && isSecret) {
    throw new BullaError('MCP_HTTP_INSECURE', 'Credentials are not sent over plain HTTP to another machine.');
  }
  const send = async (
    { method, headers, body, signal, url: other }: CallRequest,
    authorization: string | null,
  ) => {
    const all = new Headers(common);
    for (const [name, value] of checkHeaders(headers)) all.set(name, value);
    if (authorization !== null)
      for (const [name, value] of checkHeaders({ authorization })) all.set(name, value);
    let response: Response;
    try {
      response = await fetch(other ?? url, {
        method,
        headers: all,
        signal,
        redirect: 'manual',
        // A bridge behind the server may frame messages by lines.
        ...(body && { body: unbroken(body) as Uint8Array<ArrayBuffer> }),
      });
    } catch (cause) {
      signal.throwIfAborted();
      const reason = (cause as { cause?: { code?: string } }).cause?.code ?? (cause as Error).message;
      throw new BullaError('MCP_HTTP_UNREACHABLE', `The server cannot be reached (${reason}).`, { cause });
    }
    if (response.status >= 300 && response.status < 400) {
      await response.body?.cancel();
      const to = response.headers.get('location');
      throw new BullaError(
        'MCP_HTTP_REDIRECT',
        `The server redirects${to === null ? '' : ` to ${quote(to)}`}; give the address that is meant.`,
      );
    }
    return response;
  };
  const { authorizer, renews = false, onUnauthorized } = options;
  if (!renews) {
    return async (request: CallRequest): Promise<Response> => {
      const response = await send(request, await untilAborted(authorizer?.header() ?? null, request.signal));
      if (isUnauthorized(response)) throw await refusalOf(response);
      return response;
    };
  }
  return async (request: CallRequest): Promise<Response> => {
    const { signal } = request;
    const authorization = await untilAborted(authorizer?.header() ?? null, signal);
    const response = await send(request, authorization);
    if (!isUnauthorized(response)) return response;
    const { status } = response;
    const refusal = await refusalOf(response, authorizer?.advice ?? NO_CREDENTIALS);
    const renewal = authorizer?.renew({ status, challenge: refusal.challenge, authorization }) ?? false;
    const isRenewed = await untilAborted(renewal, signal).catch((cause) => {
      signal.throwIfAborted();
      refusal.cause = cause;
      return false;
    });
    const again = isRenewed ? await send(request, await untilAborted(authorizer!.header(), signal)) : null;
    if (again !== null && !isUnauthorized(again)) return again;
    const last = again === null ? refusal : await refusalOf(again, authorizer!.advice);
    onUnauthorized?.(last);
    throw last;
  };
}

const NO_CREDENTIALS = 'The gateway has no token for it: lock it with credentials, and give them here.';

/** Waits no longer than the signal allows; the work goes on for others. */
async function untilAborted<Result>(work: Result | Promise<Result>, signal: AbortSignal): Promise<Result> {
  if (!(work instanceof Promise)) return work;
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort);
  work.catch(() => {}); // whoever still waits gets the error
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

function isUnauthorized({ status }: Response): boolean {
  return status === 401 || status === 403;
}

/** RFC 6750 §3.1: what the server wants is more than the token was given for. */
function wantsScope(challenge: string | null): boolean {
  return /(?:^|[\s,])error\s*=\s*"?insufficient_scope"?(?:[\s,]|$)/i.test(challenge ?? '');
}

/** The error for refused credentials. Its message quotes nothing of the server. */
async function refusalOf(response: Response, advice?: string): Promise<HttpStatusError> {
  await response.body?.cancel();
  const { status } = response;
  const challenge = response.headers.get('www-authenticate');
  const isScope = status === 403 && wantsScope(challenge);
  const what = isScope
    ? 'wants a wider scope than the credentials have'
    : status === 401
      ? 'asks for credentials'
      : 'refuses the credentials';
  return new HttpStatusError(
    isScope ? 'MCP_HTTP_SCOPE' : 'MCP_HTTP_UNAUTHORIZED',
    `The server ${what} (HTTP ${status}).${advice === undefined ? '' : ` ${advice}`}`,
    status,
    null,
    challenge,
  );
}

function checkHeaders(headers: Readonly<Record<string, string>>): Headers {
  try {
    return new Headers(headers);
  } catch (cause) {
    throw new BullaError('MCP_HTTP_HEADER', 'A header has a name or a value that HTTP cannot carry.', {
      cause,
    });
  }
}

function isLoopback({ hostname }: URL): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname);
}

/** The media type of a `Content-Type` header, in lower case and without parameters. */
export function mediaTypeOf(contentType: string | null | undefined): string {
  return (contentType ?? '').split(';')[0]!.trim().toLowerCase();
}

/** The error for an unsuccessful status, with the JSON-RPC error of the body if there is one. */
export async function statusError(
  response: Response,
  frames: FrameOptions,
): Promise<{ error: HttpStatusError; frame: ErrorFrame | null }> {
  let frame: ErrorFrame | null = null;
  try {
    const parsed = parseFrame(await readBody(response, frames.maxBytes ?? DEFAULT_MAX_FRAME_BYTES), frames);
    if (parsed.kind === 'error') frame = parsed;
  } catch {} // a page for people, or nothing: the status tells
  const said = frame === null ? '' : `: ${quote(frame.error.message)}`;
  const message = `The server answered with HTTP status ${response.status}${said}.`;
  return {
    error: new HttpStatusError('MCP_HTTP_STATUS', message, response.status, frame?.error ?? null),
    frame,
  };
}

/** Parses a message; for an invalid one the receiver gets the error, and it is thrown. */
export function receive(bytes: Uint8Array, frames: FrameOptions, receiver: Receiver): Frame {
  try {
    return parseFrame(bytes, frames);
  } catch (error) {
    receiver.refused(error as BullaError, bytes);
    throw error;
  }
}
