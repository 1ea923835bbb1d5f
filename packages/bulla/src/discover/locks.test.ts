import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type TestHome, testHome } from '../../test/clients.ts';
import { lockOf, SHOP } from '../../test/lockfiles.ts';
import { checkServers, isGuarded } from './index.ts';

function states(home: TestHome, locks?: string): string[] {
  const { servers } = home.find();
  const place = { user: locks ?? join(home.home, 'locks'), project: locks ?? null };
  const { checked, problems } = checkServers(servers, place);
  const short = (path: string) => path.replace(`${home.project}/`, '').replace(home.home, '~');
  return [
    ...checked.map((server) =>
      [
        server.client.id,
        server.name,
        server.state,
        short(server.lockFile),
        ...(isGuarded(server) ? ['guarded'] : []),
      ].join(' '),
    ),
    ...problems.map(({ file, error }) => `${short(file)} ${error.code}`),
  ];
}

function putLock(path: string, words: readonly string[], env: readonly string[] = []): void {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, lockOf(SHOP, words, env));
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

  test('never given a file that differs from that of another by case alone', () => {
    const names = ['Ab', 'ab', 'aB'];
    const mcpServers = Object.fromEntries(names.map((name) => [name, { command: name }]));
    const home = testHome({
      '~/.cursor/mcp.json': { mcpServers },
      '.mcp.json': { mcpServers: { ...mcpServers, same: { command: 's' } } },
      '.cursor/mcp.json': { mcpServers: { Same: { command: 's' } } },
    });
    expect(states(home)).toEqual([
      'claude-code Ab unpinned mcp-locks/Ab.json',
      'claude-code ab unpinned mcp-locks/claude-code-ab.json',
      expect.stringMatching(/^claude-code aB unpinned mcp-locks\/claude-code-aB-[0-9a-f]{8}\.json$/),
      'claude-code same unpinned mcp-locks/same.json',
      'cursor Ab unpinned ~/locks/cursor-Ab.json',
      expect.stringMatching(/^cursor ab unpinned ~\/locks\/cursor-ab-[0-9a-f]{8}\.json$/),
      expect.stringMatching(/^cursor aB unpinned ~\/locks\/cursor-aB-[0-9a-f]{8}\.json$/),
      // The same server has one lock.
      'cursor Same unpinned mcp-locks/same.json',
    ]);
    putLock(join(home.project, 'mcp-locks/Ab.json'), ['other']);
    putLock(join(home.project, 'mcp-locks/aB.json'), ['Ab']);
    expect(states(home).slice(0, 2)).toEqual([
      'claude-code Ab locked mcp-locks/aB.json',
      'claude-code ab unpinned mcp-locks/claude-code-ab.json',
    ]);
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
  /** Servers behind a guard of the Bulla that is on the path, unless their command says otherwise. */
  const guarded = (
    servers: Record<string, { command?: string; args: string[]; [key: string]: unknown }>,
  ) => ({
    '.mcp.json': {
      mcpServers: Object.fromEntries(
        Object.entries(servers).map(([name, entry]) => [name, { command: 'bulla', ...entry }]),
      ),
    },
  });
  const guard = (...args: string[]) => ({ args: ['guard', ...args] });
  const codes = (home: TestHome) =>
    home.find().servers.map(({ name, why }) => `${name} ${why?.code ?? 'good'}`);

  test('is looked through to its server', () => {
    const home = testHome(
      guarded({
        named: guard('--lock', 'locks/a.json', '--agent', 'x', '--env', 'KEY', '--', 'server', '--', 'x'),
        lock: guard('-l', 'locks/b.json', '--require-signature'),
        joined: guard('--lock=locks/c.json', '--', 'other'),
        listed: guard('--only', 'a', 'b', '--lock', 'locks/b.json', '--', 'b'),
        none: { command: 'guard', args: ['bulla'] },
      }),
    );
    putLock(join(home.project, 'locks/b.json'), ['b']);
    putLock(join(home.project, 'locks/c.json'), ['c']);
    expect(states(home)).toEqual([
      'claude-code named unpinned locks/a.json guarded',
      'claude-code lock locked locks/b.json guarded',
      'claude-code joined changed locks/c.json guarded',
      'claude-code listed locked locks/b.json guarded',
      'claude-code none unpinned mcp-locks/none.json',
    ]);
    const { servers } = home.find();
    expect(servers[0]!.target).toEqual({ kind: 'stdio', command: 'server', args: ['--', 'x'], env: ['KEY'] });
    const { checked } = checkServers(servers, { user: home.home, project: null });
    expect(checked[1]!.target).toEqual({ kind: 'stdio', command: 'b', args: [], env: [] });
  });

  test('is this very Bulla: by its file, by its Node and its script, or by its name on the path', () => {
    const home = testHome();
    const [launcher, script] = home.own.files as [string, string];
    home.write(
      guarded({
        file: { command: launcher, args: ['guard', '--', 's'] },
        node: { command: home.own.node, args: [script, 'proxy', '--', 's'] },
        path: guard('--', 's'),
      }),
    );
    putLock(join(home.project, 'mcp-lock.json'), ['s']);
    expect(states(home)).toEqual(
      ['file', 'node', 'path'].map((name) => `claude-code ${name} locked mcp-lock.json guarded`),
    );
    const elsewhere = home.find({ ...home.own, path: '/no-such-folder' });
    const { checked } = checkServers(elsewhere.servers, { user: home.home, project: null });
    expect(checked.map((server) => [server.state, isGuarded(server)])).toEqual([
      ['locked', true],
      ['locked', true],
      ['locked', false],
    ]);
  });

  test('is nothing that only holds its words', () => {
    const home = testHome();
    const [launcher, script] = home.own.files as [string, string];
    const words = ['guard', '--lock', 'mcp-lock.json', '--', 's'];
    home.write({
      'evil/bulla': '',
      ...guarded({
        shell: { command: 'sh', args: ['-c', 'touch /tmp/x; exec s', 'bulla', ...words] },
        relative: { command: './bulla', args: words },
        other: { command: join(home.project, 'evil/bulla'), args: words },
        npx: { command: 'npx', args: ['-y', 'bulla', ...words] },
        version: { command: 'npx', args: ['-y', 'bulla@0.1.0', ...words] },
        loaded: { command: home.own.node, args: ['--require', './evil.js', script, ...words] },
        env: { command: 'env', args: ['X=1', launcher, ...words] },
      }),
    });
    putLock(join(home.project, 'mcp-lock.json'), ['s']);
    const names = ['shell', 'relative', 'other', 'npx', 'version', 'loaded', 'env'];
    expect(states(home)).toEqual(names.map((name) => `claude-code ${name} changed mcp-lock.json`));
    expect(codes(home)).toEqual(names.map((name) => `${name} DISCOVER_GUARD`));
  });

  test('does not count when it is told to guard less, or something that is not understood', () => {
    const home = testHome(
      guarded({
        audit: guard('--audit-only', '--', 's'),
        filter: guard('--filter-only', '--', 's'),
        command: guard('--allow-other-command', '--', 's'),
        list: guard('--print-effective-allowlist', '--', 's'),
        // The command line takes the first -- as the name of the agent.
        swallowed: guard('--agent', '--', '--audit-only', '--', 's'),
        joined: guard('-lother.json', '--', 's'),
        valued: guard('--pinned=x', '--', 's'),
        unknown: guard('--unknown', '--', 's'),
        operand: guard('s'),
        cut: guard('--agent'),
      }),
    );
    putLock(join(home.project, 'mcp-lock.json'), ['s']);
    const names = [
      'audit',
      'filter',
      'command',
      'list',
      'swallowed',
      'joined',
      'valued',
      'unknown',
      'operand',
      'cut',
    ];
    expect(states(home)).toEqual(names.map((name) => `claude-code ${name} changed mcp-lock.json`));
    expect(codes(home)).toEqual(names.map((name) => `${name} DISCOVER_GUARD`));
    expect(home.find().servers[4]!.why!.message).toBe(
      'Its guard is told --audit-only: it does not hold the server to its lock.',
    );
  });

  test('does not count when it is led to another store, other keys or another tenant', () => {
    const home = testHome();
    const data = home.own.home;
    const elsewhere = {
      store: ['--store', '/tmp/evil.db'],
      joined: ['--store=/tmp/evil.db'],
      database: ['--store', 'postgres://evil.example/x'],
      // The last one counts on the command line.
      twice: ['--store', join(data, 'store.db'), '--store', '/tmp/evil.db'],
      // What a link makes of it, only the disk knows.
      dots: ['--store', `${data}/x/../store.db`],
      relative: ['--store', 'store.db'],
      empty: ['--store', ''],
      keys: ['--keys', '/tmp/keys'],
      tenant: ['--tenant', 'other'],
      none: ['--tenant='],
    };
    const here = {
      usual: ['--store', join(data, 'store.db'), `--keys=${join(data, 'keys')}`],
      // These sort the records of the same store, or ask for more.
      sorted: ['--chain', 'shop', '--agent', 'claude', '--name', 'shop'],
      signed: ['--key', 'a.key', '--keyring', 'k', '-s', 'a.sig', '--require-signature'],
    };
    const entries = Object.entries({ ...elsewhere, ...here });
    home.write(
      guarded(Object.fromEntries(entries.map(([name, words]) => [name, guard(...words, '--', 's')]))),
    );
    putLock(join(home.project, 'mcp-lock.json'), ['s']);
    const names = Object.keys(elsewhere);
    expect(states(home)).toEqual([
      ...names.map((name) => `claude-code ${name} changed mcp-lock.json`),
      ...Object.keys(here).map((name) => `claude-code ${name} locked mcp-lock.json guarded`),
    ]);
    expect(codes(home)).toEqual([
      ...names.map((name) => `${name} DISCOVER_GUARD`),
      ...Object.keys(here).map((name) => `${name} good`),
    ]);
    expect(home.find().servers[0]!.why!.message).toBe(
      'Its guard is told --store: kill switches and records are not those of here.',
    );
  });

  test('goes by its own lock, whatever other lock there is of the server', () => {
    const home = testHome(
      guarded({
        other: guard('--lock', 'locks/other.json', '--', 's'),
        missing: guard('--lock', 'locks/missing.json', '--', 's'),
      }),
    );
    putLock(join(home.project, 'mcp-lock.json'), ['s']);
    putLock(join(home.project, 'locks/other.json'), ['t']);
    expect(states(home)).toEqual([
      'claude-code other changed locks/other.json guarded',
      'claude-code missing unpinned locks/missing.json guarded',
    ]);
    const user = testHome({ '~/.cursor/mcp.json': guarded({ a: guard('--', 's') })['.mcp.json'] });
    expect(codes(user)).toEqual(['a DISCOVER_GUARD']);
  });

  test('passes on the variables of its lock, as lock prints it', () => {
    const home = testHome();
    const lock = join(home.project, 'mcp-lock.json');
    putLock(lock, ['s'], ['KEY']);
    const env = { BULLA_HOME: home.own.home, KEY: 'x' };
    home.write(
      guarded({
        printed: { ...guard('--lock', lock, '--', 's'), env },
        named: { ...guard('--lock', lock, '--env', 'KEY', '--', 's'), env },
        more: { ...guard('--lock', lock, '--env', 'OTHER', '--', 's'), env },
      }),
    );
    expect(states(home)).toEqual([
      'claude-code printed locked mcp-lock.json guarded',
      'claude-code named locked mcp-lock.json guarded',
      'claude-code more changed mcp-lock.json guarded',
    ]);
  });

  test.each([
    'NODE_OPTIONS',
    'NODE_PATH',
    'NODE_EXTRA_CA_CERTS',
    'LD_PRELOAD',
    'DYLD_INSERT_LIBRARIES',
    'PATH',
    'BULLA_HOME',
    'BULLA_ALLOW_PRIVATE_REGISTRY',
    'HOME',
    'npm_config_registry',
  ])('does not count with %s, whose value no lock holds', (name) => {
    const home = testHome(guarded({ a: { ...guard('--', 's'), env: { [name]: '/x' } } }));
    putLock(join(home.project, 'mcp-lock.json'), ['s']);
    expect(states(home)).toEqual(['claude-code a changed mcp-lock.json']);
    expect(codes(home)).toEqual(['a DISCOVER_LAUNCH']);
  });
});

describe('no lock holds', () => {
  test('the folder that a server is started in, unless it is the project', () => {
    const entry = { command: 'node', args: ['s.js'] };
    const home = testHome({
      '.mcp.json': {
        mcpServers: { none: entry, here: { ...entry, cwd: '.' }, there: { ...entry, cwd: './evil' } },
      },
      '.cursor/mcp.json': { mcpServers: { filled: { ...entry, cwd: `\${workspaceFolder}` } } },
      '~/.cursor/mcp.json': { mcpServers: { user: { ...entry, cwd: '/srv' } } },
    });
    putLock(join(home.project, 'mcp-locks/there.json'), ['node', 's.js']);
    const { checked } = checkServers(home.find().servers, { user: join(home.home, 'locks'), project: null });
    expect(checked.map(({ name, state, why }) => [name, state, why?.code])).toEqual([
      ['none', 'locked', undefined],
      ['here', 'locked', undefined],
      ['there', 'unpinned', 'DISCOVER_LAUNCH'],
      ['user', 'unpinned', 'DISCOVER_LAUNCH'],
      ['filled', 'locked', undefined],
    ]);
    home.write({
      '.mcp.json': { mcpServers: { there: { ...entry, cwd: './evil' } } },
      '.cursor/mcp.json': '{}',
    });
    expect(states(home)).toContain('claude-code there changed mcp-locks/there.json');
  });

  test('the value of a variable that has other code loaded', () => {
    const home = testHome({
      '.mcp.json': { mcpServers: { a: { command: 's', env: { NODE_OPTIONS: '--require ./evil.js' } } } },
    });
    putLock(join(home.project, 'mcp-locks/a.json'), ['s'], ['NODE_OPTIONS']);
    expect(states(home)).toEqual(['claude-code a changed mcp-locks/a.json']);
    expect(home.find().servers[0]!.why!.code).toBe('DISCOVER_LAUNCH');
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
