import type { Syntax } from './document.ts';
import { COMMON, type Shape } from './entry.ts';
import { appData, config, join, named, type Place } from './place.ts';
import { claudeCode, claudeSettings, continueList, gemini, opencode, type Reader, under } from './readers.ts';

/** A file that a client may have. One segment of its path may hold a `*`, for each file there that fits. */
export interface ConfigFile {
  readonly path: string;
  readonly scope: 'user' | 'project';
  readonly syntax: Syntax;
  readonly reader: Reader;
  readonly shape: Shape;
}

export interface Client {
  readonly id: string;
  readonly name: string;
  /** Whether `${workspaceFolder}` and `${userHome}` mean what they mean in VS Code. */
  readonly isEditor: boolean;
  files(place: Place): readonly ConfigFile[];
}

const SERVERS = under('mcpServers');
const NO_SWITCH: Shape = { ...COMMON, off: null };
const WINDSURF: Shape = { ...COMMON, url: ['serverUrl', 'url'] };
const GEMINI: Shape = { ...COMMON, url: ['httpUrl', 'url'], off: null };
const ZED: Shape = { ...COMMON, off: 'enabled' };
const CODEX: Shape = {
  ...COMMON,
  envNames: ['env_vars'],
  headers: 'http_headers',
  envHeaders: 'env_http_headers',
  bearerEnv: 'bearer_token_env_var',
  off: 'enabled',
};
const GOOSE: Shape = {
  ...COMMON,
  command: 'cmd',
  env: 'envs',
  envNames: ['env_keys'],
  url: ['uri'],
  off: 'enabled',
};
const OPENCODE: Shape = { ...COMMON, env: 'environment', off: 'enabled' };
const JUNIE: Shape = { ...NO_SWITCH, cwd: 'workingDirectory' };

type Files = readonly (readonly [path: string, syntax: Syntax, reader: Reader, shape: Shape])[];

function client(
  id: string,
  name: string,
  isEditor: boolean,
  files: { user(place: Place): Files; project?(inProject: (...parts: string[]) => string): Files },
): Client {
  return {
    id,
    name,
    isEditor,
    files(place) {
      const inProject = (...parts: string[]) => join(place, place.project, ...parts);
      const of = (scope: ConfigFile['scope'], list: Files) =>
        list.map(([path, syntax, reader, shape]) => ({ path, scope, syntax, reader, shape }));
      return [...of('user', files.user(place)), ...of('project', files.project?.(inProject) ?? [])];
    },
  };
}

/** Where an extension of VS Code keeps its settings. */
function globalStorage(place: Place, product: string, ...parts: string[]): string {
  return appData(place, product, 'User', 'globalStorage', ...parts);
}

function vscode(id: string, name: string, product: string): Client {
  return client(id, name, true, {
    user: (place) => [
      [appData(place, product, 'User', 'mcp.json'), 'jsonc', under('servers'), NO_SWITCH],
      [appData(place, product, 'User', 'profiles', '*', 'mcp.json'), 'jsonc', under('servers'), NO_SWITCH],
      // Where servers stood before they had a file of their own.
      [appData(place, product, 'User', 'settings.json'), 'jsonc', under('mcp', 'servers'), NO_SWITCH],
    ],
    project: (path) =>
      id === 'vscode' ? [[path('.vscode', 'mcp.json'), 'jsonc', under('servers'), NO_SWITCH]] : [],
  });
}

/** Every client that is known, with where it keeps its servers and how it writes them. */
export const CLIENTS: readonly Client[] = [
  client('claude-desktop', 'Claude Desktop', false, {
    user: (place) => [[appData(place, 'Claude', 'claude_desktop_config.json'), 'json', SERVERS, NO_SWITCH]],
  }),
  client('claude-code', 'Claude Code', false, {
    user: (place) => [
      [
        join(place, named(place, 'CLAUDE_CONFIG_DIR', place.home), '.claude.json'),
        'json',
        claudeCode,
        NO_SWITCH,
      ],
      [
        join(place, named(place, 'CLAUDE_CONFIG_DIR', join(place, place.home, '.claude')), 'settings.json'),
        'json',
        claudeSettings,
        NO_SWITCH,
      ],
    ],
    project: (path) => [
      [path('.mcp.json'), 'json', SERVERS, NO_SWITCH],
      [path('.claude', 'settings.json'), 'json', claudeSettings, NO_SWITCH],
      [path('.claude', 'settings.local.json'), 'json', claudeSettings, NO_SWITCH],
    ],
  }),
  client('cursor', 'Cursor', true, {
    user: (place) => [[join(place, place.home, '.cursor', 'mcp.json'), 'jsonc', SERVERS, NO_SWITCH]],
    project: (path) => [[path('.cursor', 'mcp.json'), 'jsonc', SERVERS, NO_SWITCH]],
  }),
  vscode('vscode', 'VS Code', 'Code'),
  vscode('vscode-insiders', 'VS Code Insiders', 'Code - Insiders'),
  client('copilot', 'GitHub Copilot', false, {
    user: (place) => [
      [
        join(place, named(place, 'COPILOT_HOME', join(place, place.home, '.copilot')), 'mcp-config.json'),
        'json',
        SERVERS,
        NO_SWITCH,
      ],
    ],
  }),
  client('windsurf', 'Windsurf', true, {
    user: (place) => [
      [join(place, place.home, '.codeium', 'windsurf', 'mcp_config.json'), 'jsonc', SERVERS, WINDSURF],
    ],
  }),
  client('zed', 'Zed', false, {
    user: (place) => [
      [
        place.platform === 'win32'
          ? appData(place, 'Zed', 'settings.json')
          : config(place, 'zed', 'settings.json'),
        'jsonc',
        under('context_servers'),
        ZED,
      ],
    ],
    project: (path) => [[path('.zed', 'settings.json'), 'jsonc', under('context_servers'), ZED]],
  }),
  client('codex', 'Codex', false, {
    user: (place) => [
      [
        join(place, named(place, 'CODEX_HOME', join(place, place.home, '.codex')), 'config.toml'),
        'toml',
        under('mcp_servers'),
        CODEX,
      ],
    ],
    project: (path) => [[path('.codex', 'config.toml'), 'toml', under('mcp_servers'), CODEX]],
  }),
  client('gemini', 'Gemini CLI', false, {
    user: (place) => [[join(place, place.home, '.gemini', 'settings.json'), 'jsonc', gemini, GEMINI]],
    project: (path) => [[path('.gemini', 'settings.json'), 'jsonc', gemini, GEMINI]],
  }),
  client('antigravity', 'Antigravity', true, {
    user: (place) => [
      [join(place, place.home, '.gemini', 'antigravity', 'mcp_config.json'), 'jsonc', SERVERS, WINDSURF],
      [join(place, place.home, '.gemini', 'config', 'mcp_config.json'), 'jsonc', SERVERS, WINDSURF],
    ],
  }),
  client('cline', 'Cline', true, {
    user: (place) => {
      const file = ['settings', 'cline_mcp_settings.json'];
      return [
        ...['Code', 'Code - Insiders', 'Cursor'].map(
          (product) =>
            [
              globalStorage(place, product, 'saoudrizwan.claude-dev', ...file),
              'jsonc',
              SERVERS,
              COMMON,
            ] as const,
        ),
        [join(place, place.home, '.cline', 'data', ...file), 'jsonc', SERVERS, COMMON],
      ];
    },
  }),
  client('roo', 'Roo Code', true, {
    user: (place) =>
      ['Code', 'Code - Insiders', 'Cursor'].map((product) => [
        globalStorage(place, product, 'rooveterinaryinc.roo-cline', 'settings', 'mcp_settings.json'),
        'jsonc',
        SERVERS,
        COMMON,
      ]),
    project: (path) => [[path('.roo', 'mcp.json'), 'jsonc', SERVERS, COMMON]],
  }),
  client('continue', 'Continue', false, {
    user: (place) => [
      [join(place, place.home, '.continue', 'config.yaml'), 'yaml', continueList, NO_SWITCH],
      ...continueBlocks((...parts) => join(place, place.home, ...parts)),
    ],
    project: (path) => continueBlocks(path),
  }),
  client('goose', 'Goose', false, {
    user: (place) => [
      [
        place.platform === 'win32'
          ? appData(place, 'Block', 'goose', 'config', 'config.yaml')
          : config(place, 'goose', 'config.yaml'),
        'yaml',
        under('extensions'),
        GOOSE,
      ],
    ],
  }),
  client('amazon-q', 'Amazon Q', false, {
    user: (place) => amazonQ((...parts) => join(place, place.home, '.aws', 'amazonq', ...parts)),
    project: (path) => amazonQ((...parts) => path('.amazonq', ...parts)),
  }),
  client('kiro', 'Kiro', true, {
    user: (place) => [[join(place, place.home, '.kiro', 'settings', 'mcp.json'), 'jsonc', SERVERS, COMMON]],
    project: (path) => [[path('.kiro', 'settings', 'mcp.json'), 'jsonc', SERVERS, COMMON]],
  }),
  client('junie', 'Junie', false, {
    user: (place) => [[join(place, place.home, '.junie', 'mcp', 'mcp.json'), 'json', SERVERS, JUNIE]],
    project: (path) => [[path('.junie', 'mcp', 'mcp.json'), 'json', SERVERS, JUNIE]],
  }),
  client('opencode', 'OpenCode', false, {
    user: (place) => [
      ...opencodeFiles((file) => config(place, 'opencode', file)),
      ...opencodeFiles((file) => join(place, place.home, '.opencode', file)),
    ],
    project: (path) => [...opencodeFiles(path), ...opencodeFiles((file) => path('.opencode', file))],
  }),
  client('lm-studio', 'LM Studio', false, {
    user: (place) => [
      [join(place, place.home, '.lmstudio', 'mcp.json'), 'json', SERVERS, NO_SWITCH],
      [join(place, place.home, '.cache', 'lm-studio', 'mcp.json'), 'json', SERVERS, NO_SWITCH],
    ],
  }),
];

/** Files with servers of their own, in the YAML of Continue or in the JSON of others. */
function continueBlocks(path: (...parts: string[]) => string): Files {
  return [
    [path('.continue', 'mcpServers', '*.yaml'), 'yaml', continueList, NO_SWITCH],
    [path('.continue', 'mcpServers', '*.yml'), 'yaml', continueList, NO_SWITCH],
    [path('.continue', 'mcpServers', '*.json'), 'json', SERVERS, NO_SWITCH],
  ];
}

function amazonQ(path: (...parts: string[]) => string): Files {
  return [['mcp.json'], ['default.json'], ['agents', '*.json'], ['cli-agents', '*.json']].map((parts) => [
    path(...parts),
    'json',
    SERVERS,
    COMMON,
  ]);
}

/** OpenCode takes comments in a `.json` file too. */
function opencodeFiles(path: (file: string) => string): Files {
  return ['opencode.json', 'opencode.jsonc'].map((file) => [path(file), 'jsonc', opencode, OPENCODE]);
}
