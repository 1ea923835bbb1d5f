import { createHash } from 'node:crypto';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serveHttp, webListener } from '../../test/http.ts';
import { refusal } from '../../test/mcp.ts';
import { createServer } from '../../test/servers/modern.ts';
import { type OAuthMemory, oauth, scan } from './index.ts';

interface Protected {
  readonly url: URL;
  /** What was asked of the authorization server, in order. */
  readonly log: string[];
  /** Makes every token that was given worthless. */
  expire(): void;
}

/** An MCP server and its authorization server in one, which checks what it is given. */
async function serveProtected(
  deny = false,
  change: { challenge?: string; resource?: object; authorization?: object; moved?: string } = {},
): Promise<Protected> {
  const log: string[] = [];
  const tokens = new Set<string>();
  const challenges = new Map<string, string>();
  const redirects = new Map<string, string[]>();
  const handler = createMcpHandler(createServer, { legacy: 'reject' });
  onTestFinished(() => handler.close());
  let count = 0;
  const give = (more: object = {}): Response => {
    const access_token = `token-${++count}`;
    tokens.add(access_token);
    return Response.json({ access_token, token_type: 'Bearer', expires_in: 3600, ...more });
  };

  const url = await serveHttp(
    webListener(async (request) => {
      const { pathname, searchParams, origin } = new URL(request.url);
      if (pathname === '/') {
        const token = /^Bearer (.+)$/.exec(request.headers.get('authorization') ?? '')?.[1];
        if (token !== undefined && tokens.has(token)) return handler.fetch(request);
        const metadata = change.challenge ?? `${origin}/.well-known/oauth-protected-resource`;
        const challenge = `Bearer resource_metadata="${metadata}"`;
        return new Response(null, { status: 401, headers: { 'www-authenticate': challenge } });
      }
      if (pathname.startsWith('/.well-known/oauth-protected-resource')) {
        if (change.moved) return new Response(null, { status: 302, headers: { location: change.moved } });
        return Response.json({ resource: `${origin}/`, authorization_servers: [origin], ...change.resource });
      }
      if (pathname === '/.well-known/oauth-authorization-server') {
        return Response.json({
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ['code'],
          grant_types_supported: ['authorization_code', 'refresh_token'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
          ...change.authorization,
        });
      }
      if (pathname === '/register') {
        const asked = (await request.json()) as { redirect_uris: string[] };
        log.push('register');
        redirects.set('client-1', asked.redirect_uris);
        return Response.json({ ...asked, client_id: 'client-1' }, { status: 201 });
      }
      if (pathname === '/authorize') {
        log.push('authorize');
        const redirect = searchParams.get('redirect_uri')!;
        if (!redirects.get(searchParams.get('client_id')!)?.includes(redirect))
          return new Response('', { status: 400 });
        const back = new URL(redirect);
        if (deny) back.searchParams.set('error', 'access_denied');
        else back.searchParams.set('code', 'code-1');
        challenges.set('code-1', searchParams.get('code_challenge')!);
        back.searchParams.set('state', searchParams.get('state')!);
        return new Response(null, { status: 302, headers: { location: back.href } });
      }
      if (pathname === '/token') {
        const form = new URLSearchParams(await request.text());
        log.push(`token ${form.get('grant_type')}`);
        if (form.get('grant_type') === 'refresh_token') {
          return form.get('refresh_token') === 'refresh-1' ? give() : new Response('', { status: 400 });
        }
        const verifier = createHash('sha256').update(form.get('code_verifier')!).digest('base64url');
        if (challenges.get(form.get('code')!) !== verifier) return new Response('', { status: 400 });
        return give({ refresh_token: 'refresh-1' });
      }
      return new Response('', { status: 404 });
    }),
  );
  return { url, log, expire: () => tokens.clear() };
}

/** A browser in which somebody agrees at once. */
async function browser(url: URL): Promise<void> {
  const response = await fetch(url);
  expect(await response.text()).toBe('You can close this page.\n');
}

describe('a server that wants a person to sign in', () => {
  it('is scanned after that, and again with what was kept', async () => {
    const { url, log, expire } = await serveProtected();
    const target = { kind: 'http', url: url.href } as const;
    let kept: OAuthMemory = {};
    const memory = {
      load: () => kept,
      save: (next: OAuthMemory) => {
        kept = next;
      },
    };
    const surface = await scan(target, { authorizer: oauth(url, { openBrowser: browser, memory }) });
    expect(surface.tools).toHaveLength(3);
    expect(log.splice(0)).toEqual(['register', 'authorize', 'token authorization_code']);

    const never = () => expect.unreachable();
    await scan(target, { authorizer: oauth(url, { openBrowser: never, memory }) });
    expect(log.splice(0)).toEqual([]);

    expire();
    await scan(target, { authorizer: oauth(url, { openBrowser: never, memory }) });
    expect(log.splice(0)).toEqual(['token refresh_token']);
  });

  it('is not scanned when the person does not agree, or does not come', async () => {
    const { url } = await serveProtected(true);
    const target = { kind: 'http', url: url.href } as const;
    expect(await refusal(scan(target, { authorizer: oauth(url, { openBrowser: browser }) }))).toEqual({
      code: 'MCP_OAUTH_FAILED',
      message: 'The sign-in did not succeed: "access_denied".',
    });
    expect(
      await refusal(scan(target, { authorizer: oauth(url, { openBrowser: () => {}, signInMs: 50 }) })),
    ).toEqual({
      code: 'MCP_OAUTH_FAILED',
      message: 'The sign-in did not succeed: nobody signed in within 50 ms.',
    });
  });

  it('goes on waiting whatever others ask of the address where the browser comes back', async () => {
    const { url } = await serveProtected();
    const answers: string[] = [];
    const disturbed = async (page: URL) => {
      const { port } = new URL(page.searchParams.get('redirect_uri')!);
      for (const path of ['//', '//:x/callback', 'http://[/callback', '*', '/\\\\@:']) {
        const socket = connect(Number(port), '127.0.0.1');
        socket.end(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
        answers.push((await text(socket)).split('\r\n')[0]!);
      }
      await browser(page);
    };
    const target = { kind: 'http', url: url.href } as const;
    const surface = await scan(target, { authorizer: oauth(url, { openBrowser: disturbed }) });
    expect(surface.tools).toHaveLength(3);
    expect(answers).toEqual(Array(5).fill('HTTP/1.1 404 Not Found'));
  });

  it('does not take a code that comes back with another state', async () => {
    const { url } = await serveProtected();
    const statuses: number[] = [];
    const forge = async (page: URL) => {
      const back = new URL(page.searchParams.get('redirect_uri')!);
      for (const query of ['code=evil', 'code=evil&state=guess']) {
        back.search = query;
        statuses.push((await fetch(back)).status);
      }
    };
    const authorizer = oauth(url, { openBrowser: forge, signInMs: 50 });
    const target = { kind: 'http', url: url.href } as const;
    expect(await refusal(scan(target, { authorizer }))).toMatchObject({ code: 'MCP_OAUTH_FAILED' });
    expect(statuses).toEqual([404, 404]);
  });
});

describe('a server that leads elsewhere', () => {
  /** Another program on this machine, and what it was asked for. */
  async function neighbour(
    answer: (origin: string) => object = () => ({}),
  ): Promise<{ at: string; asked: string[] }> {
    const asked: string[] = [];
    const url = await serveHttp(
      webListener(async (request) => {
        asked.push(`${request.method} ${new URL(request.url).pathname}`);
        return Response.json(answer(new URL(request.url).origin));
      }),
    );
    return { at: url.origin, asked };
  }
  const opened: string[] = [];
  const signIn = (url: URL) =>
    refusal(
      scan(
        { kind: 'http', url: url.href },
        {
          authorizer: oauth(url, {
            openBrowser: (page) => void opened.push(page.href),
            signInMs: 50,
            network: { resolve: async () => [{ address: '127.0.0.1', family: 4 }] },
          }),
        },
      ),
    );

  it('cannot make this machine ask another port for its metadata', async () => {
    const { at, asked } = await neighbour();
    const { url } = await serveProtected(false, { challenge: `${at}/secrets` });
    expect(await signIn(url)).toEqual({
      code: 'MCP_OAUTH_FAILED',
      message: `The sign-in did not succeed: the server names metadata at another origin, "${at}".`,
    });
    expect(asked).toEqual([]);
  });

  it('cannot do so by a redirect', async () => {
    const { at, asked } = await neighbour();
    const { url } = await serveProtected(false, { moved: `${at}/secrets` });
    expect(await signIn(url)).toMatchObject({ code: 'MCP_OAUTH_FAILED' });
    expect(asked).toEqual([]);
  });

  it.for(['127.0.0.1', 'localhost', 'sso.example'])(
    'cannot do so by an authorization server at %s',
    async (host) => {
      const { at, asked } = await neighbour();
      const { port } = new URL(at);
      for (const protocol of ['http', 'https']) {
        const { url } = await serveProtected(false, {
          resource: { authorization_servers: [`${protocol}://${host}:${port}`] },
        });
        expect(await signIn(url)).toMatchObject({
          code: 'MCP_OAUTH_FAILED',
          message: expect.stringMatching(/is not an https address|is not (a )?public/),
        });
      }
      expect(asked).toEqual([]);
    },
  );

  it.for(['registration_endpoint', 'token_endpoint'])('cannot do so by its %s', async (name) => {
    const { at, asked } = await neighbour();
    const { url } = await serveProtected(false, { authorization: { [name]: `${at}/x` } });
    const authorizer = oauth(url, { openBrowser: browser });
    expect(await refusal(scan({ kind: 'http', url: url.href }, { authorizer }))).toMatchObject({
      code: 'MCP_OAUTH_FAILED',
      message: expect.stringContaining('is not an https address'),
    });
    expect(asked).toEqual([]);
  });

  it.for(['http://127.0.0.1:1/', 'https://[::1]/', 'http://example.com/', 'javascript:alert(1)'])(
    'cannot have %s opened in a browser',
    async (page) => {
      opened.length = 0;
      const { url } = await serveProtected(false, { authorization: { authorization_endpoint: page } });
      expect(await signIn(url)).toMatchObject({ code: 'MCP_OAUTH_FAILED' });
      expect(opened).toEqual([]);
    },
  );

  it('cannot send more than an answer has', async () => {
    const { url } = await serveProtected(false, { resource: { note: 'x'.repeat(1 << 20) } });
    expect(await signIn(url)).toMatchObject({
      code: 'MCP_OAUTH_FAILED',
      message: expect.stringContaining('more than 1048576 bytes'),
    });
  });

  it('is followed to an authorization server that the operator names', async () => {
    const authorization = await serveProtected();
    const at = authorization.url.origin;
    const { url } = await serveProtected(false, { resource: { authorization_servers: [at] } });
    const authorizer = oauth(url, {
      openBrowser: browser,
      network: { privateOrigins: new Set([at]) },
    });
    // Its tokens are for itself here, so the server refuses them in the end.
    expect(await refusal(scan({ kind: 'http', url: url.href }, { authorizer }))).toMatchObject({
      code: 'MCP_HTTP_UNAUTHORIZED',
    });
    expect(authorization.log).toEqual(['register', 'authorize', 'token authorization_code']);
  });
});
