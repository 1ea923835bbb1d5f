import type { IncomingMessage, RequestListener } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';

/** Serves with a function of web requests, such as the SDK's handlers are. */
export function webListener(handle: (request: Request) => Promise<Response>): RequestListener {
  return async (incoming, outgoing) => {
    const stop = new AbortController();
    outgoing.on('close', () => stop.abort());
    const body = incoming.method === 'POST' ? ((await readAll(incoming)) as Uint8Array<ArrayBuffer>) : null;
    const response = await handle(
      new Request(new URL(incoming.url!, `http://${incoming.headers.host}`), {
        method: incoming.method!,
        headers: Object.entries(incoming.headersDistinct).flatMap(([name, values]) =>
          (values ?? []).map((value): [string, string] => [name, value]),
        ),
        body,
        signal: stop.signal,
      }),
    );
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    // A stream whose first event is far away has begun all the same.
    outgoing.flushHeaders();
    if (response.body === null) return void outgoing.end();
    try {
      await pipeline(Readable.fromWeb(response.body as ReadableStream), outgoing);
    } catch {} // the client went away
  };
}

export async function readAll(incoming: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return new Uint8Array(Buffer.concat(chunks));
}
