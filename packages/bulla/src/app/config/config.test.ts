import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChannelKind, Rules } from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../../test/run.ts';
import { CLIENT_FEATURES, type Mode } from '../../gateway/index.ts';
import { parseConfig, readConfig } from './config.ts';
import { FEATURES, MODES } from './server.ts';
import { CHANNEL_RULES, CHANNELS } from './table.ts';

const FOLDER = '/etc/bulla';
const read = (document: unknown) => parseConfig(JSON.stringify(document), FOLDER);

/** What a document, or its text, is refused with: the code, the path and the sentence. */
function refused(document: unknown): (string | undefined)[] {
  try {
    parseConfig(typeof document === 'string' ? document : JSON.stringify(document), FOLDER);
  } catch (error) {
    if (error instanceof BullaError) return [error.code, error.path, error.message];
    throw error;
  }
  throw new Error('it was accepted');
}

const stdio = { command: 'node', lock: 'a.lock.json' };
const http = { url: 'https://a.example/mcp', lock: 'a.lock.json' };
const hash = (digit: string) => `sha256:${digit.repeat(64)}`;
const withServer = (server: unknown) => ({ servers: { a: server } });
const withAgents = (agents: unknown, more: object = {}) => ({ servers: { a: stdio }, agents, ...more });

describe('what is read', () => {
  test('paths begin in the folder of the file, durations are milliseconds, and what is missing stays missing', () => {
    const config = read({
      listen: '[::1]:0',
      servers: {
        files: {
          ...stdio,
          env: {
            A: 'env:A',
            B: 'file:secrets/b',
            C: 'file:/c',
            D: { command: ['pass', 'd'] },
            E: { value: '' },
          },
          timeout: '1h30m',
          recheck: '0s',
          confine: { read: ['data', '/srv'], network: true },
          tools: { __proto__x: {}, 'a/b': { outcome: 'lazy', record: { redact: ['/a~1b', '/'] } } },
        },
        web: { ...http, lock: '../web.lock.json', headers: { 'X-A': { value: 'a' } }, oauth: true },
      },
      trust: { keys: ['k.pub', 'ab'.repeat(32)] },
      store: { url: 'data/store.db' },
    });
    expect(config).toEqual({
      listen: { host: '::1', port: 0 },
      servers: new Map<string, unknown>([
        [
          'files',
          {
            command: 'node',
            lock: '/etc/bulla/a.lock.json',
            env: new Map<string, unknown>([
              ['A', 'env:A'],
              ['B', 'file:/etc/bulla/secrets/b'],
              ['C', 'file:/c'],
              ['D', { command: ['pass', 'd'] }],
              ['E', { value: '' }],
            ]),
            timeout: 5_400_000,
            recheck: 0,
            confine: { read: ['/etc/bulla/data', '/srv'], network: true },
            tools: new Map<string, unknown>([
              ['__proto__x', {}],
              ['a/b', { outcome: 'lazy', record: { redact: ['/a~1b', '/'] } }],
            ]),
          },
        ],
        [
          'web',
          {
            url: 'https://a.example/mcp',
            lock: '/etc/web.lock.json',
            headers: new Map([['X-A', { value: 'a' }]]),
            oauth: true,
          },
        ],
      ]),
      trust: { keys: ['/etc/bulla/k.pub', 'ab'.repeat(32)] },
      store: { url: { file: '/etc/bulla/data/store.db' } },
    });
  });

  test.each([
    ['store.db', { file: '/etc/bulla/store.db' }],
    ['./a=b.db', { file: '/etc/bulla/a=b.db' }],
    ['env:DATABASE_URL', { secret: 'env:DATABASE_URL' }],
    ['file:url.txt', { secret: 'file:/etc/bulla/url.txt' }],
    [{ command: ['pass', 'db'] }, { secret: { command: ['pass', 'db'] } }],
  ])('the store %j', (url, expected) => {
    expect(read({ servers: { a: stdio }, store: { url } }).store).toEqual({ url: expected });
  });

  test('rules are presets by their names, and else files', () => {
    const { servers } = read(withServer({ ...stdio, rules: ['no-secrets-out', './strict', 'rules.yaml'] }));
    expect(servers.get('a')!.rules).toEqual(['no-secrets-out', '/etc/bulla/strict', '/etc/bulla/rules.yaml']);
    expect(refused(withServer({ ...stdio, rules: [] })).slice(0, 2)).toEqual([
      'CONFIG_INVALID',
      '/servers/a/rules',
    ]);
  });

  test('a name of a server or a tool is never one of JavaScript', () => {
    const config = parseConfig(
      '{"servers":{"__proto__":{"command":"x","lock":"l","tools":{"__proto__":{}}},"constructor":{"command":"x","lock":"l"}}}',
      FOLDER,
    );
    expect([...config.servers.keys()]).toEqual(['__proto__', 'constructor']);
    expect([...config.servers.get('__proto__')!.tools!.keys()]).toEqual(['__proto__']);
  });

  test('the file is named in refusals, and its folder is where it lies', () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'in'));
    const file = join(folder, 'in/bulla.json');
    writeFileSync(file, JSON.stringify(withServer(stdio)));
    const config = readConfig(file);
    expect([config.folder, config.servers.get('a')!.lock]).toEqual([
      join(folder, 'in'),
      join(folder, 'in/a.lock.json'),
    ]);
    writeFileSync(file, '{"servers":1}');
    expect(() => readConfig(file)).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        path: '/servers',
        message: `${file}: This must be an object that is not empty; it is a number.`,
      }),
    );
    expect(() => readConfig(join(folder, 'none.json'))).toThrow(
      expect.objectContaining({ code: 'INPUT_UNREADABLE' }),
    );
  });

  test('the words are those of the gateway and of consent', () => {
    const modes: Record<Mode, true> = { enforce: true, filter: true, audit: true };
    const channels: Record<ChannelKind, true> = {
      ...{ passkey: true, pin: true, 'os-user': true, device: true, terminal: true, host: true },
    };
    const rules: Record<Rules['highChannels'], true> = {
      any: true,
      'out-of-band': true,
      authenticated: true,
    };
    expect([FEATURES, MODES]).toEqual([CLIENT_FEATURES, Object.keys(modes)]);
    expect([CHANNELS, CHANNEL_RULES]).toEqual([Object.keys(channels), Object.keys(rules)]);
  });
});

describe('strict JSON', () => {
  test.each([
    ['', 'JSON_UNEXPECTED_END', ''],
    ['{"servers":{},"servers":{}}', 'JSON_DUPLICATE_KEY', '/servers'],
    ['{"servers":{"a":{"lock":"x","lock":"y"}}}', 'JSON_DUPLICATE_KEY', '/servers/a/lock'],
    ['{/* a comment */}', 'JSON_SYNTAX', ''],
    ['{"listen":"a",}', 'JSON_SYNTAX', ''],
    ['\ufeff{}', 'JSON_BOM', undefined],
    ['{"listen":"\\ud800"}', 'JSON_LONE_SURROGATE', '/listen'],
  ])('%s is refused', (text, code, path) => expect(refused(text).slice(0, 2)).toEqual([code, path]));
});

describe('the form', () => {
  test.each<[unknown, string, string]>([
    [[], '', 'This must be an object; it is a list.'],
    [null, '', 'This must be an object; it is null.'],
    [{}, '/servers', 'The member "servers" is missing; it must be an object that is not empty.'],
    [{ servers: {} }, '/servers', 'This must be an object that is not empty; it is another object.'],
    [{ server: {} }, '/server', 'There is no member "server" here. Did you mean "servers"?'],
    [
      { servers: { a: stdio }, LISTEN: '' },
      '/LISTEN',
      'There is no member "LISTEN" here. Did you mean "listen"?',
    ],
    [{ servers: { a: stdio }, quux: 1 }, '/quux', 'There is no member "quux" here.'],
    [
      { servers: { 'a b': stdio } },
      '/servers',
      'A name here is 1 to 32 letters, digits, hyphens and underscores; that of member 1 is not.',
    ],
    [withServer({ command: 'x' }), '/servers/a/lock', 'The member "lock" is missing; it must be a path.'],
    [
      withServer({ comand: 'x', lock: 'l' }),
      '/servers/a/comand',
      'There is no member "comand" here. Did you mean "command"?',
    ],
    [
      withServer({ ...stdio, env: { A: { vaule: 'a' } } }),
      '/servers/a/env/A',
      'This must be a reference to a secret: "env:NAME", "file:PATH" or {"command": […]} or {"value": "…"}; it is an object.',
    ],
    [withServer({ lock: 'l' }), '/servers/a', 'Exactly one of "command" and "url" must be here; none is.'],
    [
      withServer({ ...stdio, ...http }),
      '/servers/a',
      'Exactly one of "command" and "url" must be here; more than one is.',
    ],
    [
      withServer({ ...http, args: [] }),
      '/servers/a/args',
      'The member "args" goes with "command", and not with "url".',
    ],
    [
      withServer({ ...stdio, token: 'env:A' }),
      '/servers/a/token',
      'The member "token" goes with "url", and not with "command".',
    ],
    [
      withServer({ ...stdio, mode: 'enforced' }),
      '/servers/a/mode',
      'This must be one of enforce, filter, audit; it is "enforced". Did you mean "enforce"?',
    ],
    [
      withServer({ ...stdio, mode: 1 }),
      '/servers/a/mode',
      'This must be one of enforce, filter, audit; it is a number.',
    ],
    [
      withServer({ ...stdio, timeout: '90' }),
      '/servers/a/timeout',
      'This must be a duration, such as 30s, 10m, 1h30m or 7d; it is "90".',
    ],
    [
      withServer({ ...stdio, timeout: 90 }),
      '/servers/a/timeout',
      'This must be a duration, such as 30s, 10m, 1h30m or 7d; it is a number.',
    ],
    [
      withServer({ ...stdio, pinned: 'yes' }),
      '/servers/a/pinned',
      'This must be true or false; it is a string.',
    ],
    [
      withServer({ ...stdio, args: ['a', 1] }),
      '/servers/a/args/1',
      'This must be a string without NUL; it is a number.',
    ],
    [
      withServer({ ...stdio, only: [] }),
      '/servers/a/only',
      'This must be a list of at least 1; it is another list.',
    ],
    [
      withServer({ ...stdio, only: ['a', 'b', 'a'] }),
      '/servers/a/only/2',
      'This stands in the list already.',
    ],
    [
      withServer({ ...stdio, confine: 'all' }),
      '/servers/a/confine',
      'This must be true or false or an object; it is a string.',
    ],
    [
      withServer({ ...stdio, confine: { nets: true } }),
      '/servers/a/confine/nets',
      'There is no member "nets" here.',
    ],
    [
      withServer({ ...stdio, tools: { 'a/b': { record: { redact: ['password'] } } } }),
      '/servers/a/tools/a~1b/record/redact/0',
      'This must be a JSON Pointer, such as /password; it is "password".',
    ],
    [
      { servers: { a: stdio }, listen: '127.0.0.1:65536' },
      '/listen',
      'This must be an address and a port, such as 127.0.0.1:8484 or [::1]:8484; it is "127.0.0.1:65536".',
    ],
    [
      { servers: { a: stdio }, consent: { maxOpenPrompts: 0 } },
      '/consent/maxOpenPrompts',
      'This must be a whole number from 1 to 1000; it is another number.',
    ],
    [withAgents({ x: {} }), '/agents/x', 'Exactly one of "token" and "tokenHash" must be here; none is.'],
    [
      withAgents({ x: { token: 'env:A', tokenHash: hash('0') } }),
      '/agents/x',
      'Exactly one of "token" and "tokenHash" must be here; more than one is.',
    ],
    [
      { servers: { a: stdio }, trust: { require_signature: true } },
      '/trust/require_signature',
      'There is no member "require_signature" here. Did you mean "requireSignature"?',
    ],
  ])('%j', (document, path, message) => {
    expect(refused(document)).toEqual(['CONFIG_INVALID', path, message]);
  });

  test('a number has plain digits', () => {
    const text = '{"servers":{"a":{"command":"x","lock":"l"}},"consent":{"maxOpenPrompts":16.0}}';
    expect(refused(text).slice(0, 2)).toEqual(['CONFIG_INVALID', '/consent/maxOpenPrompts']);
  });
});

describe('a secret that stands in the file', () => {
  const LITERAL = 'ghp_0123456789abcdefghij';
  const HOW = 'write "env:NAME", "file:PATH" or {"command": ["program", "argument"]}';
  const token = `A secret does not stand in the configuration; ${HOW}. What is written here is not shown.`;
  const value = `A value is a reference to a secret: ${HOW}; or, for a text that is no secret, {"value": "text"}. What is written here is not shown.`;
  const store = `The address of a database may hold a password, so it does not stand in the configuration; ${HOW}. What is written here is not shown.`;

  test.each<[unknown, string, string]>([
    [withAgents({ x: { token: LITERAL } }), '/agents/x/token', token],
    [withAgents({ x: { token: 'env:1' } }), '/agents/x/token', token],
    [withAgents({ x: { token: 'file:' } }), '/agents/x/token', token],
    [withAgents({ x: { token: '' } }), '/agents/x/token', token],
    [withServer({ ...http, token: LITERAL }), '/servers/a/token', token],
    [withServer({ ...http, headers: { 'X-Key': LITERAL } }), '/servers/a/headers/X-Key', value],
    [withServer({ ...stdio, env: { TOKEN: LITERAL } }), '/servers/a/env/TOKEN', value],
    [{ servers: { a: stdio }, store: { url: `postgres://u:${LITERAL}@h/d` } }, '/store/url', store],
    [{ servers: { a: stdio }, store: { url: `host=h password = ${LITERAL}` } }, '/store/url', store],
    [{ servers: { a: stdio }, store: { url: ` postgres//u:${LITERAL}` } }, '/store/url', store],
  ])('%j is refused, and the sentence says what to write', (document, path, message) => {
    expect(refused(document)).toEqual(['CONFIG_SECRET', path, message]);
  });

  test.each<[unknown, string]>([
    [withAgents({ x: { tokenHash: LITERAL } }), '/agents/x/tokenHash'],
    [withAgents({ x: { token: { value: LITERAL } } }), '/agents/x/token/value'],
    [withAgents({ x: { token: [LITERAL] } }), '/agents/x/token'],
    [withServer({ ...stdio, env: LITERAL }), '/servers/a/env'],
    [withServer({ ...stdio, env: { [`A=${LITERAL}`]: 'env:A' } }), '/servers/a/env'],
    [withServer({ ...http, headers: { [`X: ${LITERAL}`]: 'env:A' } }), '/servers/a/headers'],
    [withServer({ ...http, headers: { 'X-A': { value: `${LITERAL}\n` } } }), '/servers/a/headers/X-A/value'],
    [withServer({ lock: 'l', url: `https://u:${LITERAL}@a.example/` }), '/servers/a/url'],
    [withServer({ ...http, oauth: LITERAL }), '/servers/a/oauth'],
    [{ servers: { a: stdio }, origins: [`https://u:${LITERAL}@a.example`] }, '/origins/0'],
  ])('%j in a wrong place is not repeated either', (document, at) => {
    const [code, path, message] = refused(document);
    expect([code, path, message!.includes(LITERAL)]).toEqual(['CONFIG_INVALID', at, false]);
  });
});

describe('what no schema can see', () => {
  const two = (a: object, b: object) => ({ servers: { a: { ...stdio, ...a }, b: { ...stdio, ...b } } });
  const rival = (name: string) =>
    `The names of its tools could be taken for those of "${name}": no prefix may be another one, in any case, or begin with another one and an underscore.`;
  const range = (least: string, found: string) =>
    `It is at least ${least} and at most 24d, in whole milliseconds; this is ${found}.`;

  test.each<[unknown, string, string]>([
    [two({ prefix: 'Fs' }, { prefix: 'fS' }), '/servers/b/prefix', rival('a')],
    [two({}, { prefix: 'A' }), '/servers/b/prefix', rival('a')],
    [two({ prefix: 'b' }, {}), '/servers/b', rival('a')],
    [two({ prefix: 'git' }, { prefix: 'git_hub' }), '/servers/b/prefix', rival('a')],
    [two({ prefix: 'git_hub' }, { prefix: 'GIT' }), '/servers/b/prefix', rival('a')],
    [
      { servers: { a: stdio, ['n'.repeat(24)]: stdio } },
      `/servers/${'n'.repeat(24)}`,
      'The name of the server is longer than the 23 characters that go before the names of its tools; give it a "prefix".',
    ],
    [withServer({ ...stdio, timeout: '0s' }), '/servers/a/timeout', range('1ms', '0s')],
    [withServer({ ...stdio, timeout: '25d' }), '/servers/a/timeout', range('1ms', '25d')],
    [withServer({ ...stdio, recheck: '0.5ms' }), '/servers/a/recheck', range('0s', '0.5ms')],
    [
      withServer({ ...http, token: 'env:A', oauth: true }),
      '/servers/a/oauth',
      'With a token, nobody needs to sign in: keep one of "token" and "oauth".',
    ],
    [
      withServer({ ...http, headers: { 'X-A': 'env:A', 'x-a': 'env:A' } }),
      '/servers/a/headers/x-a',
      'This header is there already, in another case.',
    ],
    [
      withServer({ ...http, token: 'env:A', headers: { Authorization: 'env:A' } }),
      '/servers/a/headers/Authorization',
      'The token or the sign-in makes this header.',
    ],
    [
      withServer({ ...http, url: 'https://a:99999/' }),
      '/servers/a/url',
      'The address of the server cannot be read as a URL.',
    ],
    [
      withAgents({ x: { token: 'env:A', servers: ['a', 'aa'] } }),
      '/agents/x/servers/1',
      'There is no server "aa" in "servers". Did you mean "a"?',
    ],
    [
      withAgents({ x: { tokenHash: hash('0') }, y: { tokenHash: hash('1') }, z: { tokenHash: hash('0') } }),
      '/agents/z/tokenHash',
      'The agent "x" has the same token; each needs its own.',
    ],
    [
      withAgents({ x: { token: 'file:t' }, y: { token: 'file:./t' } }),
      '/agents/y/token',
      'The agent "x" has the same token; each needs its own.',
    ],
    [
      { servers: { a: stdio }, listen: '0.0.0.0:8484' },
      '/listen',
      'An address beyond this machine needs "agents": without their tokens, anybody there could call the tools.',
    ],
    [
      { servers: { a: stdio }, listen: '[::1:2::3]:1' },
      '/listen',
      'What stands in brackets is not an IPv6 address.',
    ],
    [
      { servers: { a: stdio }, hosts: ['[:::]'] },
      '/hosts/0',
      'What stands in brackets is not an IPv6 address.',
    ],
    [
      { servers: { a: stdio }, origins: ['https://a.example:443'] },
      '/origins/0',
      'A browser writes this origin in another way, or has none such.',
    ],
    [
      withServer({ ...stdio, tools: { pay: { irreversible: true } } }),
      '/servers/a/tools/pay/irreversible',
      'This needs "envelopes", which says who approves its calls.',
    ],
    [
      withServer({ ...stdio, tools: { pay: { envelope: { action: 'TRANSFER', bind: {} } } } }),
      '/servers/a/tools/pay/envelope',
      'This needs "envelopes", which says who approves its calls.',
    ],
    [
      {
        ...withServer({
          ...stdio,
          tools: { pay: { envelope: { action: 'TRANSFER', bind: { '/to': '/metadata' } } } },
        }),
        envelopes: { audience: 'x', approvers: { p: ['k'] } },
      },
      '/servers/a/tools/pay/envelope/bind/~1to',
      'This is not the pointer of a field that binds.',
    ],
    [
      { servers: { a: stdio }, envelopes: { audience: 'x', approvers: { p: ['k'] }, skew: '1.5s' } },
      '/envelopes/skew',
      'Clocks of envelopes count whole seconds.',
    ],
  ])('%j', (document, path, message) => {
    expect(refused(document)).toEqual(['CONFIG_UNSOUND', path, message]);
  });

  test.each<[unknown]>([
    [{ servers: { ['n'.repeat(32)]: stdio } }],
    [two({ prefix: 'git' }, { prefix: 'github' })],
    [two({ prefix: 'git' }, { prefix: 'git-hub' })],
    [withServer({ ...http, token: 'env:A', oauth: false })],
    [withAgents({ x: { token: 'env:A' } }, { listen: '0.0.0.0:8484' })],
    [{ servers: { a: stdio }, listen: '127.1.2.3:1' }],
    [{ servers: { a: stdio }, listen: 'localhost:65535' }],
    [{ servers: { a: stdio }, origins: ['vscode-webview://1a2b'] }],
  ])('%j is sound', (document) => {
    expect(read(document).servers.size).toBe(Object.keys((document as { servers: object }).servers).length);
  });

  test('the form comes first, wherever it is wrong', () => {
    expect(refused({ ...withServer({ ...stdio, timeout: '25d' }), zzz: 1 }).slice(0, 2)).toEqual([
      'CONFIG_INVALID',
      '/zzz',
    ]);
    expect(refused({ ...withServer({ ...stdio, timeout: '25d' }), rules: [1] }).slice(0, 2)).toEqual([
      'CONFIG_INVALID',
      '/rules/0',
    ]);
  });
});
