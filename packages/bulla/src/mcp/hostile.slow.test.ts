import { join } from 'node:path';
import { stringify } from '@bulla/core/json';
import { describe, expect, it } from 'vitest';
import { expectGone, refusal, scanHostile, script } from '../../test/mcp.ts';
import { temporaryFolder } from '../../test/run.ts';
import { scan } from './index.ts';

const names = (items: readonly { get(key: string): unknown }[]): unknown[] =>
  items.map((item) => item.get('name'));

describe('a server that is odd but honest is scanned', () => {
  it.each([
    ['ordinary', ['one', 'two']],
    ['out-of-order', ['one', 'two']],
    ['notifications-first', ['one', 'two']],
    ['no-templates', ['one', 'two']],
    ['empty-cursor', ['one', 'two']],
    ['null-cursor', ['one']],
    ['changes-once', ['new']],
    ['says-changed-always', ['one']],
    ['stateless-changes-once', ['new']],
    ['version-older', ['one', 'two']],
    ['version-error', ['one', 'two']],
    ['stateless-or-older', ['one', 'two']],
    ['stays-alive', ['one', 'two']],
    ['leaves-a-child', ['one', 'two']],
    ['nothing-offered', []],
  ])('%s', async (behaviour, tools) => {
    const surface = await scanHostile(behaviour, { graceMs: 50, termMs: 50 });
    expect(names(surface.tools)).toEqual(tools);
    expect(surface.findings).toEqual([]);
  });

  it('and every other list is read too', async () => {
    const surface = await scanHostile('ordinary');
    expect(surface).toMatchObject({ era: 'initialize', protocolVersion: '2025-11-25', instructions: null });
    expect(stringify(surface.prompts)).toBe('[{"name":"ask"}]');
    expect(stringify(surface.resources)).toBe('[{"uri":"file:///a","name":"a"}]');
    expect(stringify(surface.resourceTemplates)).toBe('[{"uriTemplate":"file:///{x}","name":"x"}]');
    expect(stringify(surface.serverInfo)).toBe('{"name":"hostile","version":"1"}');
  });

  it('a banner on standard output is skipped and told', async () => {
    const surface = await scanHostile('banner');
    expect(names(surface.tools)).toEqual(['one', 'two']);
    expect(surface.findings).toEqual([
      {
        code: 'stdout_noise',
        path: '',
        message: 'The server printed 3 line(s) that are no messages, first "Welcome!".',
      },
    ]);
  });

  it('a hundred megabytes on standard error do not block it', async () => {
    const surface = await scanHostile('floods-stderr', {}, ['100']);
    expect(names(surface.tools)).toEqual(['one', 'two']);
  });

  it('its own requests are answered by what was declared', async () => {
    const { tools } = await scanHostile('server-requests');
    expect(JSON.parse(tools[0]!.get('description') as string)).toEqual([
      ['a', {}],
      ['b', { roots: [] }],
      ['c', { code: -1, message: 'Sampling was refused.' }],
      ['d', { action: 'decline' }],
      ['e', { code: -32601, message: 'Method not found' }],
    ]);
  });

  it('nothing of its definitions is lost', async () => {
    const { tools } = await scanHostile('exact-numbers');
    expect(stringify(tools)).toBe(
      '[{"name":"one","inputSchema":{"maximum":10000000000000000000001.50,"2":0,"1":0}}]',
    );
  });

  it('it gets its words as given, and of the environment what was named', async () => {
    const words = ['a b', '$HOME', '*', '', '"', 'ü\n'];
    const pids = join(temporaryFolder(), 'pids');
    const target = {
      ...script('hostile.mjs', pids, 'tells-words-and-environment', ...words),
      env: ['GIVEN'],
    };
    const environment = {
      PATH: '/bin',
      HOME: '/h',
      AWS_SECRET_ACCESS_KEY: 's',
      GIVEN: 'g',
      npm_config_x: 'y',
    };
    const { tools } = await scan(target, { environment });
    expect(JSON.parse(tools[0]!.get('description') as string)).toEqual([words, ['GIVEN', 'HOME', 'PATH']]);
    expect(await refusal(scan(target, { environment: {} }))).toEqual({
      code: 'MCP_TARGET_ENV',
      message: 'The environment variable GIVEN is not set.',
    });
  });
});

describe('the era is found', () => {
  it('on a second process when the first one ends on the question', async () => {
    const pids = join(temporaryFolder(), 'pids');
    const { era, tools } = await scan(script('hostile.mjs', pids, 'ends-on-the-probe'));
    expect([era, tools.length]).toEqual(['initialize', 2]);
    expect(await expectGone(pids)).toHaveLength(2);
  });

  it('on a second process when the first one refuses the question without an id', async () => {
    const pids = join(temporaryFolder(), 'pids');
    const { era } = await scan(script('hostile.mjs', pids, 'refuses-the-probe-without-id'));
    expect(era).toBe('initialize');
    expect(await expectGone(pids)).toHaveLength(2);
  });

  it.each([
    ['ordinary', 'initialize', 5000],
    ['answers-anything', 'initialize', 5000],
    ['silent-to-the-probe', 'initialize', 100],
    ['stateless-and-slow', 'stateless', 100],
    ['stateless-and-slow', 'stateless', 5000],
  ])('on one process: %s is %s', async (behaviour, era, probeMs) => {
    const pids = join(temporaryFolder(), 'pids');
    const surface = await scan(script('hostile.mjs', pids, behaviour), { probeMs });
    expect([surface.era, surface.tools.length]).toEqual([era, 2]);
    expect(await expectGone(pids)).toHaveLength(1);
  });
});

describe('a server that cannot be relied on is refused', () => {
  it.each([
    ['dies-mid-list', 'MCP_SERVER_ENDED', 'The server ended with exit code 4.'],
    ['is-killed', 'MCP_SERVER_ENDED', 'The server was ended by SIGKILL.'],
    ['closes-output', 'MCP_SERVER_ENDED', 'The server closed its standard output.'],
    ['closes-input', 'MCP_SERVER_ENDED', 'The server closed its standard input.'],
    ['pages-forever', 'MCP_LIST_TOO_LONG', /tools\/list cannot be relied on: it has more than 20 pages/],
    ['repeats-a-cursor', 'MCP_LIST_TOO_LONG', /the same page was offered twice/],
    ['cursor-number', 'MCP_LIST_SHAPE', /nextCursor is not a string/],
    ['error-on-page-2', 'MCP_ERROR_ANSWER', 'The server answered tools/list with error -32603: "broken".'],
    [
      'error-everywhere',
      'MCP_ERROR_ANSWER',
      'The server answered tools/list with error -32603: "no\\u{202e}tools".',
    ],
    ['wrong-id', 'MCP_ANSWER_UNKNOWN', /with the id "\d+", which was never made/],
    ['string-id', 'MCP_ANSWER_UNKNOWN', /with the id "\\"\d+\\"", which was never made/],
    ['fraction-id', 'MCP_FRAME_SHAPE', /An id is a string or an integer/],
    ['no-id', 'MCP_ANSWER_UNKNOWN', 'The server sent an error without an id: error -32700, "Parse error".'],
    ['answers-twice', 'MCP_ANSWER_UNKNOWN', /^The server answered request \d+ twice\.$/],
    ['case-twin-envelope', 'MCP_FRAME_CASE_TWIN', /"Result"/],
    ['batch', 'MCP_FRAME_BATCH', /one array/],
    ['no-jsonrpc', 'MCP_FRAME_SHAPE', /"level" is not known/],
    ['endless-line', 'MCP_FRAME_TOO_LARGE', 'A message is longer than 1048576 bytes.'],
    ['long-line', 'MCP_FRAME_TOO_LARGE', 'A message is longer than 1048576 bytes.'],
    ['too-much', 'MCP_TOO_MUCH', 'The server sent more than 4194304 bytes.'],
    ['changes-always', 'MCP_LIST_CHANGED', /tools\/list changed while it was read/],
    ['stateless-requests', 'MCP_UNEXPECTED_REQUEST', /"roots\/list"/],
    ['stateless-too-new', 'MCP_VERSION', /It offers "2099-01-01"/],
    ['stateless-misshapen', 'MCP_HANDSHAKE', /supportedVersions is a list of strings/],
    ['input-required', 'MCP_INPUT_REQUIRED', /wants input/],
    ['unknown-result', 'MCP_RESULT_TYPE', /unknown type "task"/],
    ['version-unknown', 'MCP_VERSION', /It offers "1999-01-01"/],
    ['no-capabilities', 'MCP_HANDSHAKE', /capabilities is an object/],
    ['tools-null', 'MCP_LIST_SHAPE', /tools is not a list/],
    ['tool-without-name', 'MCP_LIST_SHAPE', /an item has no name/],
    ['tool-without-schema', 'MCP_LIST_SHAPE', /an item has no inputSchema/],
    ['tool-twice', 'MCP_LIST_SHAPE', /"one" stands in it twice/],
    ['page-case-twin', 'MCP_LIST_SHAPE', /"Tools"/],
    ['tool-case-twin', 'MCP_LIST_SHAPE', /"Description"/],
    ['resource-twice', 'MCP_LIST_SHAPE', /resources\/list cannot be relied on: "a:b"/],
  ])('%s: %s', async (behaviour, code, message) => {
    const limits = {
      maxPages: 20,
      frames: { maxBytes: 1 << 20 },
      maxReceivedBytes: 1 << 22,
      graceMs: 50,
      termMs: 50,
    };
    const refused = await refusal(scanHostile(behaviour, limits));
    expect(refused.code).toBe(code);
    if (typeof message === 'string') expect(refused.message).toBe(message);
    else expect(refused.message).toMatch(message);
  });

  it.each([
    ['invalid-json', 'JSON_UNEXPECTED_END'],
    ['not-utf8', 'JSON_INVALID_UTF8'],
    ['duplicate-keys', 'JSON_DUPLICATE_KEY'],
    ['bom', 'JSON_BOM'],
  ])('%s: MCP_FRAME_JSON by %s', async (behaviour, cause) => {
    expect(await refusal(scanHostile(behaviour))).toMatchObject({ code: 'MCP_FRAME_JSON', cause });
  });

  it('dies-at-start: with its last words, made harmless', async () => {
    expect(await refusal(scanHostile('dies-at-start'))).toEqual({
      code: 'MCP_SERVER_ENDED',
      message:
        'The server ended with exit code 3. It last wrote on standard error: "no configuration", "\\u001b[31mgiving up"',
    });
  });

  it.each([['hangs'], ['hangs-in-list']])('%s: MCP_TIMEOUT', async (behaviour) => {
    const limits = { timeoutMs: 300, probeMs: 100, graceMs: 50, termMs: 50 };
    expect(await refusal(scanHostile(behaviour, limits))).toMatchObject({ code: 'MCP_TIMEOUT' });
    const total = { totalMs: 300, graceMs: 50, termMs: 50 };
    expect(await refusal(scanHostile(behaviour, total))).toEqual({
      code: 'MCP_TIMEOUT',
      message: 'The scan did not end in 300 ms.',
    });
  });

  it('what cannot be started: MCP_SPAWN_FAILED', async () => {
    const absent = { kind: 'stdio', command: '/no/such/program', args: [], env: [] } as const;
    expect(await refusal(scan(absent))).toEqual({
      code: 'MCP_SPAWN_FAILED',
      message: 'The server "/no/such/program" cannot be started (ENOENT).',
    });
    const nul = { kind: 'stdio', command: process.execPath, args: ['a\0b'], env: [] } as const;
    expect(await refusal(scan(nul))).toMatchObject({ code: 'MCP_SPAWN_FAILED' });
  });

  it('and a caller can stop the scan', async () => {
    const stop = new AbortController();
    const scanned = refusal(scanHostile('hangs', { signal: stop.signal, graceMs: 50, termMs: 50 }));
    const { BullaError } = await import('@bulla/core/error');
    setTimeout(() => stop.abort(new BullaError('MCP_CLOSED', 'Stopped.')), 200);
    expect(await scanned).toEqual({ code: 'MCP_CLOSED', message: 'Stopped.' });
  });
});
