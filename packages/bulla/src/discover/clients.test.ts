import { describe, expect, test } from 'vitest';
import { CLIENTS, type Location } from './clients.ts';

const LOCATIONS = {
  linux: { platform: 'linux', home: '/home/me', project: '/src/p', env: {} },
  darwin: { platform: 'darwin', home: '/Users/me', project: '/src/p', env: {} },
  win32: { platform: 'win32', home: 'C:\\Users\\me', project: 'D:\\p', env: {} },
} satisfies Record<string, Location>;

function paths(id: string, location: Location): string[] {
  return CLIENTS.find((client) => client.id === id)!
    .files(location)
    .map(({ path }) => path);
}

describe('where each client keeps its servers', () => {
  const Roaming = 'C:\\Users\\me\\AppData\\Roaming';
  const Support = '/Users/me/Library/Application Support';
  const table: [string, string[], string[], string[]][] = [
    [
      'claude-desktop',
      ['/home/me/.config/Claude/claude_desktop_config.json'],
      [`${Support}/Claude/claude_desktop_config.json`],
      [`${Roaming}\\Claude\\claude_desktop_config.json`],
    ],
    [
      'cursor',
      ['/home/me/.cursor/mcp.json', '/src/p/.cursor/mcp.json'],
      ['/Users/me/.cursor/mcp.json', '/src/p/.cursor/mcp.json'],
      ['C:\\Users\\me\\.cursor\\mcp.json', 'D:\\p\\.cursor\\mcp.json'],
    ],
    [
      'vscode',
      [
        '/home/me/.config/Code/User/mcp.json',
        '/home/me/.config/Code/User/profiles/*/mcp.json',
        '/home/me/.config/Code/User/settings.json',
        '/src/p/.vscode/mcp.json',
      ],
      [
        `${Support}/Code/User/mcp.json`,
        `${Support}/Code/User/profiles/*/mcp.json`,
        `${Support}/Code/User/settings.json`,
        '/src/p/.vscode/mcp.json',
      ],
      [
        `${Roaming}\\Code\\User\\mcp.json`,
        `${Roaming}\\Code\\User\\profiles\\*\\mcp.json`,
        `${Roaming}\\Code\\User\\settings.json`,
        'D:\\p\\.vscode\\mcp.json',
      ],
    ],
    [
      'zed',
      ['/home/me/.config/zed/settings.json', '/src/p/.zed/settings.json'],
      ['/Users/me/.config/zed/settings.json', '/src/p/.zed/settings.json'],
      [`${Roaming}\\Zed\\settings.json`, 'D:\\p\\.zed\\settings.json'],
    ],
    [
      'goose',
      ['/home/me/.config/goose/config.yaml'],
      ['/Users/me/.config/goose/config.yaml'],
      [`${Roaming}\\Block\\goose\\config\\config.yaml`],
    ],
    [
      'windsurf',
      ['/home/me/.codeium/windsurf/mcp_config.json'],
      ['/Users/me/.codeium/windsurf/mcp_config.json'],
      ['C:\\Users\\me\\.codeium\\windsurf\\mcp_config.json'],
    ],
    [
      'codex',
      ['/home/me/.codex/config.toml', '/src/p/.codex/config.toml'],
      ['/Users/me/.codex/config.toml', '/src/p/.codex/config.toml'],
      ['C:\\Users\\me\\.codex\\config.toml', 'D:\\p\\.codex\\config.toml'],
    ],
  ];
  test.each(table)('%s', (id, linux, darwin, win32) => {
    expect(paths(id, LOCATIONS.linux)).toEqual(linux);
    expect(paths(id, LOCATIONS.darwin)).toEqual(darwin);
    expect(paths(id, LOCATIONS.win32)).toEqual(win32);
  });

  test('Claude Code, with the settings that switch servers off', () => {
    expect(paths('claude-code', LOCATIONS.linux)).toEqual([
      '/home/me/.claude.json',
      '/home/me/.claude/settings.json',
      '/src/p/.mcp.json',
      '/src/p/.claude/settings.json',
      '/src/p/.claude/settings.local.json',
    ]);
  });

  test('Cline keeps its file in each editor, and one of its own', () => {
    const file = 'globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json';
    expect(paths('cline', LOCATIONS.darwin)).toEqual([
      `${Support}/Code/User/${file}`,
      `${Support}/Code - Insiders/User/${file}`,
      `${Support}/Cursor/User/${file}`,
      '/Users/me/.cline/data/settings/cline_mcp_settings.json',
    ]);
  });
});

test('variables move configurations', () => {
  const env = {
    XDG_CONFIG_HOME: '/x',
    CODEX_HOME: '/codex',
    CLAUDE_CONFIG_DIR: '/claude',
    COPILOT_HOME: '/copilot',
    APPDATA: 'E:\\Data',
  };
  const linux = { ...LOCATIONS.linux, env };
  expect(paths('zed', linux)[0]).toBe('/x/zed/settings.json');
  expect(paths('claude-desktop', linux)[0]).toBe('/x/Claude/claude_desktop_config.json');
  expect(paths('codex', linux)[0]).toBe('/codex/config.toml');
  expect(paths('claude-code', linux).slice(0, 2)).toEqual(['/claude/.claude.json', '/claude/settings.json']);
  expect(paths('copilot', linux)[0]).toBe('/copilot/mcp-config.json');
  expect(paths('claude-desktop', { ...LOCATIONS.win32, env })[0]).toBe(
    'E:\\Data\\Claude\\claude_desktop_config.json',
  );
});

test('every client has an id of its own, and every path lies in the home or the project', () => {
  expect(new Set(CLIENTS.map(({ id }) => id)).size).toBe(CLIENTS.length);
  for (const location of Object.values(LOCATIONS))
    for (const client of CLIENTS)
      for (const { path, scope } of client.files(location))
        expect(path.startsWith(scope === 'user' ? location.home : location.project)).toBe(true);
});
