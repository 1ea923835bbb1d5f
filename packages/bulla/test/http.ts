import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** Serves HTTP on the loopback address until the test ends. */
export async function serveHttp(listener: RequestListener): Promise<URL> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

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
    try {
      for await (const chunk of response.body ?? []) outgoing.write(chunk);
    } catch {} // the client went away
    outgoing.end();
  };
}

export async function readAll(incoming: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return new Uint8Array(Buffer.concat(chunks));
}
