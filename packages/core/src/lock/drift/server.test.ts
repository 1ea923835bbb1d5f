import { describe, expect, test } from 'vitest';
import { between, check, lines, lockOf, tool } from '../../../test/drift.ts';
import { options, surface } from '../../../test/surface.ts';
import { type Authorization, type DriftOptions, drift, type Identity, NO_AUTHORIZATION } from '../index.ts';

describe('what the server says of itself', () => {
  const info = (more: object) => ({
    serverInfo: JSON.stringify({ name: 'sample', version: '1.0.0', ...more }),
  });
  check([
    ['name', info({}), info({ name: 'other' }), ['critical server-name-changed /serverInfo/name']],
    ['version', info({}), info({ version: '1.0.1' }), ['info server-version-changed /serverInfo/version']],
    ['title', info({}), info({ title: 'S' }), ['critical title-changed /serverInfo/title prose']],
    ['a title that goes', info({ title: 'S' }), info({}), ['critical title-changed /serverInfo/title prose']],
    [
      'site',
      info({}),
      info({ websiteUrl: 'https://s.example' }),
      ['moderate member-changed /serverInfo/websiteUrl'],
    ],
    [
      'instructions',
      { instructions: 'Be kind.' },
      { instructions: 'Be brief.' },
      ['critical instructions-changed /instructions prose'],
    ],
    [
      'instructions that come',
      {},
      { instructions: 'Be brief.' },
      ['critical instructions-changed /instructions prose'],
    ],
    [
      'instructions that go',
      { instructions: 'Be brief.' },
      {},
      ['critical instructions-changed /instructions prose'],
    ],
    [
      'capabilities',
      { capabilities: '{"tools":{},"logging":{}}' },
      { capabilities: '{"tools":{"listChanged":true},"prompts":{}}' },
      [
        'moderate capability-changed /capabilities/tools',
        'moderate capability-added /capabilities/prompts',
        'moderate capability-removed /capabilities/logging',
      ],
    ],
  ]);

  test('the protocol: a newer one is told, an older one is worse', () => {
    const at = (protocolVersion: string) => drift(lockOf({}), { ...surface(), protocolVersion });
    expect(lines(at('2026-07-28'))).toEqual(['info protocol-changed /protocolVersion']);
    expect(lines(at('2024-11-05'))).toEqual(['moderate protocol-changed /protocolVersion']);
    const era = drift(lockOf({}), { ...surface(), era: 'stateless' });
    expect(lines(era)).toEqual(['moderate protocol-changed /era']);
    expect(at('2024-11-05').items[0]!.sentence).toBe(
      'The protocol version was "2025-11-25" and is now "2024-11-05".',
    );
  });
});

describe('the server itself', () => {
  const stdio = options.identity as Extract<Identity, { transport: 'stdio' }>;
  test.each<[string, Identity, string[]]>([
    ['the same, the environment in another order', { ...stdio, env: ['TOKEN', 'HOME'] }, []],
    ['another command', { ...stdio, command: 'deno' }, ['command was "node" and is now "deno".']],
    [
      'other arguments',
      { ...stdio, args: ['server.js', 'a', 'b'] },
      ['args was ["server.js","a b"] and is now ["server.js","a","b"].'],
    ],
    [
      'one more variable',
      { ...stdio, env: ['HOME', 'TOKEN', 'KEY'] },
      ['env was ["HOME","TOKEN"] and is now ["HOME","TOKEN","KEY"].'],
    ],
    [
      'an address',
      { transport: 'http', url: 'https://s.example/mcp' },
      [
        'transport was "stdio" and is now "http".',
        'command is gone; it was "node".',
        'args is gone; it was ["server.js","a b"].',
        'env is gone; it was ["HOME","TOKEN"].',
        'url is new: "https://s.example/mcp".',
      ],
    ],
  ])('%s', (_, identity, details) => {
    const { items } = between({}, {}, { identity });
    expect(items.flatMap((item) => item.details ?? [])).toEqual(details);
    const expected = details.length === 0 ? [] : ['critical identity-changed /identity'];
    expect(items.map(({ severity, code, path }) => `${severity} ${code} ${path}`)).toEqual(expected);
  });

  test.each<[string, string, DriftOptions, string[]]>([
    ['the same command line', 'node server.js "a b"', { identity: stdio }, []],
    ['another', 'node other.js', { identity: stdio }, ['moderate command-changed /identity']],
  ])('a file of version 2 has a text of it: %s', (_, command, more, expected) => {
    const identity: Identity = { transport: 'stdio', command, args: [], env: [] };
    const found = drift(lockOf({}, { format: 'v2', identity }), surface(), more);
    expect(lines(found)).toEqual(expected);
    expect(found.unseen).not.toContain('identity');
  });

  test('the rights with which it was asked', () => {
    const authorization: Authorization = { ...NO_AUTHORIZATION, scheme: 'oauth', scopes: ['b', 'a'] };
    const lock = lockOf({}, { authorization });
    const asked = (scopes: string[]) =>
      lines(drift(lock, surface(), { authorization: { ...authorization, scopes } }));
    expect(asked(['a', 'b'])).toEqual([]);
    expect(asked(['a'])).toEqual(['moderate authorization-changed /authorization']);
  });
});

describe('contents', () => {
  const page = {
    tools: [tool('a', { _meta: { ui: { resourceUri: 'ui://a' } }, icons: [{ src: 'https://i.example/a' }] })],
  };
  const pinned = (digit: string, mimeType: string | null = null) => ({
    ...page,
    contents: [
      { uri: 'ui://a', sha256: digit.repeat(64), mimeType },
      { uri: 'https://i.example/a', sha256: digit.repeat(64), mimeType: null },
    ],
  });
  check([
    ['the same', pinned('a'), pinned('a'), []],
    [
      'others: a page weighs more than an icon',
      pinned('a'),
      pinned('b'),
      [
        'moderate content-changed /contents/https:~1~1i.example~1a/sha256',
        'critical content-changed /contents/ui:~1~1a/sha256',
      ],
    ],
    [
      'another media type',
      pinned('a'),
      pinned('a', 'text/html'),
      ['critical mime-type-changed /contents/ui:~1~1a/mimeType'],
    ],
    [
      'not to be read any more',
      pinned('a'),
      page,
      [
        'moderate content-unread /contents/https:~1~1i.example~1a',
        'critical content-unread /contents/ui:~1~1a',
      ],
    ],
    ['not needed any more', pinned('a'), {}, ['critical tool-removed /tools/a']],
  ]);
});
