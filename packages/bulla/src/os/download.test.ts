import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { refusal } from '../../test/mcp.ts';
import { type Handler, tlsServer } from '../../test/registry.ts';
import { TEST_CERTIFICATE } from '../../test/tls.ts';
import { createFetcher, type Fetcher, type Network, readBody } from './download.ts';

const ca = [TEST_CERTIFICATE];

function fetcher(network: Network): Fetcher {
  const made = createFetcher(network);
  onTestFinished(() => made.close());
  return made;
}

/** A fetcher that may ask these servers, although they are on this machine. */
const allowing = (origins: URL[], network: Network = {}) =>
  fetcher({ ca, privateOrigins: new Set(origins.map(({ origin }) => origin)), ...network });

const get = async (from: Fetcher, url: URL | string, maxBytes = 1000) =>
  (await readBody(await from.get(new URL(url), { maxBytes }))).toString();

const code = async (promise: Promise<unknown>) => (await refusal(promise)).code;

const hello: Handler = (_, response) => response.end('hello');

test('a configured origin is reached over TLS, and only with a certificate that is trusted', async () => {
  const { url, asked } = await tlsServer(hello);
  expect(await get(allowing([url]), url)).toBe('hello');
  const { code, message } = await refusal(get(fetcher({ privateOrigins: new Set([url.origin]) }), url));
  expect([code, message]).toEqual([
    'DOWNLOAD_FAILED',
    `${url.origin}/ cannot be fetched (DEPTH_ZERO_SELF_SIGNED_CERT).`,
  ]);
  expect(asked).toEqual(['GET /']);
});

test('nothing else at a private address is asked', async () => {
  const { url, asked } = await tlsServer(hello);
  for (const host of ['localhost', '127.0.0.1', '[::1]', 'a.localhost', 'localhost.', '[::ffff:127.0.0.1]'])
    expect(await code(get(fetcher({ ca }), `https://${host}:${url.port}/`)), host).toBe('DOWNLOAD_PRIVATE');
  expect(asked).toEqual([]);
});

test('what a name resolves to is checked when it is dialled, and one private address is enough', async () => {
  const { url, asked } = await tlsServer(hello);
  const answers = [
    [{ address: '127.0.0.1', family: 4 }],
    [
      { address: '9.9.9.9', family: 4 },
      { address: '10.0.0.1', family: 4 },
    ],
    [{ address: '64:ff9b::7f00:1', family: 6 }],
    [],
  ];
  const resolve = async () => answers.shift()!;
  const from = fetcher({ ca, resolve });
  while (answers.length > 0)
    expect(await code(get(from, `https://registry.example:${url.port}/`))).toBe('DOWNLOAD_PRIVATE');
  expect(asked).toEqual([]);
});

test('plain http and addresses with a password are not asked', async () => {
  const from = fetcher({});
  expect(await code(get(from, 'http://example.org/'))).toBe('DOWNLOAD_ADDRESS');
  expect(await code(get(from, 'ftp://example.org/'))).toBe('DOWNLOAD_ADDRESS');
  const { code: refused, message } = await refusal(get(from, 'https://u:secret@example.org/'));
  expect([refused, message.includes('secret')]).toEqual(['DOWNLOAD_ADDRESS', false]);
});

test('plain http is for a configured origin only', async () => {
  const server = createServer((_, response) => response.end('plain'));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  const url = new URL(`http://localhost:${(server.address() as AddressInfo).port}/`);
  expect(await get(allowing([url]), url)).toBe('plain');
  expect(await code(get(allowing([]), url))).toBe('DOWNLOAD_ADDRESS');
});

test('each redirect is checked as if it were asked for', async () => {
  const other = await tlsServer(hello);
  const targets: Record<string, string> = {
    '/private': `https://127.0.0.1:${other.url.port}/`,
    '/other': other.url.href,
    '/http': 'http://example.org/',
    '/metadata': 'https://169.254.169.254/latest',
    '/file': 'file:///etc/passwd',
    '/nowhere': 'https://',
  };
  const { url } = await tlsServer((request, response) => {
    response.writeHead(302, { location: targets[request.url!] }).end();
  });
  const from = allowing([url]);
  for (const [path, expected] of [
    ['/private', 'DOWNLOAD_PRIVATE'],
    ['/other', 'DOWNLOAD_PRIVATE'],
    ['/metadata', 'DOWNLOAD_PRIVATE'],
    ['/http', 'DOWNLOAD_ADDRESS'],
    ['/file', 'DOWNLOAD_ADDRESS'],
    ['/nowhere', 'DOWNLOAD_REDIRECT'],
  ] as const)
    expect(await code(get(from, new URL(path, url))), path).toBe(expected);
  expect(other.asked).toEqual([]);
});

test('five redirects are followed and no more; a secret is not passed on to another server', async () => {
  const seen: (string | undefined)[] = [];
  const end = await tlsServer((request, response) => {
    seen.push(request.headers.authorization);
    response.end('end');
  });
  const { url } = await tlsServer((request, response) => {
    const left = Number(request.url!.slice(1));
    seen.push(request.headers.authorization);
    response.writeHead(307, { location: left === 1 ? end.url.href : `/${left - 1}` }).end();
  });
  const from = allowing([url, end.url]);
  const headers = { authorization: 'Bearer x' };
  const reply = await from.get(new URL('/5', url), { headers, maxBytes: 10 });
  expect([(await readBody(reply)).toString(), reply.url.href]).toEqual(['end', end.url.href]);
  expect(seen).toEqual([...Array(5).fill('Bearer x'), undefined]);
  expect(await code(get(from, new URL('/6', url)))).toBe('DOWNLOAD_REDIRECT');
});

test('a body is cut off at its limit, whatever its headers say', async () => {
  const { url } = await tlsServer((request, response) => {
    if (request.url === '/said') response.setHeader('content-length', '11');
    response.write('123456');
    response.end('78901');
  });
  const from = allowing([url]);
  expect(await get(from, new URL('/said', url), 11)).toBe('12345678901');
  expect(await code(get(from, new URL('/said', url), 10))).toBe('DOWNLOAD_TOO_LARGE');
  expect(await code(get(from, new URL('/unsaid', url), 10))).toBe('DOWNLOAD_TOO_LARGE');
});

test('a body that ends early, in another encoding, or never comes, is refused', async () => {
  const { url } = await tlsServer((request, response) => {
    if (request.url === '/encoded') response.writeHead(200, { 'content-encoding': 'gzip' }).end('x');
    if (request.url !== '/early') return;
    response.writeHead(200, { 'content-length': '10' });
    response.write('12345', () => response.destroy());
  });
  const from = allowing([url], { idleMs: 50 });
  expect(await code(get(from, new URL('/early', url)))).toBe('DOWNLOAD_FAILED');
  expect(await code(get(from, new URL('/encoded', url)))).toBe('DOWNLOAD_FAILED');
  expect(await code(get(from, new URL('/never', url)))).toBe('DOWNLOAD_TIMEOUT');
  const short = allowing([url], { totalMs: 50 });
  expect(await code(get(short, new URL('/never', url)))).toBe('DOWNLOAD_TIMEOUT');
});

test("npm's proxy dials what it is asked to; hosts that are excepted are reached without it", async () => {
  const { url } = await tlsServer(hello);
  const connects: string[] = [];
  const proxy = createServer();
  proxy.on('connect', (request, socket) => {
    connects.push(request.url!);
    const upstream = connect(Number(url.port), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    for (const one of [socket, upstream]) one.on('error', () => undefined);
  });
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  const address = new URL(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}/`);
  // Nobody here can resolve the name; the proxy can.
  const target = `https://registry.example:${url.port}/`;
  const from = fetcher({ ca, proxy: address, isDirect: (host) => host === 'direct.example' });
  expect(await get(from, target)).toBe('hello');
  expect(connects).toEqual([`registry.example:${url.port}`]);
  expect(await code(get(from, 'https://127.0.0.1/'))).toBe('DOWNLOAD_PRIVATE');
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
  const direct = fetcher({ ca, proxy: address, resolve, isDirect: () => true });
  expect(await code(get(direct, target))).toBe('DOWNLOAD_PRIVATE');
  expect(connects.length).toBe(1);
});

test('a request that is sent is sent once, with its body, and follows nothing', async () => {
  const { url, asked } = await tlsServer((request, response) => {
    if (request.url === '/moved') response.writeHead(307, { location: '/' }).end();
    else if (request.url === '/broken') request.socket.destroy();
    else request.pipe(response);
  });
  const from = allowing([url]);
  const send = (path: string, maxBytes = 1000) =>
    from.send(new URL(path, url), { method: 'POST', body: Buffer.from('a=1'), maxBytes });
  expect((await readBody(await send('/'))).toString()).toBe('a=1');
  expect(await send('/moved')).toMatchObject({ status: 307, headers: { location: '/' } });
  expect(await code(send('/broken'))).toBe('DOWNLOAD_FAILED');
  expect(await code(send('/', 2).then(readBody))).toBe('DOWNLOAD_TOO_LARGE');
  const elsewhere = fetcher({ ca }).send(url, { method: 'POST', maxBytes: 1000 });
  expect(await code(elsewhere)).toBe('DOWNLOAD_PRIVATE');
  expect(asked).toEqual(['POST /', 'POST /moved', 'POST /broken', 'POST /']);
});
