import { posix, win32 } from 'node:path';
import type { Environment } from '../os/index.ts';
import type { Syntax } from './document.ts';
import { COMMON, type Shape } from './entry.ts';
import { claudeCode, claudeSettings, continueList, gemini, opencode, type Reader, under } from './readers.ts';

/** Whose configurations are looked for, and where. */
export interface Location {
  /** As `process.platform` has it. */
  readonly platform: string;
  readonly home: string;
  readonly project: string;
  /** The variables that move configurations; empty for another home than the own. */
  readonly env: Environment;
}

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
  files(location: Location): readonly ConfigFile[];
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

/**
 * A file of a client. Its path begins with `~` for the home folder, with `{appData}`, or with `{NAME:folder}` for the
 * folder that a variable names if it is set; any other path lies in the project.
 */
type Row = readonly [
  path: string | { readonly win32: string; readonly others: string },
  syntax: Syntax,
  reader: Reader,
  shape: Shape,
];

/** Where programs of the terminal keep their configuration, on macOS too. */
const CONFIG = '{XDG_CONFIG_HOME:~/.config}';
/** Where programs with a window keep their data, which is where Electron puts it. */
const APP_DATA: Readonly<Record<string, string>> = {
  win32: '{APPDATA:~/AppData/Roaming}',
  darwin: '~/Library/Application Support',
};

function fullPath(path: string, location: Location): string {
  const { platform, home, project, env } = location;
  const { join } = platform === 'win32' ? win32 : posix;
  const plain = path.replace('{appData}', APP_DATA[platform] ?? CONFIG);
  const [, variable, folder, rest] = /^\{(\w+):(.*)\}(.*)$/.exec(plain) ?? [];
  if (variable !== undefined) return join(env[variable] || fullPath(folder!, location), rest!);
  return plain.startsWith('~') ? join(home, plain.slice(1)) : join(project, plain);
}

function client(id: string, name: string, rows: readonly Row[], isEditor = false): Client {
  return {
    id,
    name,
    isEditor,
    files: (location) =>
      rows.map(([given, syntax, reader, shape]) => {
        const own = location.platform === 'win32' ? 'win32' : 'others';
        const path = typeof given === 'string' ? given : given[own];
        const scope = /^[~{]/.test(path) ? 'user' : 'project';
        return { path: fullPath(path, location), scope, syntax, reader, shape };
      }),
  };
}

function editor(id: string, name: string, rows: readonly Row[]): Client {
  return client(id, name, rows, true);
}

function vscodeFiles(product: string): Row[] {
  const user = `{appData}/${product}/User`;
  return [
    [`${user}/mcp.json`, 'jsonc', under('servers'), NO_SWITCH],
    [`${user}/profiles/*/mcp.json`, 'jsonc', under('servers'), NO_SWITCH],
    // Where servers stood before they had a file of their own.
    [`${user}/settings.json`, 'jsonc', under('mcp', 'servers'), NO_SWITCH],
  ];
}

/** An extension of VS Code keeps its settings in each editor that it is installed in. */
function extensionFiles(path: string): Row[] {
  return ['Code', 'Code - Insiders', 'Cursor'].map((product) => [
    `{appData}/${product}/User/globalStorage/${path}`,
    'jsonc',
    SERVERS,
    COMMON,
  ]);
}

/** Files with servers of their own, in the YAML of Continue or in the JSON of others. */
function continueFiles(folder: string): Row[] {
  return [
    [`${folder}/mcpServers/*.yaml`, 'yaml', continueList, NO_SWITCH],
    [`${folder}/mcpServers/*.yml`, 'yaml', continueList, NO_SWITCH],
    [`${folder}/mcpServers/*.json`, 'json', SERVERS, NO_SWITCH],
  ];
}

function amazonQFiles(folder: string): Row[] {
  const files = ['mcp.json', 'default.json', 'agents/*.json', 'cli-agents/*.json'];
  return files.map((file) => [`${folder}/${file}`, 'json', SERVERS, COMMON]);
}

/** OpenCode takes comments in a `.json` file too. */
function opencodeFiles(...folders: readonly string[]): Row[] {
  return folders.flatMap((folder) =>
    ['opencode.json', 'opencode.jsonc'].map((file): Row => [folder + file, 'jsonc', opencode, OPENCODE]),
  );
}

/** Every client that is known, with where it keeps its servers and how it writes them. */
export const CLIENTS: readonly Client[] = [
  client('claude-desktop', 'Claude Desktop', [
    ['{appData}/Claude/claude_desktop_config.json', 'json', SERVERS, NO_SWITCH],
  ]),
  client('claude-code', 'Claude Code', [
    ['{CLAUDE_CONFIG_DIR:~}/.claude.json', 'json', claudeCode, NO_SWITCH],
    ['{CLAUDE_CONFIG_DIR:~/.claude}/settings.json', 'json', claudeSettings, NO_SWITCH],
    ['.mcp.json', 'json', SERVERS, NO_SWITCH],
    ['.claude/settings.json', 'json', claudeSettings, NO_SWITCH],
    ['.claude/settings.local.json', 'json', claudeSettings, NO_SWITCH],
  ]),
  editor('cursor', 'Cursor', [
    ['~/.cursor/mcp.json', 'jsonc', SERVERS, NO_SWITCH],
    ['.cursor/mcp.json', 'jsonc', SERVERS, NO_SWITCH],
  ]),
  editor('vscode', 'VS Code', [
    ...vscodeFiles('Code'),
    ['.vscode/mcp.json', 'jsonc', under('servers'), NO_SWITCH],
  ]),
  editor('vscode-insiders', 'VS Code Insiders', vscodeFiles('Code - Insiders')),
  client('copilot', 'GitHub Copilot', [
    ['{COPILOT_HOME:~/.copilot}/mcp-config.json', 'json', SERVERS, NO_SWITCH],
  ]),
  editor('windsurf', 'Windsurf', [['~/.codeium/windsurf/mcp_config.json', 'jsonc', SERVERS, WINDSURF]]),
  client('zed', 'Zed', [
    [
      { win32: '{appData}/Zed/settings.json', others: `${CONFIG}/zed/settings.json` },
      'jsonc',
      under('context_servers'),
      ZED,
    ],
    ['.zed/settings.json', 'jsonc', under('context_servers'), ZED],
  ]),
  client('codex', 'Codex', [
    ['{CODEX_HOME:~/.codex}/config.toml', 'toml', under('mcp_servers'), CODEX],
    ['.codex/config.toml', 'toml', under('mcp_servers'), CODEX],
  ]),
  client('gemini', 'Gemini CLI', [
    ['~/.gemini/settings.json', 'jsonc', gemini, GEMINI],
    ['.gemini/settings.json', 'jsonc', gemini, GEMINI],
  ]),
  editor('antigravity', 'Antigravity', [
    ['~/.gemini/antigravity/mcp_config.json', 'jsonc', SERVERS, WINDSURF],
    ['~/.gemini/config/mcp_config.json', 'jsonc', SERVERS, WINDSURF],
  ]),
  editor('cline', 'Cline', [
    ...extensionFiles('saoudrizwan.claude-dev/settings/cline_mcp_settings.json'),
    ['~/.cline/data/settings/cline_mcp_settings.json', 'jsonc', SERVERS, COMMON],
  ]),
  editor('roo', 'Roo Code', [
    ...extensionFiles('rooveterinaryinc.roo-cline/settings/mcp_settings.json'),
    ['.roo/mcp.json', 'jsonc', SERVERS, COMMON],
  ]),
  client('continue', 'Continue', [
    ['~/.continue/config.yaml', 'yaml', continueList, NO_SWITCH],
    ...continueFiles('~/.continue'),
    ...continueFiles('.continue'),
  ]),
  client('goose', 'Goose', [
    [
      { win32: '{appData}/Block/goose/config/config.yaml', others: `${CONFIG}/goose/config.yaml` },
      'yaml',
      under('extensions'),
      GOOSE,
    ],
  ]),
  client('amazon-q', 'Amazon Q', [...amazonQFiles('~/.aws/amazonq'), ...amazonQFiles('.amazonq')]),
  editor('kiro', 'Kiro', [
    ['~/.kiro/settings/mcp.json', 'jsonc', SERVERS, COMMON],
    ['.kiro/settings/mcp.json', 'jsonc', SERVERS, COMMON],
  ]),
  client('junie', 'Junie', [
    ['~/.junie/mcp/mcp.json', 'json', SERVERS, JUNIE],
    ['.junie/mcp/mcp.json', 'json', SERVERS, JUNIE],
  ]),
  client('opencode', 'OpenCode', opencodeFiles(`${CONFIG}/opencode/`, '~/.opencode/', '', '.opencode/')),
  client('lm-studio', 'LM Studio', [
    ['~/.lmstudio/mcp.json', 'json', SERVERS, NO_SWITCH],
    ['~/.cache/lm-studio/mcp.json', 'json', SERVERS, NO_SWITCH],
  ]),
];
