import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { testHome } from '../../test/clients.ts';
import type { Configured } from './discover.ts';
import { discover } from './index.ts';

/** A server in a line: where it stands, its name, and how it is reached. */
function lineOf({ client, scope, name, entry, disabled, target, why }: Configured): string {
  const reached =
    target === null
      ? `(${why?.code})`
      : target.kind === 'http'
        ? target.url
        : [target.command, ...target.args, ...target.env.map((n) => `$${n}`)].join(' ');
  const headers = [...entry.headers.keys(), ...entry.envHeaders.keys()]
    .map((header) => ` ${header}:`)
    .join('');
  return `${client.id} ${scope} ${name}: ${reached}${headers}${disabled ? ' off' : ''}`;
}

function lines(files: Record<string, unknown>): string[] {
  const { servers, problems } = testHome(files).find();
  expect(problems).toEqual([]);
  return servers.map(lineOf);
}

const STDIO = { command: 'npx', args: ['-y', 'server'], env: { B: '1', A: 'secret' } };
const HTTP = {
  type: 'http',
  url: 'https://mcp.example.com/mcp',
  headers: { Authorization: 'Bearer secret' },
};

describe('each client', () => {
  test('Claude Desktop', () => {
    expect(
      lines({
        '~/.config/Claude/claude_desktop_config.json': { globalShortcut: 'x', mcpServers: { files: STDIO } },
      }),
    ).toEqual(['claude-desktop user files: npx -y server $A $B']);
  });

  test('Claude Code: user, local, project, and what is switched off', () => {
    const home = testHome();
    home.write({
      '~/.claude.json': {
        numStartups: 12345678901234567890n.toString(),
        mcpServers: { everywhere: { type: 'stdio', ...STDIO } },
        projects: {
          [home.project]: {
            mcpServers: { here: STDIO, off: STDIO },
            disabledMcpServers: ['off'],
            disabledMcpjsonServers: ['two'],
            allowedTools: [],
          },
          '/other/project': { mcpServers: { there: HTTP } },
          '/empty': {},
        },
      },
      '~/.claude/settings.json': { permissions: { allow: [] }, disabledMcpjsonServers: ['three'] },
      '.mcp.json': { mcpServers: { one: HTTP, two: STDIO, three: STDIO } },
    });
    const { servers, problems } = home.find();
    expect(problems).toEqual([]);
    expect(servers.map(lineOf)).toEqual([
      'claude-code user everywhere: npx -y server $A $B',
      'claude-code project here: npx -y server $A $B',
      'claude-code project off: npx -y server $A $B off',
      'claude-code project there: https://mcp.example.com/mcp Authorization:',
      'claude-code project one: https://mcp.example.com/mcp Authorization:',
      'claude-code project two: npx -y server $A $B off',
      'claude-code project three: npx -y server $A $B off',
    ]);
    expect(servers.map(({ project, isShared }) => [project, isShared])).toEqual([
      [null, false],
      [home.project, false],
      [home.project, false],
      ['/other/project', false],
      ...Array(3).fill([home.project, true]),
    ]);
  });

  test('Cursor, with comments, in both places', () => {
    const config =
      '{\n  // mine\n  "mcpServers": {"a": {"url": "https://a.example/mcp"}, /* b */ "b": {"command": "b"},}\n}';
    expect(lines({ '~/.cursor/mcp.json': config, '.cursor/mcp.json': { mcpServers: { c: STDIO } } })).toEqual(
      ['cursor user a: https://a.example/mcp', 'cursor user b: b', 'cursor project c: npx -y server $A $B'],
    );
  });

  test('VS Code: servers and inputs, profiles, old settings, the workspace; and Insiders', () => {
    const config = `{
      // asked from a person
      "inputs": [{ "type": "promptString", "id": "key", "password": true }],
      "servers": {
        "local": { "type": "stdio", "command": "node", "args": ["\${workspaceFolder}/server.js"], "env": { "KEY": "\${input:key}" } },
        "asked": { "command": "node", "args": ["--key=\${input:key}"] },
        "far": { "type": "http", "url": "https://far.example/mcp", "headers": { "X-Key": "\${input:key}" } },
      },
    }`;
    const home = testHome({
      '~/.config/Code/User/mcp.json': config,
      '~/.config/Code/User/profiles/-1a2b/mcp.json': { servers: { profiled: STDIO } },
      '~/.config/Code/User/settings.json':
        '{"editor.fontSize": 12, "mcp": {"servers": {"old": {"command": "old"}}},}',
      '.vscode/mcp.json': { servers: { shared: { command: 'node', args: [`\${userHome}/s.js`] } } },
      '~/.config/Code - Insiders/User/mcp.json': { servers: { inside: STDIO } },
    });
    const { servers, problems } = home.find();
    expect(problems).toEqual([]);
    expect(servers.map(lineOf)).toEqual([
      `vscode user local: node ${home.project}/server.js $KEY`,
      'vscode user asked: (DISCOVER_LAUNCH)',
      'vscode user far: https://far.example/mcp X-Key:',
      'vscode user profiled: npx -y server $A $B',
      'vscode user old: old',
      `vscode project shared: node ${home.home}/s.js`,
      'vscode-insiders user inside: npx -y server $A $B',
    ]);
  });

  test('GitHub Copilot', () => {
    expect(
      lines({
        '~/.copilot/mcp-config.json': { mcpServers: { a: { type: 'local', ...STDIO, tools: ['*'] } } },
      }),
    ).toEqual(['copilot user a: npx -y server $A $B']);
  });

  test('Windsurf and Antigravity', () => {
    const config = {
      mcpServers: { far: { serverUrl: 'https://far.example/mcp' }, near: { ...STDIO, disabled: true } },
    };
    expect(
      lines({
        '~/.codeium/windsurf/mcp_config.json': config,
        '~/.gemini/antigravity/mcp_config.json': config,
      }),
    ).toEqual([
      'windsurf user far: https://far.example/mcp',
      'windsurf user near: npx -y server $A $B off',
      'antigravity user far: https://far.example/mcp',
      'antigravity user near: npx -y server $A $B off',
    ]);
  });

  test('Zed: commands of both forms, addresses, extensions', () => {
    const config = `// Zed settings
    {
      "theme": "One Dark",
      "context_servers": {
        "flat": { "source": "custom", "command": "uvx", "args": ["server"], "env": { "K": "v" }, "enabled": false },
        "old": { "command": { "path": "node", "args": ["s.js"], "env": { "K": "v" } }, "settings": {} },
        "far": { "url": "https://far.example/mcp", "headers": { "Authorization": "Bearer x" } },
        "extension": { "source": "extension", "enabled": true, "settings": { "token": "secret" } },
      },
    }`;
    expect(
      lines({
        '~/.config/zed/settings.json': config,
        '.zed/settings.json': { context_servers: { here: STDIO } },
      }),
    ).toEqual([
      'zed user flat: uvx server $K off',
      'zed user old: node s.js $K',
      'zed user far: https://far.example/mcp Authorization:',
      'zed user extension: (DISCOVER_BY_CLIENT)',
      'zed project here: npx -y server $A $B',
    ]);
  });

  test('Codex', () => {
    const config = `
model = "gpt-6"
[mcp_servers.files]
command = "npx"
args = ["-y", "server"]
env = { "KEY" = "secret" }
env_vars = ["LOCAL", { name = "OTHER", source = "local" }]
startup_timeout_sec = 20

[mcp_servers."far away"]
url = "https://far.example/mcp"
bearer_token_env_var = "TOKEN"
http_headers = { "X-Region" = "eu" }
env_http_headers = { "X-Key" = "KEY" }
enabled = false
`;
    expect(
      lines({
        '~/.codex/config.toml': config,
        '.codex/config.toml': '[mcp_servers.here]\ncommand = "here"\n',
      }),
    ).toEqual([
      'codex user files: npx -y server $KEY $LOCAL $OTHER',
      'codex user far away: https://far.example/mcp X-Region: X-Key: off',
      'codex project here: here',
    ]);
  });

  test('Gemini CLI, with what is excluded', () => {
    const config = {
      mcp: { excluded: ['b'] },
      mcpServers: { a: { httpUrl: 'https://a.example/mcp' }, b: STDIO, c: { url: 'https://c.example/sse' } },
    };
    const project = { mcp: { allowed: ['d'] }, mcpServers: { d: STDIO, e: STDIO } };
    expect(lines({ '~/.gemini/settings.json': config, '.gemini/settings.json': project })).toEqual([
      'gemini user a: https://a.example/mcp',
      'gemini user b: npx -y server $A $B off',
      'gemini user c: https://c.example/sse',
      'gemini project d: npx -y server $A $B',
      'gemini project e: npx -y server $A $B off',
    ]);
  });

  test('Cline and Roo Code', () => {
    const config = {
      mcpServers: {
        'github.com/me/server': { ...STDIO, disabled: false, autoApprove: ['x'] },
        off: { ...STDIO, disabled: true },
      },
    };
    const storage = '~/.config/Code/User/globalStorage';
    expect(
      lines({
        [`${storage}/saoudrizwan.claude-dev/settings/cline_mcp_settings.json`]: config,
        [`${storage}/rooveterinaryinc.roo-cline/settings/mcp_settings.json`]: config,
        '.roo/mcp.json': { mcpServers: { here: STDIO } },
      }),
    ).toEqual([
      'cline user github.com/me/server: npx -y server $A $B',
      'cline user off: npx -y server $A $B off',
      'roo user github.com/me/server: npx -y server $A $B',
      'roo user off: npx -y server $A $B off',
      'roo project here: npx -y server $A $B',
    ]);
  });

  test('Continue: a list, and files of their own', () => {
    const config =
      'name: mine\nversion: 1.0.0\nmcpServers:\n  - name: one\n    command: npx\n    args:\n      - "-y"\n      - server\n  - name: two\n    type: streamable-http\n    url: https://two.example/mcp\n';
    expect(
      lines({
        '~/.continue/config.yaml': config,
        '.continue/mcpServers/browser.yaml':
          'name: x\nmcpServers:\n  - name: browser\n    command: browser\n',
        '.continue/mcpServers/copied.json': { mcpServers: { copied: STDIO } },
      }),
    ).toEqual([
      'continue user one: npx -y server',
      'continue user two: https://two.example/mcp',
      'continue project browser: browser',
      'continue project copied: npx -y server $A $B',
    ]);
  });

  test('Goose, where some servers are its own', () => {
    const config = `GOOSE_PROVIDER: anthropic
extensions:
  developer: { bundled: true, enabled: true, name: developer, type: builtin }
  files: { enabled: true, type: stdio, cmd: npx, args: ["-y", server], envs: { MODE: x }, env_keys: [KEY] }
  far: { enabled: false, type: streamable_http, uri: "https://far.example/mcp", headers: { X-Key: secret } }
`;
    expect(lines({ '~/.config/goose/config.yaml': config })).toEqual([
      'goose user developer: (DISCOVER_BY_CLIENT)',
      'goose user files: npx -y server $KEY $MODE',
      'goose user far: https://far.example/mcp X-Key: off',
    ]);
  });

  test('Amazon Q, Kiro, Junie and LM Studio', () => {
    const config = { mcpServers: { a: { ...STDIO, disabled: true } } };
    expect(
      lines({
        '~/.aws/amazonq/mcp.json': config,
        '~/.aws/amazonq/cli-agents/mine.json': { name: 'mine', tools: ['*'], mcpServers: { b: STDIO } },
        '.amazonq/default.json': config,
        '~/.kiro/settings/mcp.json': config,
        '.kiro/settings/mcp.json': config,
        '~/.junie/mcp/mcp.json': config,
        '~/.lmstudio/mcp.json': { mcpServers: { far: { url: 'https://far.example/mcp' } } },
      }),
    ).toEqual([
      'amazon-q user a: npx -y server $A $B off',
      'amazon-q user b: npx -y server $A $B',
      'amazon-q project a: npx -y server $A $B off',
      'kiro user a: npx -y server $A $B off',
      'kiro project a: npx -y server $A $B off',
      'junie user a: npx -y server $A $B',
      'lm-studio user far: https://far.example/mcp',
    ]);
  });

  test('OpenCode, in both versions', () => {
    const local = {
      type: 'local',
      command: ['bun', 'x', 'server'],
      environment: { KEY: 'secret' },
      enabled: false,
    };
    const remote = {
      type: 'remote',
      url: 'https://far.example/mcp',
      headers: { Authorization: 'Bearer secret' },
    };
    expect(
      lines({
        '~/.config/opencode/opencode.json': `{"mcp": ${JSON.stringify({ local, remote })},}`,
        'opencode.jsonc': `{ // the second\n "mcp": {"servers": ${JSON.stringify({ remote })}} }`,
      }),
    ).toEqual([
      'opencode user local: bun x server $KEY off',
      'opencode user remote: https://far.example/mcp Authorization:',
      'opencode project remote: https://far.example/mcp Authorization:',
    ]);
  });
});

describe('what cannot be read', () => {
  test('is told with its code and place, and the rest goes on', () => {
    const home = testHome({
      '~/.cursor/mcp.json': '{"mcpServers": {"a": {"command": "a"}}',
      '~/.codex/config.toml': 'broken',
      '~/.config/goose/config.yaml': 'extensions: [',
      '.mcp.json': {
        mcpServers: { good: STDIO, bad: { command: 7 }, worse: 'x', list: { command: 'x', args: ['a', 1] } },
      },
      '.vscode/mcp.json': { servers: [] },
    });
    mkdirSync(join(home.home, '.claude.json'));
    const { servers, problems } = home.find();
    expect(servers.map(lineOf)).toEqual(['claude-code project good: npx -y server $A $B']);
    expect(
      problems.map(({ file, error: { code, path, offset } }) => [
        file.replace(home.home, '~').replace(`${home.project}/`, ''),
        code,
        path ?? offset ?? null,
      ]),
    ).toEqual([
      ['~/.claude.json', 'INPUT_UNREADABLE', null],
      ['.mcp.json', 'DISCOVER_SHAPE', '/mcpServers/bad/command'],
      ['.mcp.json', 'DISCOVER_SHAPE', '/mcpServers/worse'],
      ['.mcp.json', 'DISCOVER_SHAPE', '/mcpServers/list/args/1'],
      ['~/.cursor/mcp.json', 'DISCOVER_SYNTAX', 38],
      ['.vscode/mcp.json', 'DISCOVER_SHAPE', '/servers'],
      ['~/.codex/config.toml', 'DISCOVER_SYNTAX', 0],
      ['~/.config/goose/config.yaml', 'DISCOVER_SYNTAX', 13],
    ]);
  });

  test.skipIf(process.platform === 'win32')(
    'is also a pipe, a device, and what has no end: nobody waits',
    () => {
      const home = testHome({ '~/.cursor/mcp.json': { mcpServers: { a: STDIO } } });
      expect(spawnSync('mkfifo', [join(home.project, '.mcp.json')]).status).toBe(0);
      symlinkSync('/dev/zero', join(home.home, '.claude.json'));
      const { servers, problems } = home.find();
      expect(servers.map(lineOf)).toEqual(['cursor user a: npx -y server $A $B']);
      expect(problems.map(({ file, error: { code, message } }) => [code, message.replace(file, '')])).toEqual(
        [
          ['INPUT_UNREADABLE', ' is not a regular file.'],
          ['INPUT_UNREADABLE', ' is not a regular file.'],
        ],
      );
    },
  );

  test.skipIf(process.getuid?.() === 0)('is also a file without the right to read it', () => {
    const home = testHome({ '.mcp.json': {} });
    chmodSync(join(home.project, '.mcp.json'), 0);
    expect(home.find().problems.map(({ error }) => error.code)).toEqual(['INPUT_UNREADABLE']);
  });
});

test('a project that is the home has its files once', () => {
  const home = testHome({ '~/.cursor/mcp.json': { mcpServers: { a: STDIO } } });
  const { servers } = discover({ platform: 'linux', home: home.home, project: home.home, env: {} }, home.own);
  expect(servers.map(lineOf)).toEqual(['cursor user a: npx -y server $A $B']);
});

test('nothing is found in an empty home', () => {
  expect(testHome().find()).toEqual({ servers: [], files: [], problems: [] });
});
