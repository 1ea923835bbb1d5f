import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readLock } from '@bulla/core/lock';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { serveHttp, webListener } from '../../../test/http.ts';
import { bullaIn } from '../../../test/lockfiles.ts';
import { repo, temporaryFolder } from '../../../test/run.ts';
import { createServer } from '../../../test/servers/modern.ts';

/** A server that wants one of these tokens, and gives one to whoever signs in. */
async function serveProtected(...tokens: string[]): Promise<URL> {
  const handler = createMcpHandler(createServer, { legacy: 'reject' });
  onTestFinished(() => handler.close());
  let challenge = '';
  return serveHttp(
    webListener(async (request) => {
      const { pathname, searchParams, origin } = new URL(request.url);
      if (pathname === '/') {
        const token = /^Bearer (.+)$/.exec(request.headers.get('authorization') ?? '')?.[1];
        if (token !== undefined && tokens.includes(token)) return handler.fetch(request);
        const header = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource"`;
        return new Response(null, { status: 401, headers: { 'www-authenticate': header } });
      }
      if (pathname.startsWith('/.well-known/oauth-protected-resource'))
        return Response.json({ resource: `${origin}/`, authorization_servers: [origin] });
      if (pathname === '/.well-known/oauth-authorization-server') {
        return Response.json({
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ['code'],
          code_challenge_methods_supported: ['S256'],
          token_endpoint_auth_methods_supported: ['none'],
        });
      }
      if (pathname === '/register')
        return Response.json(
          { ...((await request.json()) as object), client_id: 'client-1' },
          { status: 201 },
        );
      if (pathname === '/authorize') {
        challenge = searchParams.get('code_challenge')!;
        const back = new URL(searchParams.get('redirect_uri')!);
        back.searchParams.set('code', 'code-1');
        back.searchParams.set('state', searchParams.get('state')!);
        return new Response(null, { status: 302, headers: { location: back.href } });
      }
      const form = new URLSearchParams(await request.text());
      const verifier = createHash('sha256').update(form.get('code_verifier')!).digest('base64url');
      if (verifier !== challenge) return new Response('', { status: 400 });
      tokens.push('t0ken-of-a-person');
      return Response.json({ access_token: 't0ken-of-a-person', token_type: 'Bearer', scope: 'read list' });
    }),
  );
}

const lockIn = (folder: string) => readLock(new Uint8Array(readFileSync(join(folder, 'mcp-lock.json'))));

/** Calls a tool as a host does that has this configuration. */
async function expectReached(
  server: { command: string; args: string[]; env: Record<string, string> },
  values: Record<string, string> = {},
): Promise<void> {
  const client = new Client({ name: 'host', version: '1.0.0' });
  onTestFinished(() => client.close());
  const { command, args, env } = server;
  const to = { command, args, env: { ...env, ...values }, cwd: '/', stderr: 'ignore' as const };
  await client.connect(new StdioClientTransport(to));
  const { structuredContent } = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } });
  expect(structuredContent).toEqual({ sum: 3 });
}

describe('a server at an address', () => {
  test('is locked with a token of the environment, which is stored nowhere', async () => {
    const url = await serveProtected('s3cret');
    const folder = temporaryFolder();
    const flags = ['--bearer-env', 'TOKEN', '--header', 'X-Team: blue'];
    const [none, wrong] = await Promise.all([
      bullaIn(folder, ['lock', '--', url.href]),
      bullaIn(folder, ['lock', ...flags, '--', url.href], { TOKEN: 'other' }),
    ]);
    expect([none, wrong].map(({ status, stderr }) => [status, /\[(\w+)\]\n$/.exec(stderr)?.[1]])).toEqual([
      [3, 'MCP_HTTP_UNAUTHORIZED'],
      [3, 'MCP_HTTP_UNAUTHORIZED'],
    ]);
    expect(existsSync(join(folder, 'mcp-lock.json'))).toBe(false);

    const env = { TOKEN: 's3cret' };
    const made = await bullaIn(folder, ['lock', ...flags, '--', url.href], env);
    expect([made.status, made.stdout]).toEqual([0, expect.not.stringContaining('s3cret')]);
    expect(lockIn(folder).native).toMatchObject({
      era: 'stateless',
      identity: { transport: 'http', url: url.href },
      authorization: { scheme: 'bearer', issuer: null, headers: ['x-team'] },
    });
    expect(readFileSync(join(folder, 'mcp-lock.json'), 'utf8')).not.toMatch(/s3cret|blue/);
    expect((await bullaIn(folder, ['check', ...flags, '--fail-on', 'info'], env)).status).toBe(0);
    // With other rights it is another server, as far as anybody can tell.
    const other = await bullaIn(folder, ['check', '--bearer-env', 'TOKEN', '--json'], env);
    expect(JSON.parse(other.stdout).drift.map(({ code }: { code: string }) => code)).toEqual([
      'authorization-changed',
    ]);
  });

  test('is reached by a host that is configured as lock says', async () => {
    const url = await serveProtected('s3cret');
    const folder = temporaryFolder();
    const flags = ['--header', 'X-Team: blue', '--header-env', 'X-Key=KEY', '--bearer-env', 'TOKEN'];
    const words = ['lock', '--json', ...flags, '--', url.href];
    const made = await bullaIn(folder, words, { TOKEN: 's3cret', KEY: 'k3y' });
    const { mcpServers } = JSON.parse(made.stdout).config;
    expect(mcpServers).toEqual({
      modern: {
        command: join(repo, 'bin/bulla'),
        args: ['guard', '--lock', join(folder, 'mcp-lock.json'), ...flags, '--', url.href],
        env: { BULLA_HOME: join(folder, 'home'), KEY: '<its value>', TOKEN: '<its value>' },
      },
    });
    await expectReached(mcpServers.modern, { KEY: 'k3y', TOKEN: 's3cret' });
  });

  test('is locked by a person who signs in, once', async () => {
    const url = await serveProtected();
    const folder = temporaryFolder();
    const child = spawn(
      process.execPath,
      [join(repo, 'packages/bulla/dist/bulla.js'), 'lock', '--sign-in', '--', url.href],
      {
        cwd: folder,
        env: { ...process.env, BULLA_HOME: join(folder, 'home') },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const ended = new Promise((resolve) => child.on('close', resolve));
    let [said, printed] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk;
    });
    child.stderr.on('data', async (chunk: Buffer) => {
      said += chunk;
      const page = /\n {2}(http\S+)\n$/.exec(said)?.[1];
      if (page !== undefined) await (await fetch(page)).text();
    });
    expect(await ended).toBe(0);
    expect(said).toMatch(/^The server asks you to sign in\. Open this page in a browser:\n/);
    expect(lockIn(folder).native?.authorization).toEqual({
      scheme: 'oauth',
      issuer: url.origin,
      subject: null,
      scopes: ['read', 'list'],
      headers: [],
    });
    expect(readFileSync(join(folder, 'mcp-lock.json'), 'utf8')).not.toContain('t0ken');
    const [kept] = readdirSync(join(folder, 'home/oauth'));
    expect(statSync(join(folder, 'home/oauth', kept!)).mode & 0o777).toBe(0o600);

    // A host that is configured as lock says has the rights of that person.
    const { modern } = JSON.parse(printed.slice(printed.indexOf('\n{'))).mcpServers;
    const words = ['guard', '--lock', join(folder, 'mcp-lock.json'), '--sign-in', '--', url.href];
    expect(modern.args).toEqual(words);
    await expectReached(modern);

    const again = await bullaIn(folder, ['check', '--sign-in', '--fail-on', 'info', '--quiet']);
    expect(again).toEqual({ status: 0, stdout: '', stderr: '' });
  });
});
