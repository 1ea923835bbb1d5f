import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { createCall, type HttpOptions, mediaTypeOf, receive, statusError } from './call.ts';
import { readEvents } from './events.ts';
import { DEFAULT_MAX_FRAME_BYTES } from './frame.ts';
import { EVENTS_TYPE } from './http.ts';
import { deliver, quote, type Receiver, type Transport } from './transport.ts';

/**
 * The HTTP+SSE transport of 2024-11-05: one stream brings everything, and its first event tells where to send.
 * Rejects with the codes of {@link createCall}, with `MCP_HTTP_STATUS`, and with `MCP_HTTP_RESPONSE` also when the
 * stream ends before it told. `ended` tells `MCP_SERVER_ENDED`.
 */
export async function connectSse(
  url: URL,
  options: HttpOptions,
  receiver: Receiver,
  timeoutMs: number,
): Promise<Transport> {
  const call = createCall(url, options);
  const frames = options.frames ?? {};
  const closed = new AbortController();
  const deadline = AbortSignal.timeout(timeoutMs);
  const onDeadline = (): void =>
    closed.abort(new BullaError('MCP_TIMEOUT', 'The server told no address to send to.'));
  deadline.addEventListener('abort', onDeadline);
  try {
    const response = await call({ method: 'GET', headers: { accept: EVENTS_TYPE }, signal: closed.signal });
    if (!response.ok) throw (await statusError(response, frames)).error;
    if (mediaTypeOf(response.headers.get('content-type')) !== EVENTS_TYPE) {
      await response.body?.cancel();
      throw new BullaError('MCP_HTTP_RESPONSE', 'The server offers no stream of events.');
    }
    const { promise, resolve, reject } = Promise.withResolvers<URL>();
    const reading = readEvents(
      response.body!,
      frames.maxBytes ?? DEFAULT_MAX_FRAME_BYTES,
      ({ event, data }) => {
        if (event === 'endpoint') return resolve(endpoint(data, url));
        if ((event === undefined || event === 'message') && data !== '') {
          return deliver(receiver, receive(toUtf8(data), frames, receiver));
        }
      },
    );
    reading.then(
      () => reject(streamEnded()),
      (error) => reject(error instanceof BullaError ? error : streamEnded(error)),
    );
    const to = await promise;
    const over = (error?: unknown): void => {
      if (closed.signal.aborted) return;
      const isOurs = error instanceof BullaError && error.code === 'MCP_RECEIVER_FAILED';
      receiver.ended(isOurs ? error : new BullaError('MCP_SERVER_ENDED', 'The server ended its stream.'));
    };
    reading.then(() => over(), over);
    return {
      isPerRequest: false,
      async send(frame, signal) {
        const headers = { 'content-type': 'application/json' };
        const signals = AbortSignal.any([closed.signal, ...(signal ? [signal] : [])]);
        const answer = await call({ method: 'POST', headers, body: frame.bytes, signal: signals, url: to });
        if (!answer.ok) throw (await statusError(answer, frames)).error;
        await answer.body?.cancel();
      },
      established() {},
      async close() {
        closed.abort(new BullaError('MCP_CLOSED', 'The connection was closed.'));
      },
    };
  } catch (error) {
    closed.abort(error);
    throw error;
  } finally {
    deadline.removeEventListener('abort', onDeadline);
  }
}

function streamEnded(cause?: unknown): BullaError {
  return new BullaError('MCP_HTTP_RESPONSE', 'The stream of events ended before it told where to send.', {
    cause,
  });
}

/** Where to send, as the first event tells it; on another origin it would draw what is sent away from the server. */
function endpoint(data: string, base: URL): URL {
  const url = URL.parse(data, base);
  if (url !== null && url.origin === base.origin) return url;
  throw new BullaError(
    'MCP_HTTP_REDIRECT',
    `The server wants messages sent to ${quote(data)}, on another origin.`,
  );
}
