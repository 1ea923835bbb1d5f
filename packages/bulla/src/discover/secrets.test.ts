import fc from 'fast-check';
import { describe, expect, inject, test } from 'vitest';
import { scrubbed, shownUrl, shownWords } from './secrets.ts';

const line = (text: string): string => {
  const [command, ...args] = text.split(' ') as [string, ...string[]];
  return shownWords(command, args).join(' ');
};

describe('what is harmless is shown', () => {
  test.each([
    'npx -y @modelcontextprotocol/server-filesystem@2026.8.31 /data ./notes ~/work',
    'npx -y chrome-devtools-mcp@latest',
    'uvx --from git-server[extra]==1.2.3 mcp-server-git --repository /srv/repo',
    'node /opt/servers/server.mjs --port 8080 --mode=stdio --verbose',
    'docker run -i --rm -e GITHUB_TOKEN ghcr.io/github/github-mcp-server',
    `docker run -i mcp/server@sha256:${'a1'.repeat(32)}`,
    'python3 -m server --root C:\\data\\files',
    'bulla guard --lock mcp-lock.json -- npx -y server',
    'deno run --allow-read server.ts',
  ])('%s', (text) => {
    expect(line(text)).toBe(text);
  });
});

describe('what may be a secret is not', () => {
  test.each([
    ['npx server --api-key hunter', 'npx server --api-key …'],
    ['npx server --token=hunter', 'npx server --token=…'],
    ['env API_KEY=hunter npx server', 'env API_KEY=… npx server'],
    ['docker run -e KEY=hunter image', 'docker run -e KEY=… image'],
    [
      'npx mcp-remote https://x.example/mcp --header Authorization:Bearer',
      'npx mcp-remote https://x.example/mcp --header Authorization: …',
    ],
    ['npx server ghp_16C7e42F292c6912E7710c838347Ae178B4a', 'npx server …'],
    ['npx server sk-proj-a1b2c3d4e5f6', 'npx server …'],
    ['npx server 123e4567-e89b-12d3-a456-426614174000', 'npx server …'],
    ['npx server hunter2', 'npx server …'],
    ['npx server Tr0ub4dor&3', 'npx server …'],
    ['mysql-mcp -phunter', 'mysql-mcp -p…'],
    ['npx server postgres://me:hunter@db.example/app', 'npx server postgres://…@db.example/app'],
    [
      'npx server --url=https://x.example/s/a1b2c3d4e5f6g7h8/mcp?key=hunter#x',
      'npx server --url=https://x.example/s/…/mcp?key=…#…',
    ],
    ['/opt/a1b2c3d4e5f6g7h8/bin/server', '/opt/…/bin/server'],
  ])('%s', (text, expected) => {
    expect(line(text)).toBe(expected);
  });

  test('a header in one word', () => {
    expect(shownWords('npx', ['mcp-remote', '--header', 'Authorization: Bearer hunter'])).toEqual([
      'npx',
      'mcp-remote',
      '--header',
      'Authorization: …',
    ]);
    expect(shownWords('npx', ['mcp-remote', 'X-Api-Key: hunter'])[2]).toBe('X-Api-Key: …');
  });

  test('an address that is none', () => {
    expect(shownUrl('hunter')).toBe('…');
    expect(shownUrl('https://')).toBe('…');
  });
});

/** Keys as services make them: long, random, with or without a prefix. */
const key = fc
  .tuple(
    fc.constantFrom('', 'sk-', 'ghp_', 'xoxb-', 'AKIA', 'glpat-', 'Bearer '),
    fc.string({
      unit: fc.constantFrom(...'ABCDEFGHJKMNPQRSTUVWXYZabcdefghjkmnpqrstuvwxyz23456789'),
      minLength: 20,
      maxLength: 60,
    }),
  )
  // A random string of that length without three digits is as good as none.
  .filter(([, random]) => (random.match(/\d/g)?.length ?? 0) >= 3)
  .map(([prefix, random]) => prefix + random);
/** Passwords as people make them, which may be ordinary words. */
const password = fc.oneof(
  key,
  fc.constantFrom('correct-horse-battery', 'swordfish', 'p@ss word', 'ünïcode', 'x=y:z'),
);

const flag = fc.constantFrom(
  '--api-key',
  '--token',
  '--password',
  '--client-secret',
  '--auth',
  '--private-key',
);

test('a secret is in no output, wherever it stands', () => {
  const places = fc.oneof(
    key.map((secret) => ({ words: [secret], secret })),
    fc.tuple(flag, password).map(([name, secret]) => ({ words: [name, secret], secret })),
    fc.tuple(flag, password).map(([name, secret]) => ({ words: [`${name}=${secret}`], secret })),
    password.map((secret) => ({ words: [`SOME_NAME=${secret}`], secret })),
    password.map((secret) => ({ words: ['-e', `SOME_NAME=${secret}`], secret })),
    password.map((secret) => ({ words: ['--header', `X-Any: ${secret}`], secret })),
    key.map((secret) => ({ words: [`Authorization: Bearer ${secret}`], secret })),
    key.map((secret) => ({
      words: [`--url=https://x.example/${encodeURIComponent(secret)}/mcp`],
      secret: encodeURIComponent(secret),
    })),
    password.map((secret) => ({
      words: [`https://x.example/mcp?any=${encodeURIComponent(secret)}`],
      secret: encodeURIComponent(secret),
    })),
    password.map((secret) => ({
      words: [`postgres://me:${encodeURIComponent(secret)}@db.example/app`],
      secret: encodeURIComponent(secret),
    })),
    key.map((secret) => ({ words: [`-k${secret}`], secret })),
    key.map((secret) => ({
      words: [`/var/run/${secret.replace(' ', '')}/socket`],
      secret: secret.replace(' ', ''),
    })),
  );
  const harmless = fc.constantFrom('-y', 'server', '--verbose', '/data', '8080', '@scope/server@1.2.3');
  fc.assert(
    fc.property(
      fc.constantFrom('npx', 'node', 'uvx', 'docker', '/usr/bin/python3', 'cmd'),
      fc.array(harmless, { maxLength: 3 }),
      places,
      fc.array(harmless, { maxLength: 2 }),
      (command, before, { words, secret }, after) => {
        expect(shownWords(command, [...before, ...words, ...after]).join(' ')).not.toContain(secret);
      },
    ),
    { numRuns: 2000 * inject('soak') },
  );
});

test('known secrets are taken out of what others wrote, the longest first', () => {
  expect(scrubbed('bad token abcdef-1 in abcdef', ['abcdef', 'abcdef-1', 'in'])).toBe('bad token … in …');
});
