import { createHash } from 'node:crypto';
import { ClientCredentialsProvider } from '@modelcontextprotocol/client';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { serveHttp, webListener } from '../../test/http.ts';
import { refusal } from '../../test/mcp.ts';
import { createServer } from '../../test/servers/modern.ts';
import { type OAuthMemory, oauth, oauthWith, scan } from './index.ts';

interface Protected {
  readonly url: URL;
  /** What was asked of the authorization server, in order. */
  readonly log: string[];
  /** Makes every token that was given worthless. */
  expire(): void;
}

/** An MCP server and its authorization server in one, which checks what it is given. */
async function serveProtected(deny = false): Promise<Protected> {
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
        const challenge = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource"`;
        return new Response(null, { status: 401, headers: { 'www-authenticate': challenge } });
      }
      if (pathname.startsWith('/.well-known/oauth-protected-resource')) {
        return Response.json({ resource: `${origin}/`, authorization_servers: [origin] });
      }
      if (pathname === '/.well-known/oauth-authorization-server') {
        return Response.json({
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ['code'],
          grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none', 'client_secret_basic'],
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
        if (form.get('grant_type') === 'client_credentials') return give();
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

describe('a server that wants a client to sign in by itself', () => {
  it('is scanned with the SDK’s provider', async () => {
    const { url, log } = await serveProtected();
    const provider = new ClientCredentialsProvider({
      clientId: 'machine',
      clientSecret: 'secret',
      expectedIssuer: url.origin,
    });
    const surface = await scan({ kind: 'http', url: url.href }, { authorizer: oauthWith(url, provider) });
    expect(surface.tools).toHaveLength(3);
    expect(log).toEqual(['token client_credentials']);
  });
});
