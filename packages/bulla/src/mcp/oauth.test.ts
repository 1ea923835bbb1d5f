import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { serveHttp, webListener } from '../../test/http.ts';
import { refusal } from '../../test/mcp.ts';
import { browser, serveProtected } from '../../test/protected.ts';
import { type OAuthMemory, oauth, scan } from './index.ts';

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
