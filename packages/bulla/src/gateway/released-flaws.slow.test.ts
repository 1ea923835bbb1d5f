import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { localSigner, publicKey, toHex, toUtf8 } from '@bulla/core/crypto';
import { readLock, signLock, writeLock } from '@bulla/core/lock';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { describe, expect, onTestFinished, test } from 'vitest';
import { initialize, lockOf, type Message, records, startGuard, startRogue, told } from '../../test/guard.ts';
import { bundledGuard, guardTarget, preparePlace, type Running, runGuard } from '../../test/guard-process.ts';
import { serveHttp, webListener } from '../../test/http.ts';
import { bullaIn, surfaceServer } from '../../test/lockfiles.ts';
import { expectGone, refusal, scanHostile, script } from '../../test/mcp.ts';
import { LEFT, shopPackage, shopWith } from '../../test/pinned.ts';
import { pack, tarballPath } from '../../test/registry.ts';
import { temporaryFolder } from '../../test/run.ts';
import { createServer } from '../../test/servers/modern.ts';
import { checkPolicy, findingsOf, loadServerPolicy, makeLockKeys } from '../app/index.ts';
import { type StdioTarget, scan } from '../mcp/index.ts';

// One test for each weakness that was shown of the released lock program, and for each thing that a hostile server does:
// here it does not happen. Other tests look more closely.

const cli = bundledGuard();
const hello = { text: 'hello' };
const ECHO = 'echo {"text":"hello"}';
const said = (message: Message): unknown => message.result?.content?.[0]?.text ?? message.error?.data?.code;
const names = (message: Message): string[] => message.result.tools.map(({ name }: { name: string }) => name);
const callsIn = (received: Message[]) => received.filter(({ method }) => method === 'tools/call');
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'h', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

/** A guard as a process, in front of an ordinary server whose messages are in a file. */
async function processPlace() {
  const received = join(temporaryFolder(), 'received');
  const server = script('rogue.mjs', received, 'ordinary');
  const place = await preparePlace(server);
  // The scan for the lock was the last that it got.
  rmSync(received);
  const start = (...options: string[]): Running => runGuard(guardTarget(cli(), place, server, ...options));
  return { place, start, wasStarted: () => existsSync(received) };
}

const SIGNER = localSigner('Ed25519', new Uint8Array(32).fill(7));
const KEY = toHex(publicKey('Ed25519', SIGNER.publicKey).bytes);

describe('A. security', () => {
  test('1. a repeated key in a lock that is signed adds nothing: the file is refused', async () => {
    const { place, start, wasStarted } = await processPlace();
    const text = readFileSync(place.lock, 'utf8');
    writeFileSync(`${place.lock}.sig`, await signLock(toUtf8(text), SIGNER));
    const evil = '"tools":{"evil":{"description_hash":"","input_schema_hash":"","risk_level":"LOW"}},';
    for (const key of [evil, evil.replace('tools', 'Tools')]) {
      writeFileSync(place.lock, text.replace('{', `{${key}`));
      const { code, stderr } = await start('--require-signature', '--key', KEY).ended();
      expect([code, wasStarted()]).toEqual([key === evil ? 2 : 1, false]);
      expect(stderr).toMatch(key === evil ? /\[JSON_DUPLICATE_KEY\]/ : /\[LOCK_/);
    }
  });

  test('2. whoever uses a lock verifies its signature, when it is required, before anything starts', async () => {
    const { place, start, wasStarted } = await processPlace();
    const required = ['--require-signature', '--key', KEY];
    expect((await start(...required).ended()).stderr).toContain('[LOCK_UNSIGNED]');
    writeFileSync(`${place.lock}.sig`, await signLock(readFileSync(place.lock), SIGNER));
    const text = readFileSync(place.lock, 'utf8');
    writeFileSync(place.lock, text.replace('"updatedAt": "1970', '"updatedAt": "1971'));
    const { code, stderr } = await start(...required).ended();
    expect([code, /\[[A-Z_]+\]/.exec(stderr)?.[0]]).toEqual([1, '[LOCK_SIGNATURE_INVALID]']);
    expect(wasStarted()).toBe(false);
  });

  test('3. a poisoned description is critical, and its tool does not pass', async () => {
    const strict = await startRogue('poisoned', { failOn: 'critical' });
    await initialize(strict);
    expect(said(await strict.ask('tools/list'))).toBe('GATEWAY_DRIFT');
    const guarded = await startRogue('poisoned');
    await initialize(guarded);
    expect(names(await guarded.ask('tools/list'))).toEqual(['add']);
    expect(said(await guarded.call('echo', hello))).toBe('GATEWAY_CHANGED');
  });

  test('4. a definition that changes in the session is removed, and its tool is not called', async () => {
    const guarded = await startRogue('tells-of-a-change');
    await initialize(guarded);
    expect(said(await guarded.call('echo', hello))).toBe(ECHO);
    await guarded.until(({ method }) => method === 'notifications/tools/list_changed');
    expect(names(await guarded.ask('tools/list'))).toEqual(['add']);
    expect(said(await guarded.call('echo', hello))).toBe('GATEWAY_CHANGED');
  });

  test('5. the process that is checked is the one that is used, with the same words', async () => {
    const pids = join(temporaryFolder(), 'pids');
    const words = ['a b', 'c"d', '', '$HOME'];
    const server = script('hostile.mjs', pids, 'tells-words-and-environment', ...words);
    const lock = await lockOf(server);
    writeFileSync(pids, '');
    const guarded = await startGuard({ server, lock, failOn: 'info', allowOtherServer: false });
    await initialize(guarded);
    const { result } = await guarded.ask('tools/list');
    expect(JSON.parse(result.tools[0].description)[0]).toEqual(words);
    await guarded.end();
    expect(await expectGone(pids)).toHaveLength(1);
  });

  test('6. a scan is not put out of step by notifications, and takes no answer under a wrong id', async () => {
    const { tools, prompts, resourceTemplates } = await scanHostile('notifications-first');
    expect([tools.length, prompts.length, resourceTemplates.length]).toEqual([2, 1, 1]);
    expect((await refusal(scanHostile('wrong-id'))).code).toBe('MCP_ANSWER_UNKNOWN');
  });

  test('7. a request of the server cannot pass as an answer, and the host’s replies use up nothing', async () => {
    const smuggling = await startRogue('smuggles-a-request', { timeoutMs: 3000 });
    await initialize(smuggling, { sampling: {} });
    expect(said(await smuggling.call('echo', hello))).toBe('GATEWAY_TIMEOUT');
    expect(smuggling.lines.filter((line) => line.includes('sampling'))).toEqual([]);
    const guarded = await startRogue('pings-often', { count: 1100 });
    await initialize(guarded);
    const answer = guarded.call('echo', hello);
    const seen = new Set<unknown>();
    for (let i = 0; i < 1100; i++) {
      const { id } = await guarded.until((message) => message.method === 'ping' && !seen.has(message.id));
      seen.add(id);
      guarded.send({ jsonrpc: '2.0', id, result: {} });
    }
    expect(said(await answer)).toBe('1100 pongs');
    expect((await guarded.ask('prompts/list')).result.prompts).toHaveLength(1);
  });

  test('8. what cannot be scanned is undecided, not good, and every rule of strict can be answered', async () => {
    const pids = join(temporaryFolder(), 'pids');
    const dead = script('hostile.mjs', pids, 'dies-at-start');
    const words = ({ command, args }: StdioTarget) => [command, ...args];
    expect((await refusal(checkPolicy({ server: words(dead) }))).code).toBe('MCP_SERVER_ENDED');
    const guarded = await startRogue('no-list', { policies: [await loadServerPolicy('baseline')] });
    await initialize(guarded);
    expect(said(await guarded.ask('prompts/list'))).toBe('MCP_LIST_SHAPE');
    const server = surfaceServer({ tools: [{ name: 'one', inputSchema: { type: 'object' } }] }).words;
    const { verdict } = await checkPolicy({ preset: 'strict', server });
    const passed = verdict.rules.filter((rule) => rule.passed).map(({ name }) => name);
    expect(passed).toEqual(['no_high_risk_tools', 'tools_exist', 'no_critical_drift', 'no_file_scheme']);
    expect(verdict.rules.map(({ code }) => code ?? null)).not.toContain('POLICY_EVALUATION');
  });

  test('9. the threshold info is the strictest, and another word is refused', async () => {
    for (const [failOn, expected] of [
      ['info', 'GATEWAY_DRIFT'],
      ['moderate', ECHO],
    ] as const) {
      const guarded = await startRogue('of-another-version', { failOn });
      await initialize(guarded);
      expect(said(await guarded.call('echo', hello))).toBe(expected);
    }
    const { start, wasStarted } = await processPlace();
    expect((await start('--fail-on', 'bogus').ended()).code).not.toBe(0);
    expect(wasStarted()).toBe(false);
  });

  test('10. no method passes unchecked', async () => {
    const guarded = await startRogue('adds-resources');
    await initialize(guarded);
    const uri = 'file:///etc/passwd';
    const ref = { type: 'ref/prompt', name: 'other' };
    const argument = { name: 'a', value: '' };
    for (const [method, params, code] of [
      ['resources/subscribe', { uri }, 'GATEWAY_NOT_LOCKED'],
      ['resources/unsubscribe', { uri }, 'GATEWAY_NOT_LOCKED'],
      ['completion/complete', { ref, argument }, 'GATEWAY_NOT_LOCKED'],
      ['tasks/list', {}, 'GATEWAY_METHOD'],
      ['tools/of-the-future', {}, 'GATEWAY_METHOD'],
    ] as const)
      expect([method, said(await guarded.ask(method, params))]).toEqual([method, code]);
    const { result } = await guarded.ask('resources/list');
    expect(result.resources).toEqual([{ uri: 'file:///a', name: 'a' }]);
    const reached = new Set(guarded.received().map(({ method }) => method));
    expect([...reached].filter((method) => /subscribe|complete|tasks|future/.test(method!))).toEqual([]);
  });

  test('11. a template leads to nothing above it, and resources nobody locked lead nowhere', async () => {
    const guarded = await startRogue('ordinary');
    await initialize(guarded);
    expect((await guarded.ask('resources/read', { uri: 'note:///7' })).result.contents).toHaveLength(1);
    for (const uri of [
      'note:///../../etc/passwd',
      'note:///%2e%2e/etc/passwd',
      'note:///%252e%252e%252fetc',
      'note:///a\nb',
      'note:///$HOME',
      'http://169.254.169.254/',
    ])
      expect([uri, said(await guarded.ask('resources/read', { uri }))]).toEqual([uri, 'GATEWAY_NOT_LOCKED']);
    expect(guarded.received().filter(({ method }) => method === 'resources/read')).toHaveLength(1);
    const { bulla: _, ...released } = JSON.parse(
      writeLock(await scan(script('rogue.mjs', '/dev/null', 'ordinary')), {
        ...{ generator: 'bulla', updatedAt: new Date(0) },
        identity: { transport: 'stdio', command: 'x', args: [], env: [] },
      }).text,
    );
    const lock = readLock(toUtf8(JSON.stringify(released)));
    const open = await startRogue('adds-resources', { lock, staticResources: true });
    await initialize(open);
    const { result } = await open.ask('resources/list');
    expect(result.resources).toEqual([{ uri: 'file:///a', name: 'a' }]);
    expect(open.log).toContain('of the resources of the server, 6 lead where they may not, and do not pass');
  });

  test('12. the packages that a pinned package needs are pinned, each by its SHA-512', async () => {
    const shop = await shopWith([shopPackage('1.0.0'), LEFT]);
    const pin = ['lock', '--pin', '--', 'npx', '-y', '@team/shop', '/data'];
    const closed = await shop.bulla(pin, { BULLA_ALLOW_PRIVATE_REGISTRY: '' });
    expect([closed.status, /\[[A-Z_]+\]/.exec(closed.stderr)?.[0]]).toEqual([3, '[DOWNLOAD_PRIVATE]']);
    expect((await shop.bulla(pin)).status).toBe(0);
    const { artifact } = readLock(readFileSync(shop.lock));
    const tree = artifact?.type === 'npm' ? artifact.tree : null;
    expect(
      [...tree!.packages].map(([place, { integrity }]) => [place, integrity.slice(0, 7)]),
    ).toContainEqual(['node_modules/left', 'sha512-']);
    shop.registry.instead.set(tarballPath(LEFT), (_, response) =>
      response.end(pack({ ...LEFT, files: { 'index.js': 'evil' } })),
    );
    const { status, stderr } = await shop.bulla(['run', '--', '/data'], {
      BULLA_HOME: join(shop.folder, 'other'),
    });
    expect([status, /\[[A-Z_]+\]/.exec(stderr)?.[0]]).toEqual([1, '[PIN_INTEGRITY]']);
  });

  test('13. a private key is for its owner alone, and verify checks the file that it is given', async () => {
    const folder = temporaryFolder();
    const [secret, open] = [join(folder, 'private.key'), join(folder, 'public.key')];
    makeLockKeys(secret, open);
    expect(statSync(secret).mode & 0o777).toBe(0o600);
    const [good, bad] = [join(folder, 'good.json'), join(folder, 'bad.json')];
    const { place } = await processPlace();
    const lock = readFileSync(place.lock, 'utf8');
    for (const file of [good, bad]) {
      writeFileSync(file, file === good ? lock : lock.replace('"updatedAt": "1970', '"updatedAt": "1971'));
      writeFileSync(`${file}.sig`, await signLock(toUtf8(lock), SIGNER));
    }
    const verify = async (file: string) => (await bullaIn(folder, ['verify', file, '--key', KEY])).status;
    expect([await verify(good), await verify(bad)]).toEqual([0, 1]);
  });

  test('14. denials and failures are recorded too, in a chain that is signed', async () => {
    const guarded = await startRogue('dies', { count: 1 });
    await initialize(guarded);
    await guarded.call('evil');
    await guarded.call('add');
    await guarded.call('add');
    await guarded.over;
    expect(await told(guarded.store)).toEqual([
      'tools/call rogue/evil blocked GATEWAY_NOT_LOCKED',
      'tools/call rogue/add pending',
      'tools/call rogue/add success',
      'tools/call rogue/add pending',
      'tools/call rogue/add failure GATEWAY_SERVER_ENDED',
    ]);
    expect((await records(guarded.store)).at(-1)!.outcome.error).toBe('session: MCP_SERVER_ENDED');
  });
});

describe('B. robustness and protocol', () => {
  test('15. no single bad line of either side ends the session', async () => {
    const guarded = await startRogue('says-what-it-is-told', { maxBytes: 1 << 16 });
    await initialize(guarded);
    for (const line of ['', '[]', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 'no json', 'null', '7'])
      guarded.send(line);
    guarded.send(`{"jsonrpc":"2.0","id":9,"method":"ping","params":{"_meta":"${'x'.repeat(1 << 17)}"}}`);
    expect((await guarded.ask('ping')).result).toEqual({});
    const refusals = guarded.lines.map((line) => JSON.parse(line)).filter(({ error }) => error !== undefined);
    expect(refusals.map(({ error }) => error.code)).toEqual([-32600, -32600, -32700, -32600, -32600, -32600]);
    const lines = ['', ' ', '[]', 'no json', '{"a":1,"a":2}', 'null'];
    await guarded.call('echo', { text: 'x', lines });
    expect(said(await guarded.call('echo', hello))).toBe(ECHO);
    const long = await startRogue('answers-with-too-much', { maxBytes: 1 << 16, count: 0 });
    await initialize(long);
    expect(said(await long.call('echo', hello))).toBe('GATEWAY_BAD_ANSWER');
    expect((await long.ask('ping')).result).toEqual({});
  });

  test('16. a list keeps its cursor and its members, and a scan reads every page', async () => {
    const guarded = await startRogue('pages');
    await initialize(guarded);
    const first = await guarded.ask('tools/list');
    expect(first.result).toMatchObject({ nextCursor: 'p2', _meta: { page: 1 }, tools: [{ name: 'echo' }] });
    expect(names(await guarded.ask('tools/list', { cursor: 'p2' }))).toEqual(['add']);
    const { tools } = await scan(script('rogue.mjs', '/dev/null', 'pages'));
    expect(tools.map((tool) => tool.get('name'))).toEqual(['evil', 'echo', 'add', '\u0435cho']);
  });

  test('17. cancellations arrive, answers on their way are waited for, and nothing is inherited or left', async () => {
    const guarded = await startRogue('never-answers');
    await initialize(guarded);
    guarded.send({ jsonrpc: '2.0', id: 'mine', method: 'tools/call', params: { name: 'add' } });
    while (callsIn(guarded.received()).length === 0) await guarded.ask('ping');
    guarded.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'mine' } });
    await guarded.ask('ping');
    const cancelled = guarded.received().find(({ method }) => method === 'notifications/cancelled');
    expect(cancelled?.params?.requestId).toBe(callsIn(guarded.received())[0]!.id);

    const slow = await startRogue('slow', { count: 100, drainMs: 20_000 });
    await initialize(slow);
    slow.send({ jsonrpc: '2.0', id: 'late', method: 'tools/call', params: { name: 'add' } });
    while (callsIn(slow.received()).length === 0) await slow.ask('ping');
    await slow.end();
    expect(slow.lines.some((line) => line.includes('"id":"late"') && line.includes('add {}'))).toBe(true);

    const dying = await startRogue('dies');
    await initialize(dying);
    expect((await dying.call('add')).error?.message).toBe('Bulla: The server ended with exit code 7.');

    const pids = join(temporaryFolder(), 'pids');
    const parent = script('hostile.mjs', pids, 'leaves-a-child');
    const child = await startGuard({ server: parent, lock: await lockOf(parent) });
    await initialize(child);
    await child.ask('tools/list');
    await child.end();
    expect((await expectGone(pids)).length).toBeGreaterThan(1);

    const telling = script('hostile.mjs', join(temporaryFolder(), 'pids'), 'tells-words-and-environment');
    const { tools } = await scan(telling, { environment: { ...process.env, TOP_SECRET: 'x' } });
    expect(String(tools[0]!.get('description'))).not.toContain('TOP_SECRET');

    expect((await scanHostile('floods-stderr', {}, ['2'])).tools).toHaveLength(2);
  });

  test('18. a list of another form does not pass, and what newer protocols have is locked', async () => {
    const guarded = await startRogue('no-list');
    await initialize(guarded);
    expect(said(await guarded.ask('tools/list'))).toBe('GATEWAY_BAD_ANSWER');
    const annotated = await startRogue('adds-annotations');
    await initialize(annotated);
    expect(names(await annotated.ask('tools/list'))).toEqual([]);
    const modern = await startRogue('stateless');
    const call = { name: 'echo', arguments: hello, _meta: META };
    expect(said(await modern.ask('tools/call', call))).toBe(ECHO);
  });

  test('19. a server at an address is guarded as one that is started', async () => {
    const handler = createMcpHandler(createServer, { legacy: 'reject' });
    onTestFinished(() => handler.close());
    const url = (await serveHttp(webListener((request) => handler.fetch(request)))).href;
    const server = { kind: 'http', url } as const;
    const surface = await scan(server);
    const identity = { transport: 'http', url } as const;
    const { text } = writeLock(surface, { generator: 'bulla', updatedAt: new Date(0), identity });
    const guarded = await startGuard({ server, lock: readLock(toUtf8(text)), failOn: 'critical' });
    const call = { name: 'add', arguments: { a: 1, b: 2 }, _meta: META };
    expect((await guarded.ask('tools/call', call)).result.structuredContent).toEqual({ sum: 3 });
    expect(said(await guarded.ask('tools/call', { ...call, name: 'evil' }))).toBe('GATEWAY_NOT_LOCKED');
  });

  test('20. a name that only looks like a locked one is removed, refused and named', async () => {
    const guarded = await startRogue('adds-a-twin');
    await initialize(guarded);
    expect(names(await guarded.ask('tools/list'))).toEqual(['echo', 'add']);
    expect((await guarded.call('\u0435cho', hello)).error?.message).toContain('It only looks like "echo".');
    const { words } = surfaceServer({
      tools: [{ name: 'a\u200bb', description: 'x\u202ey', inputSchema: { type: 'object' } }],
    });
    const [command, ...args] = words as [string, ...string[]];
    const surface = await scan({ kind: 'stdio', command, args, env: [] });
    expect(new Set(findingsOf(surface).map(({ path }) => path))).toEqual(
      new Set(['/tools/0/name', '/tools/0/description']),
    );
  });

  test('21. texts are inspected wherever they stand: instructions, and what a change brings with it', async () => {
    const guarded = await startRogue('changes-itself');
    expect((await initialize(guarded)).result.instructions).toBeUndefined();
    const poisoned = await startRogue('poisoned', { failOn: 'critical' });
    await initialize(poisoned);
    expect((await poisoned.ask('tools/list')).error?.message).toContain('tool "echo": order-added');
  });

  test('22. arguments are what the locked schema, the rules and the addresses allow', async () => {
    const file = join(temporaryFolder(), 'policy.yaml');
    const rule = `{ name: short, expr: 'size(input.arguments.text) < 40', failure_msg: Too long., phase: call }`;
    writeFileSync(file, `rules: [${rule}]`);
    const guarded = await startRogue('ordinary', { policies: [await loadServerPolicy(file)] });
    await initialize(guarded);
    for (const [text, code] of [
      [5, 'GATEWAY_ARGUMENTS'],
      ['http://169.254.169.254/', 'GATEWAY_URI'],
      ['file:///data/../etc/passwd', 'GATEWAY_URI'],
      ['x'.repeat(40), 'POLICY_DENIED'],
      ['hello', ECHO],
    ])
      expect(said(await guarded.call('echo', { text }))).toBe(code);
    expect(callsIn(guarded.received())).toHaveLength(1);
  });
});

describe('a hostile server', () => {
  test('adds a tool after some calls: it is neither shown nor called', async () => {
    const guarded = await startRogue('adds-a-tool', { count: 2, recheckMs: 0 });
    await initialize(guarded);
    for (let i = 0; i < 3; i++) expect(said(await guarded.call('add'))).toBe('add {}');
    expect(names(await guarded.ask('tools/list'))).toEqual(['echo', 'add']);
    expect(said(await guarded.call('evil'))).toBe('GATEWAY_NOT_LOCKED');
  });

  test('widens a schema after some calls: the tool stays blocked, the others work', async () => {
    const guarded = await startRogue('widens-a-schema', { count: 1, recheckMs: 0 });
    await initialize(guarded);
    for (let i = 0; i < 2; i++) expect(said(await guarded.call('echo', hello))).toBe(ECHO);
    expect(said(await guarded.call('echo', { ...hello, path: '/etc' }))).toBe('GATEWAY_CHANGED');
    expect(said(await guarded.call('add'))).toBe('add {}');
  });

  test.each(['answers-twice', 'answers-wrongly', 'answers-unasked'])(
    '%s: what was not asked for is dropped, and the good answer passes once',
    async (behaviour) => {
      const guarded = await startRogue(behaviour);
      await initialize(guarded);
      expect(
        (await guarded.ask('tools/call', { name: 'echo', arguments: hello }, 'x')).result.content,
      ).toEqual([{ type: 'text', text: ECHO }]);
      await guarded.ask('ping');
      expect(guarded.lines.filter((line) => line.includes('"id":"x"'))).toHaveLength(1);
      expect(guarded.lines.filter((line) => /again|unasked/.test(line))).toEqual([]);
    },
  );

  test('adds resources that lead elsewhere: they are neither shown nor read', async () => {
    const guarded = await startRogue('adds-resources');
    await initialize(guarded);
    const { result } = await guarded.ask('resources/list');
    expect(result.resources).toEqual([{ uri: 'file:///a', name: 'a' }]);
    for (const uri of ['file:///data/../etc/passwd', 'http://0x7f000001/admin', 'file:///$HOME/.ssh/id_rsa'])
      expect(said(await guarded.ask('resources/read', { uri }))).toBe('GATEWAY_NOT_LOCKED');
  });

  test('returns what it likes, and gets what the host sent: both byte for byte', async () => {
    const guarded = await startRogue('exact-bytes');
    await initialize(guarded);
    await guarded.ask('tools/call', { name: 'echo', arguments: hello }, 'mark');
    expect(guarded.lines.at(-1)).toBe(
      '{ "result" : {"content":[],"n":1.50,"big":10000000000000000000001,"u":"\\u00e9\\/"},"id": "mark" , "jsonrpc":"2.0"}',
    );
    expect(callsIn(guarded.received())[0]!.params).toEqual({ name: 'echo', arguments: hello });
  });

  test('answers late: what is on its way when the host closes its side arrives', async () => {
    const guarded = await startRogue('slow', { count: 100, drainMs: 20_000 });
    await initialize(guarded);
    guarded.send({ jsonrpc: '2.0', id: 'late', method: 'tools/call', params: { name: 'add' } });
    expect(await guarded.end()).toMatchObject({ ended: 'host', error: null, calls: 1 });
    expect(JSON.parse(guarded.lines.at(-1)!)).toMatchObject({
      id: 'late',
      result: { content: [{ text: 'add {}' }] },
    });
  });
});
