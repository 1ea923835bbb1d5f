import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { bullaIn, lockedFolder, SHOP, surfaceServer, type TestSurface } from '../../../test/lockfiles.ts';
import { script } from '../../../test/mcp.ts';
import { temporaryFolder } from '../../../test/run.ts';

interface Tool {
  name: string;
  description: string;
  inputSchema: { type: string; properties: object; required: string[] };
}
const [search, order] = SHOP.tools as [Tool, Tool];

/** A folder with a lock of the shop, whose server now shows this. */
function changed(surface: TestSurface): string {
  return lockedFolder(SHOP, surfaceServer(surface).words);
}

describe('at a glance', () => {
  test('a description that was edited', async () => {
    const description = 'Finds articles by their exact name.';
    const { status, stdout } = await bullaIn(
      changed({ ...SHOP, tools: [{ ...search, description }, order] }),
      ['check'],
    );
    expect(status).toBe(1);
    expect(stdout).toBe(
      [
        '1 difference: 1 critical.',
        '',
        'CRITICAL  tool search',
        '  The description changed. [only prose]',
        '    | Finds articles by their {+exact +}name.',
        '',
        'FAIL: 1 difference is critical.',
        '',
      ].join('\n'),
    );
  });

  test('a schema that was edited', async () => {
    const { properties, required } = search.inputSchema;
    const inputSchema = {
      ...search.inputSchema,
      properties: { ...properties, token: { type: 'string' } },
      required: [...required, 'token'],
    };
    const { status, stdout } = await bullaIn(
      changed({ ...SHOP, tools: [{ ...search, inputSchema }, order] }),
      ['check'],
    );
    expect(status).toBe(1);
    expect(stdout).toContain('CRITICAL  tool search\n  The input schema');
    expect(stdout).toMatch(/"token".*(?:must be given|required)/);
  });

  test('a tool that was renamed', async () => {
    const { status, stdout } = await bullaIn(
      changed({ ...SHOP, tools: [search, { ...order, name: 'buy' }] }),
      ['check'],
    );
    expect(status).toBe(1);
    expect(stdout).toContain(
      'CRITICAL  tool order → buy\n  The tool "order" is now called "buy"; its definition is otherwise the same.\n',
    );
  });
});

describe('check', () => {
  test('--fail-on is the mildest difference that fails', async () => {
    const folder = changed({ ...SHOP, serverInfo: { name: 'shop', version: '1.0.1' } });
    const results = await Promise.all(
      ['critical', 'moderate', 'info', 'benign'].map((severity) =>
        bullaIn(folder, ['check', '--quiet', '--fail-on', severity]),
      ),
    );
    expect(results).toEqual([0, 0, 1, 1].map((status) => ({ status, stdout: '', stderr: '' })));
    expect((await bullaIn(folder, ['check', '--fail-on', 'anything'])).status).toBe(2);
  });

  test.each([
    ['json', /^\{\n {2}"lockfileVersion": "3\.0",\n {2}"server": "shop",\n {2}"lockfile": "mcp-lock\.json",/],
    ['sarif', /"version": ?"2\.1\.0"/],
    ['junit', /^<\?xml version="1\.0"/],
    ['markdown', /^### ❌ Drift of/],
  ])('--format %s', async (format, expected) => {
    const folder = changed({ ...SHOP, tools: [search] });
    const { status, stdout, stderr } = await bullaIn(folder, ['check', '--format', format]);
    expect([status, stderr]).toEqual([1, '']);
    expect(stdout).toMatch(expected);
  });

  test('another server than the locked one is told, whatever it shows', async () => {
    const folder = lockedFolder();
    const { words } = surfaceServer(SHOP);
    const { status, stdout } = await bullaIn(folder, ['check', '--json', '--', ...words]);
    expect(status).toBe(1);
    expect(JSON.parse(stdout).drift.map(({ code }: { code: string }) => code)).toEqual(['identity-changed']);
  });

  test('what cannot be told is never clean: exit 3, as a document too', async () => {
    const folder = lockedFolder();
    const { command, args } = script('hostile.mjs', join(folder, 'pids'), 'dies-mid-list');
    const [text, json] = await Promise.all([
      bullaIn(folder, ['check', '--', command, ...args]),
      bullaIn(folder, ['check', '--format', 'json', '--', command, ...args]),
    ]);
    expect([text.status, text.stdout]).toEqual([3, '']);
    expect(text.stderr).toContain('[MCP_SERVER_ENDED]');
    expect([json.status, JSON.parse(json.stdout).code]).toEqual([3, 'MCP_SERVER_ENDED']);
    const missing = await bullaIn(folder, ['check', '--lock', 'missing.json']);
    expect([missing.status, missing.stderr]).toEqual([2, expect.stringContaining('[INPUT_UNREADABLE]')]);
  });

  test('a lock that contradicts itself is bad: exit 1', async () => {
    const folder = changed(SHOP);
    const file = join(folder, 'mcp-lock.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('Orders an article.', 'Orders a car.'));
    const { status, stderr } = await bullaIn(folder, ['check']);
    expect([status, stderr]).toEqual([1, expect.stringContaining('[LOCK_INCONSISTENT]')]);
  });
});

test('who forgets the -- or the lock is told what to type', async () => {
  const folder = temporaryFolder();
  const [lock, check, ask, none, sign, bundle] = await Promise.all([
    bullaIn(folder, ['lock', '-o', 'a.json', '--json', 'npx', '-y', 'some-server', 'a b', '--verbose']),
    bullaIn(folder, ['check']),
    bullaIn(folder, ['policy', 'check', 'npx', '-y', 'x']),
    bullaIn(folder, ['guard', '-y']),
    bullaIn(folder, ['sign']),
    bullaIn(folder, ['bundle', 'export']),
  ]);
  expect([lock.status, lock.stderr]).toEqual([
    2,
    [
      "error: unknown option '-y'",
      "(see 'bulla lock --help')",
      "The server's command stands after --, with its own options: bulla lock -o a.json --json -- npx -y some-server 'a b' --verbose",
      '',
    ].join('\n'),
  ]);
  expect([ask, none].map(({ stderr }) => /options: (.*)\n/.exec(stderr)?.[1])).toEqual([
    'bulla policy check -- npx -y x',
    'bulla guard -- npx -y some-server',
  ]);
  for (const { status, stderr } of [sign, bundle]) expect([status, stderr]).toEqual([2, check.stderr]);
  writeFileSync(join(folder, 'mcp-lock.json'), '{}');
  const unsigned = await Promise.all([bullaIn(folder, ['sign']), bullaIn(folder, ['bundle', 'export'])]);
  expect(unsigned.map(({ stderr }) => stderr)).toEqual([
    'bulla: There is no key private.key. "bulla keygen" makes a pair; "-k FILE" names another. [INPUT_UNREADABLE]\n',
    'bulla: There is no signature mcp-lock.json.sig. "bulla sign -l mcp-lock.json" makes one; "-s FILE" names another. [INPUT_UNREADABLE]\n',
  ]);
  expect([check.status, check.stderr]).toEqual([
    2,
    'bulla: There is no lockfile mcp-lock.json. "bulla lock -- SERVER…" makes one; "-l FILE" names another. [INPUT_UNREADABLE]\n',
  ]);
});
