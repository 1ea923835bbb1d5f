import { expect, test, vi } from 'vitest';
import { hostConfig, hostConfigText, relativePaths } from './host-config.ts';

const target = {
  kind: 'stdio',
  command: 'npx',
  args: ['-y', 'shop', './package.json'],
  env: ['SHOP_TOKEN'],
} as const;

test('values of variables are for the user to fill in; a pinned program is started as pinned', () => {
  vi.stubEnv('BULLA_HOME', undefined);
  vi.stubEnv('XDG_DATA_HOME', undefined);
  vi.stubEnv('SHOP_TOKEN', 'secret');
  const { mcpServers } = hostConfig({ name: 'acme/shop', target, lock: '/locks/shop.json', pinned: true });
  vi.unstubAllEnvs();
  expect(Object.keys(mcpServers)).toEqual(['acme-shop']);
  const { args, env } = mcpServers['acme-shop']!;
  const guard = ['guard', '--lock', '/locks/shop.json', '--pinned', '--', 'npx', ...target.args];
  expect([args.slice(-guard.length), env]).toEqual([guard, { SHOP_TOKEN: '<its value>' }]);
});

test('a server at an address is reached with the same options, and their values are for the user to fill in', () => {
  vi.stubEnv('BULLA_HOME', undefined);
  vi.stubEnv('XDG_DATA_HOME', undefined);
  vi.stubEnv('TOKEN', 'secret');
  const { mcpServers } = hostConfig({
    name: 'shop',
    target: { kind: 'http', url: 'https://shop.example/mcp' },
    lock: '/locks/shop.json',
    pinned: false,
    options: ['--bearer-env', 'TOKEN'],
    variables: ['TOKEN'],
  });
  vi.unstubAllEnvs();
  const { args, env } = mcpServers.shop!;
  const guard = [
    'guard',
    '--lock',
    '/locks/shop.json',
    '--bearer-env',
    'TOKEN',
    '--',
    'https://shop.example/mcp',
  ];
  expect([args.slice(-guard.length), env]).toEqual([guard, { TOKEN: '<its value>' }]);
});

test('where data lies in an unusual folder, the host is told which', () => {
  vi.stubEnv('BULLA_HOME', undefined);
  vi.stubEnv('XDG_DATA_HOME', '/data');
  const { mcpServers } = hostConfig({ name: '', target, lock: 'a', pinned: false });
  vi.unstubAllEnvs();
  expect(mcpServers.server!.env).toEqual({ BULLA_HOME: '/data/bulla', SHOP_TOKEN: '<its value>' });
});

test('and where the account has no home folder', () => {
  vi.stubEnv('BULLA_HOME', '/data/bulla');
  vi.stubEnv('HOME', '');
  const { mcpServers } = hostConfig({ name: '', target, lock: 'a', pinned: false });
  vi.unstubAllEnvs();
  expect(mcpServers.server!.env).toEqual({ BULLA_HOME: '/data/bulla', SHOP_TOKEN: '<its value>' });
});

test('what a terminal would obey or hide is escaped, and the text still is the configuration', () => {
  const config = { mcpServers: { a: { command: 'x', args: ['\u009b2J', '\u202e', '\u{e0041}', 'é\n'] } } };
  const text = hostConfigText(config);
  expect(text).toContain('"\\u009b2J"');
  expect(text).not.toMatch(/[\u0080-\u009f\u202e\u{e0041}]/u);
  expect(text).toContain('é\\n');
  expect(JSON.parse(text)).toEqual(config);
});

test('words that name something in this folder are found', () => {
  expect(relativePaths(target)).toEqual(['./package.json']);
  expect(relativePaths({ ...target, command: 'bin/server', args: ['/tmp', '-y', 'shop'] })).toEqual([
    'bin/server',
  ]);
});
