import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { bullaIn, SHOP, surfaceServer } from '../../../test/lockfiles.ts';
import { expectGone, packaged, script } from '../../../test/mcp.ts';
import { bulla, repo, temporaryFolder } from '../../../test/run.ts';
import { escaped, indented } from '../terminal/indented.ts';

describe('scan', () => {
  test('prints one document in the order of the released program, and nothing else', async () => {
    const { words } = surfaceServer(SHOP);
    const { status, stdout, stderr } = await bullaIn(temporaryFolder(), ['scan', '-p', '--', ...words]);
    expect([status, stderr]).toEqual([0, '']);
    const document = JSON.parse(stdout);
    expect(Object.keys(document)).toEqual([
      ...['timestamp', 'command', 'serverInfo', 'tools', 'resources', 'prompts', 'resourceTemplates'],
      ...['era', 'instructions', 'capabilities', 'contents', 'findings'],
    ]);
    expect(document).toMatchObject({
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      command: words.join(' '),
      serverInfo: { name: 'shop', version: '1.0.0', protocolVersion: '2025-11-25' },
      resources: SHOP.resources,
      prompts: SHOP.prompts,
      resourceTemplates: SHOP.resourceTemplates,
      findings: [],
    });
    expect(document.tools.map((tool: object) => Object.keys(tool))).toEqual([
      ['name', 'description', 'inputSchema', 'riskLevel', 'annotations'],
      ['name', 'description', 'inputSchema', 'riskLevel'],
    ]);
    expect(stdout).toBe(`${JSON.stringify(document, null, 2)}\n`);
  });

  test('a command in one string is the same, and digits are kept', async () => {
    const tools =
      '[{"name":"run_it","description":"x","inputSchema":{"type":"object","maximum":1.0,"minimum":12345678901234567890},"riskLevel":"none"}]';
    const { words } = surfaceServer({ tools });
    const { status, stdout } = await bullaIn(temporaryFolder(), ['scan', '--', words.join(' ')]);
    expect(status).toBe(0);
    expect(stdout).toContain(
      '"tools":[{"name":"run_it","description":"x","inputSchema":{"type":"object","maximum":1.0,"minimum":12345678901234567890},' +
        '"riskLevel":"MEDIUM","riskReasons":["contains dangerous keyword: \\"run\\""]}]',
    );
    expect(JSON.parse(stdout).findings).toEqual([
      {
        code: 'member_shadowed',
        path: '/tools/0/riskLevel',
        message: 'The server has a member riskLevel of its own in this tool; ours is shown in its place.',
      },
    ]);
  });

  test('for people: what is hidden is seen', async () => {
    const { words } = surfaceServer({
      tools: [
        {
          name: 'delete',
          description: 'Deletes\u200b a file.\n\u{e0068}\u{e0069}',
          inputSchema: { type: 'object' },
        },
      ],
    });
    const { status, stdout } = await bullaIn(temporaryFolder(), ['scan', '--text', '--', ...words]);
    expect(status).toBe(0);
    expect(stdout.split('\n').slice(1)).toEqual([
      '1 tool, 0 prompts, 0 resources, 0 resource templates; protocol 2025-11-25',
      '',
      'tools',
      '  delete                       MEDIUM Deletes⟨U+200B⟩ a file.…',
      '',
      '2 findings',
      '  U+200B (zero width space) is not seen by a person, but read by a machine. (at /tools/0/description) [invisible]',
      expect.stringMatching(
        /^ {2}A run of 2 characters from U\+E0068 .* It spells "hi"\. \(at \/tools\/0\/description\) \[tag\]$/,
      ),
      '',
    ]);
  });

  test('of a server of npm', async () => {
    const { command, args } = packaged('server-everything');
    const { status, stdout } = await bullaIn(temporaryFolder(), ['scan', '--', command, ...args]);
    expect(status).toBe(0);
    const { tools, prompts, resources, resourceTemplates } = JSON.parse(stdout);
    expect([tools, prompts, resources, resourceTemplates].map((list) => list.length)).toEqual([19, 4, 7, 2]);
  });

  test('what could not be read to its end is told in the document: exit 3', async () => {
    const pids = join(temporaryFolder(), 'pids');
    const { command, args } = script('hostile.mjs', pids, 'dies-mid-list');
    const { status, stdout, stderr } = await bullaIn(temporaryFolder(), ['scan', '--', command, ...args]);
    expect([status, stderr]).toEqual([3, '']);
    expect(JSON.parse(stdout)).toMatchObject({ tools: null, prompts: null, code: 'MCP_SERVER_ENDED' });
    const late = script('hostile.mjs', pids, 'hangs');
    const slow = await bullaIn(temporaryFolder(), [
      ...['scan', '--text', '-t', '300ms', '--', late.command, ...late.args],
    ]);
    expect([slow.status, slow.stdout]).toEqual([3, '']);
    expect(slow.stderr).toContain('[MCP_TIMEOUT]');
    await expectGone(pids);
  });

  test.each([
    [['scan'], 'MCP_TARGET'],
    [['scan', '--', 'echo $HOME'], 'MCP_TARGET'],
    [['scan', '--', 'https://user:secret@example.com/'], 'MCP_TARGET'],
    [['scan', '--header', 'X-Key: 1', '--', 'true'], 'USAGE'],
    [['scan', '--bearer-env', 'NOT_SET_HERE', '--', 'https://example.invalid/'], 'MCP_TARGET_ENV'],
    [
      ['scan', '--header', 'Authorization: Bearer x', '--', 'https://example.invalid/'],
      'A secret does not belong',
    ],
    [['scan', '-t', '10', '--', 'true'], 'A duration is expected'],
    [['scan', '--receipt', 'x', '--', 'true'], "unknown option '--receipt'"],
  ])('wrong usage: %j', async (args, told) => {
    const { status, stdout, stderr } = await bullaIn(temporaryFolder(), args);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain(told);
    expect(stderr).not.toContain('secret@');
  });

  test('an interrupt ends the server too', async () => {
    const folder = temporaryFolder();
    const pids = join(folder, 'pids');
    const { command, args } = script('hostile.mjs', pids, 'hangs-and-stays');
    const child = spawn(join(repo, 'bin/bulla'), ['lock', '--', command, ...args], {
      cwd: folder,
      stdio: 'ignore',
    });
    while (!existsSync(pids)) await sleep(10);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([null, 'SIGINT']);
    await expectGone(pids);
    expect(existsSync(join(folder, 'mcp-lock.json'))).toBe(false);
  });
});

test('in a document every character is seen', () => {
  const value = { a: 'x\u200b\u202e\u009b\u{e0041}\u2028é🎉 \u00a0', b: '\ud83d' };
  const text = escaped(JSON.stringify(value));
  expect(JSON.parse(text)).toEqual(value);
  expect(text).toBe('{"a":"x\\u200b\\u202e\\u009b\\udb40\\udc41\\u2028é🎉 \u00a0","b":"\\ud83d"}');
});

test('JSON is set in lines as JavaScript does it', () => {
  const value = { a: [1, { b: [] }, {}, [[]]], 'c:"{\\': 'x,[]{}:"\\', d: null, e: true };
  expect(indented(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
  expect(indented('"x"')).toBe('"x"');
  const deep = `${'['.repeat(900)}${']'.repeat(900)}`;
  expect(indented(deep).length).toBeLessThan(900 * 2 * 82);
});

test('no header from the environment goes over plain HTTP to another machine, whatever its name', () => {
  const words = ['scan', '--header-env', 'X-Tenant=PLAIN_VALUE', '--', 'http://192.0.2.2/mcp'];
  const { status, stderr } = bulla(words, '', { PLAIN_VALUE: 'secret' });
  expect([status, stderr]).toEqual([2, expect.stringContaining('[MCP_HTTP_INSECURE]')]);
});
