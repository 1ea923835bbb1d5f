import { createHash } from 'node:crypto';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { expect, onTestFinished } from 'vitest';
import { serveHttp, webListener } from './http.ts';
import { createServer } from './servers/modern.ts';

export interface Protected {
  readonly url: URL;
  /** What was asked of the authorization server, in order. */
  readonly log: string[];
  /** The arguments of the calls that were executed. */
  readonly calls: string[];
  /** Makes every access token that was given worthless, or one of them. */
  expire(token?: string): void;
  /** The same, and the refresh token too. */
  revoke(): void;
}

/** An MCP server and its authorization server in one, which checks what it is given. */
export async function serveProtected(
  deny = false,
  change: {
    challenge?: string;
    resource?: object;
    authorization?: object;
    moved?: string;
    /** Members of an answer with tokens. */
    token?: object;
    /** The scope that a call of a tool needs; everything else needs none. */
    callScope?: string;
  } = {},
): Promise<Protected> {
  const log: string[] = [];
  /** The scope of each. */
  const tokens = new Map<string, string | null>();
  const calls: string[] = [];
  let refresh = 'refresh-1';
  const challenges = new Map<string, string>();
  const redirects = new Map<string, string[]>();
  const handler = createMcpHandler(createServer, { legacy: 'reject' });
  onTestFinished(() => handler.close());
  let count = 0;
  let scope: string | null = null;
  const give = (more: object = {}): Response => {
    const access_token = `token-${++count}`;
    tokens.set(access_token, scope);
    const granted = scope === null ? {} : { scope };
    return Response.json({
      ...{ access_token, token_type: 'Bearer', expires_in: 3600 },
      ...{ ...granted, ...change.token, ...more },
    });
  };

  const url = await serveHttp(
    webListener(async (request) => {
      const { pathname, searchParams, origin } = new URL(request.url);
      if (pathname === '/') {
        const token = /^Bearer (.+)$/.exec(request.headers.get('authorization') ?? '')?.[1];
        const metadata = change.challenge ?? `${origin}/.well-known/oauth-protected-resource`;
        const challenge = `Bearer resource_metadata="${metadata}"`;
        if (token === undefined || !tokens.has(token))
          return new Response(null, { status: 401, headers: { 'www-authenticate': challenge } });
        const message = (await request.clone().json()) as { method: string; params: { arguments: object } };
        const { callScope } = change;
        const isCall = message.method === 'tools/call';
        if (isCall && callScope !== undefined && tokens.get(token) !== callScope) {
          const wants = `${challenge}, error="insufficient_scope", scope="${callScope}"`;
          return new Response(null, { status: 403, headers: { 'www-authenticate': wants } });
        }
        if (isCall) calls.push(JSON.stringify(message.params.arguments));
        return handler.fetch(request);
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
        scope = searchParams.get('scope');
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
          return form.get('refresh_token') === refresh
            ? give()
            : Response.json({ error: 'invalid_grant' }, { status: 400 });
        }
        const verifier = createHash('sha256').update(form.get('code_verifier')!).digest('base64url');
        if (challenges.get(form.get('code')!) !== verifier) return new Response('', { status: 400 });
        return give({ refresh_token: 'refresh-1' });
      }
      return new Response('', { status: 404 });
    }),
  );
  return {
    ...{ url, log, calls },
    expire(token) {
      if (token === undefined) tokens.clear();
      else tokens.delete(token);
    },
    revoke() {
      tokens.clear();
      refresh = '';
    },
  };
}

/** A browser in which somebody agrees at once. */
export async function browser(url: URL): Promise<void> {
  const response = await fetch(url);
  expect(await response.text()).toBe('You can close this page.\n');
}
