import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type TestHome, testHome } from '../../test/clients.ts';
import { lockOf, SHOP } from '../../test/lockfiles.ts';
import { judge } from './index.ts';

function states(home: TestHome, locks?: string): string[] {
  const { servers } = home.find();
  const place = { user: locks ?? join(home.home, 'locks'), project: locks ?? null };
  const { judged, problems } = judge(servers, place);
  const short = (path: string) => path.replace(`${home.project}/`, '').replace(home.home, '~');
  return [
    ...judged.map(({ client, name, state, lockFile, guard }) =>
      [client.id, name, state, short(lockFile), ...(guard ? ['guarded'] : [])].join(' '),
    ),
    ...problems.map(({ file, error }) => `${short(file)} ${error.code}`),
  ];
}

function putLock(path: string, words: readonly string[]): void {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, lockOf(SHOP, words));
}

describe('a server is', () => {
  test('unpinned without a lock, and told where one would lie', () => {
    const home = testHome({
      '~/.cursor/mcp.json': {
        mcpServers: { files: { command: 'files' }, 'github.com/me/x': { command: 'x' } },
      },
      '.mcp.json': { mcpServers: { files: { command: 'files', args: ['.'] }, con: { command: 'con' } } },
    });
    expect(states(home)).toEqual([
      'claude-code files unpinned mcp-locks/files.json',
      expect.stringMatching(/^claude-code con unpinned mcp-locks\/con-[0-9a-f]{8}\.json$/),
      'cursor files unpinned ~/locks/cursor-files.json',
      expect.stringMatching(
        /^cursor github\.com\/me\/x unpinned ~\/locks\/cursor-github\.com_me_x-[0-9a-f]{8}\.json$/,
      ),
    ]);
    expect(states(home, '/other').map((line) => line.split(' ').at(-1))).toContain('/other/files.json');
  });

  test('locked by any lock for exactly its command, wherever that lies', () => {
    const home = testHome({
      '~/.cursor/mcp.json': { mcpServers: { files: { command: 'files', args: ['a b'] } } },
      '.mcp.json': { mcpServers: { one: { command: 'one' }, two: { command: 'two' } } },
    });
    putLock(join(home.home, 'locks/any.json'), ['files', 'a b']);
    putLock(join(home.project, 'mcp-locks/one.json'), ['one']);
    putLock(join(home.project, 'mcp-lock.json'), ['two']);
    expect(states(home)).toEqual([
      'claude-code one locked mcp-locks/one.json',
      'claude-code two locked mcp-lock.json',
      'cursor files locked ~/locks/any.json',
    ]);
  });

  test('changed when its lock is of another command, arguments or variables', () => {
    const home = testHome({
      '.mcp.json': {
        mcpServers: {
          command: { command: 'other' },
          args: { command: 'args', args: ['new'] },
          env: { command: 'env', env: { KEY: 'x' } },
        },
      },
    });
    for (const name of ['command', 'args', 'env'])
      putLock(join(home.project, `mcp-locks/${name}.json`), [name]);
    expect(states(home)).toEqual(
      ['command', 'args', 'env'].map((name) => `claude-code ${name} changed mcp-locks/${name}.json`),
    );
  });
});

test('two servers of one name in a project get a lock each, and one server in two files gets one', () => {
  const home = testHome({
    '.mcp.json': { mcpServers: { files: { command: 'files' } } },
    '.cursor/mcp.json': { mcpServers: { files: { command: 'others' } } },
    '.vscode/mcp.json': { servers: { files: { command: 'files' } } },
  });
  const [claude, cursor, vscode] = [
    'mcp-locks/files.json',
    'mcp-locks/cursor-files.json',
    'mcp-locks/files.json',
  ];
  expect(states(home)).toEqual([
    `claude-code files unpinned ${claude}`,
    `cursor files unpinned ${cursor}`,
    `vscode files unpinned ${vscode}`,
  ]);
  putLock(join(home.project, claude!), ['files']);
  expect(states(home)).toEqual([
    `claude-code files locked ${claude}`,
    `cursor files unpinned ${cursor}`,
    `vscode files locked ${vscode}`,
  ]);
});

describe('a guard', () => {
  const guard = (...args: string[]) => ({ command: '/opt/bulla/bin/bulla', args: ['guard', ...args] });

  test('is looked through to its server', () => {
    const home = testHome({
      '.mcp.json': {
        mcpServers: {
          named: guard('--lock', 'locks/a.json', '--agent', 'x', '--env', 'KEY', '--', 'server', '--', 'x'),
          lock: guard('-l', 'locks/b.json', '--require-signature'),
          joined: guard('--lock=locks/c.json', '--', 'other'),
          node: { command: 'node', args: ['/x/bulla.js', 'proxy', '--', 'server'] },
          none: { command: 'guard', args: ['bulla'] },
        },
      },
    });
    putLock(join(home.project, 'locks/b.json'), ['b']);
    putLock(join(home.project, 'locks/c.json'), ['c']);
    expect(states(home)).toEqual([
      'claude-code named unpinned locks/a.json guarded',
      'claude-code lock locked locks/b.json guarded',
      'claude-code joined changed locks/c.json guarded',
      'claude-code node unpinned mcp-lock.json guarded',
      'claude-code none unpinned mcp-locks/none.json',
    ]);
    const { servers } = home.find();
    expect(servers[0]!.target).toEqual({ kind: 'stdio', command: 'server', args: ['--', 'x'], env: ['KEY'] });
    const { judged } = judge(servers, { user: home.home, project: null });
    expect(judged[1]!.target).toEqual({ kind: 'stdio', command: 'b', args: [], env: [] });
  });
});

test('a lock that cannot be read is told, and is no lock', () => {
  const home = testHome({
    '.mcp.json': { mcpServers: { a: { command: 'a' } } },
    'mcp-locks/a.json': '{"a":',
  });
  expect(states(home)).toEqual([
    'claude-code a unpinned mcp-locks/a.json',
    'mcp-locks/a.json JSON_UNEXPECTED_END',
  ]);
});
