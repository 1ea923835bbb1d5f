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

export interface Authorizer {
  /** What stands in the `Authorization` header, or null. */
  header(): string | null;
  /**
   * The server refused what `header` gave, with this status and `WWW-Authenticate` header. Gets new credentials, and
   * tells whether there are any.
   */
  renew(status: number, challenge: string | null): Promise<boolean>;
}

export interface HttpOptions {
  /** Headers of every request, beside those of the protocol. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Such headers whose values are secrets, whatever their names. */
  readonly secretHeaders?: Readonly<Record<string, string>> | undefined;
  readonly authorizer?: Authorizer | undefined;
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

/** A token that was given by the operator. */
export function bearer(token: string): Authorizer {
  return { header: () => `Bearer ${token}`, renew: async () => false };
}

const SECRET_NAME =
  /key|token|secret|pass|pwd|auth(?!or$)|cred|bearer|cookie|session|sign|private|jwt|\bpat\b/i;

/**
 * Makes the function that calls a server. It throws `MCP_HTTP_HEADER` for a header that HTTP cannot carry and
 * `MCP_HTTP_INSECURE` for credentials that would go over plain HTTP to another machine. The function rejects with
 * `MCP_HTTP_UNREACHABLE`, with `MCP_HTTP_REDIRECT`, because the address is what was locked and credentials must not
 * follow, with `MCP_HTTP_UNAUTHORIZED` for 401 and 403, and with the signal's reason.
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
  return async ({ method, headers, body, signal, url: other }: CallRequest): Promise<Response> => {
    const all = new Headers(common);
    for (const [name, value] of checkHeaders(headers)) all.set(name, value);
    const authorization = options.authorizer?.header();
    if (authorization) all.set('authorization', authorization);
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
    if (response.status === 401 || response.status === 403) {
      await response.body?.cancel();
      const what = response.status === 401 ? 'asks for credentials' : 'refuses the credentials';
      throw new HttpStatusError(
        'MCP_HTTP_UNAUTHORIZED',
        `The server ${what} (HTTP ${response.status}).`,
        response.status,
        null,
        response.headers.get('www-authenticate'),
      );
    }
    return response;
  };
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
