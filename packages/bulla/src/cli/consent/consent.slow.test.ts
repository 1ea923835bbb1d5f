import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identityOf } from '@bulla/core/consent';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { AGENT, ARGS, calling, digestOf, manifestText, questionOf } from '../../../test/consent.ts';
import { bulla, repo, temporaryFolder } from '../../../test/run.ts';
import { createConsent, installationId } from '../../consent/index.ts';
import { openKeyring } from '../../keys/index.ts';
import { openStore, type Store } from '../../store/index.ts';

let home = '';
let store: Store;
const run = (...args: string[]) => bulla(args, '', { BULLA_HOME: home });
const json = (...args: string[]) => {
  const { status, stdout } = run(...args, '--json');
  return [status, JSON.parse(stdout)] as const;
};
const write = (text: string) => {
  const file = join(home, 'manifest.json');
  writeFileSync(file, text);
  return file;
};
const caller = () =>
  identityOf({
    transport: 'stdio',
    agent: AGENT,
    uid: process.getuid!(),
    installation: installationId(home),
    process: 'p1',
  });
const consent = () => createConsent(store, { chain: 'default' });
const granted = (...scopes: string[]) => {
  const [, { digest }] = json('grants', 'show', '--agent', AGENT);
  return run('grants', 'grant', '--agent', AGENT, '--disclosure', digest, '--scope', ...scopes);
};

beforeEach(async () => {
  home = temporaryFolder();
  expect(run('keys', 'init', '--quiet').status).toBe(0);
  const keyring = openKeyring(join(home, 'keys'), { now: () => new Date() });
  store = await openStore({ url: join(home, 'store.db'), create: true, sealer: () => keyring.sealer() });
  onTestFinished(() => store.close());
  expect(run('manifest', 'push', write(manifestText()), '--agent', AGENT).status).toBe(0);
});

describe('manifest push', () => {
  test('counts up, tells what breaks, and takes a key once', () => {
    const file = write(manifestText({ read_file: { input: 2 } }));
    const [status, pushed] = json('manifest', 'push', file, '--agent', AGENT, '--idempotency-key', 'k1');
    expect([status, pushed]).toMatchObject([
      0,
      {
        ok: true,
        agent_id: AGENT,
        capability_manifest_version: 2,
        capability_manifest_hash: bulla(['manifest', 'hash', file]).stdout.trim(),
        breaking_changes: [{ code: 'input-schema-changed', path: '/tools/1/input_schema' }],
        non_breaking_changes: [],
        repeated: false,
      },
    ]);
    const [, retried] = json('manifest', 'push', file, '--agent', AGENT, '--idempotency-key', 'k1');
    expect(retried).toEqual({ ...pushed, repeated: true, capsule_id: null, capsule_hash: null });
    const again = run('manifest', 'push', file, '--agent', AGENT, '--idempotency-key', 'k1');
    expect([again.status, again.stdout.split('\n')[0]]).toEqual([0, `known  ${AGENT} version 2`]);
    const other = write(manifestText());
    expect(json('manifest', 'push', other, '--agent', AGENT, '--idempotency-key', 'k1')).toMatchObject([
      2,
      { ok: false, code: 'MANIFEST_KEY_REUSED' },
    ]);
    expect(run('manifest', 'push', other, '--agent', AGENT).stdout).toContain('Breaking: 1 change');
  });

  test('tells all that is wrong, and stores nothing', () => {
    const file = write(manifestText().replace('"notify"', '"Notify"').replace('"1.0.0"', '"one"'));
    const [status, { ok, problems }] = json('manifest', 'push', file, '--agent', AGENT);
    expect([status, ok, problems.map(({ code }: { code: string }) => code)]).toEqual([
      1,
      false,
      ['MANIFEST_AGENT_VERSION', 'MANIFEST_TOOL_NAME'],
    ]);
    expect(run('manifest', 'push', write('{'), '--agent', AGENT).status).toBe(2);
    const good = write(manifestText());
    expect(json('manifest', 'push', good, '--agent', AGENT)[1]).toMatchObject({
      capability_manifest_version: 2,
      breaking_changes: [],
    });
  });
});

describe('stored manifests', () => {
  const two = () => {
    const file = write(manifestText({ read_file: { input: 2 } }));
    expect(run('manifest', 'push', file, '--agent', AGENT).status).toBe(0);
    return file;
  };

  test('show prints a version, which hashes as it was pushed', () => {
    two();
    const first = run('manifest', 'show', AGENT, '1');
    expect(first.status).toBe(0);
    expect(JSON.parse(first.stdout)).toEqual(JSON.parse(manifestText()));
    const hash = bulla(['manifest', 'hash', '-'], first.stdout).stdout.trim();
    expect(first.stderr).toMatch(
      new RegExp(`^${AGENT} version 1, pushed by \\S+ on \\d{4}-\\d\\d-\\d\\dT[^ ]+Z\\n  ${hash}\\n$`),
    );
    const [status, latest] = json('manifest', 'show', AGENT);
    expect([status, latest]).toMatchObject([
      0,
      {
        agent_id: AGENT,
        capability_manifest_version: 2,
        breaking: true,
        manifest: { schema_version: '1.0' },
      },
    ]);
    expect(json('manifest', 'show', AGENT, 'latest')[1]).toEqual(latest);
    expect(run('manifest', 'show', AGENT, '--quiet').stderr).toBe('');
    for (const [args, code] of [
      [['nobody'], 'MANIFEST_NOT_FOUND'],
      [[AGENT, '3'], 'MANIFEST_NOT_FOUND'],
      [[AGENT, '0'], 'MANIFEST_VERSION'],
      [[AGENT, '1.3'], 'MANIFEST_VERSION'],
    ] as const)
      expect(json('manifest', 'show', ...args)).toMatchObject([2, { ok: false, code }]);
  });

  test('versions lists them, the first one first', () => {
    two();
    const [status, { agent_id, versions }] = json('manifest', 'versions', AGENT);
    expect([status, agent_id, versions]).toMatchObject([
      0,
      AGENT,
      [
        { capability_manifest_version: 1, breaking: false },
        { capability_manifest_version: 2, breaking: true },
      ],
    ]);
    const { stdout } = run('manifest', 'versions', AGENT);
    expect(stdout.trimEnd().split('\n')).toEqual([
      expect.stringMatching(`^${AGENT} version 1, pushed by .*  ${versions[0].capability_manifest_hash}$`),
      expect.stringMatching(`^${AGENT} version 2, .*, breaking  ${versions[1].capability_manifest_hash}$`),
    ]);
    expect(json('manifest', 'versions', 'nobody')).toMatchObject([2, { code: 'MANIFEST_NOT_FOUND' }]);
  });

  test('diff compares them with each other and with files', () => {
    const file = two();
    const diff = (...sides: string[]) => run('manifest', 'diff', ...sides);
    const between = diff(`${AGENT}@1`, `${AGENT}@2`);
    expect([between.status, between.stdout.split('\n')[0]]).toEqual([
      1,
      'Breaking: 1 change that people must review.',
    ]);
    expect(diff(`${AGENT}@1`, file)).toEqual(between);
    expect(diff(`${AGENT}@latest`, file)).toMatchObject({ status: 0, stdout: 'Nothing changed.\n' });
    expect(diff(file, `${AGENT}@1`).status).toBe(1);
    expect(diff(`${AGENT}@3`, file).stderr).toContain('[MANIFEST_NOT_FOUND]');
    // What begins as a path is a file, whatever the store has.
    expect(diff(`./${AGENT}@1`, file).stderr).toContain('[INPUT_UNREADABLE]');
    expect(diff(`${AGENT}@1.3`, file).stderr).toContain('[INPUT_UNREADABLE]');
  });
});

describe('languages', () => {
  const shown = (env: Record<string, string>, ...args: string[]) =>
    bulla(['grants', 'show', '--agent', AGENT, ...args], '', { BULLA_HOME: home, ...env }).stdout;

  test('follow --lang, then LC_ALL, LC_MESSAGES and LANG', () => {
    const chinese = shown({ LANG: 'zh_CN.UTF-8' });
    expect(chinese.split('\n').slice(0, 4)).toEqual([
      `${AGENT}（能力声明第 1 版）可以做这些：`,
      '  高: 每次调用都会询问你。',
      '    读取位置 (location:read)',
      '      locate: tools.locate.1',
    ]);
    const english = shown({});
    expect(english).toContain('    Read the location (location:read)\n      locate: tools.locate.1\n');
    expect(shown({ LANG: 'en_US.UTF-8' }, '--lang', 'zh')).toBe(chinese);
    expect(shown({ LC_ALL: 'zh_TW', LANG: 'C' })).toBe(chinese);
    expect(shown({ LC_ALL: '', LC_MESSAGES: 'zh', LANG: 'C' })).toBe(chinese);
    expect(shown({ LC_ALL: 'C.UTF-8', LANG: 'zh_CN' })).toBe(english);
    expect(run('grants', 'show', '--agent', AGENT, '--lang', 'xx').status).toBe(2);
  });

  test('a catalogue has the texts of the keys, and must be one', () => {
    const catalogue = join(home, 'texts.json');
    writeFileSync(
      catalogue,
      JSON.stringify({ 'tools.locate.1': 'Finds you', 'scopes.location:read': 'Nothing' }),
    );
    const text = shown({}, '--catalogue', catalogue);
    expect(text).toContain('    Read the location (location:read)\n      locate: Finds you\n');
    for (const bad of ['[]', '{"a":1}']) {
      writeFileSync(catalogue, bad);
      expect(run('grants', 'show', '--agent', AGENT, '--catalogue', catalogue)).toMatchObject({
        status: 2,
        stderr: expect.stringContaining('[CONSENT_CATALOGUE]'),
      });
    }
  });

  test('what was seen in one language can be granted in another, and a question is shown in it', async () => {
    const [, { digest }] = json('grants', 'show', '--agent', AGENT, '--lang', 'zh');
    const scopes = ['--scope', 'filesystem:read'];
    expect(run('grants', 'grant', '--agent', AGENT, '--disclosure', digest, ...scopes).status).toBe(0);
    await questionOf(consent(), store, calling('read_file', caller()));
    const { stdout } = run('consent', 'pending', '--lang', 'zh');
    expect(stdout).toContain('请求调用 read_file：tools.read_file.1 sha256:');
    expect(stdout).toContain('\n  权限 读取本地文件 (filesystem:read)，中\n');
    expect(json('consent', 'pending')[1].pending[0].showing).toMatchObject({
      description: 'tools.read_file.1',
      scope_label: 'Read local files',
    });
    expect(run('consent', 'pending').stdout).toContain(
      '\n  scope Read local files (filesystem:read), medium\n',
    );
  });
});

test('results and levels are in the language that is asked for, and questions tell what each tool does', async () => {
  const zh = ['--lang', 'zh'];
  const of = ['--agent', AGENT];
  expect(run('grants', 'list', ...zh).stdout).toBe('没有授权任何权限。\n');
  const [, { digest }] = json('grants', 'show', ...of, ...zh);
  const grant = ['grants', 'grant', ...of, '--disclosure', digest, '--scope', 'filesystem:read', ...zh];
  expect(run(...grant).stdout).toBe('已授权  filesystem:read\n');
  expect(run(...grant).stdout).toBe('这些权限此前已经授予。\n');
  const [, { grants }] = json('grants', 'list');
  expect(run('grants', 'list', ...zh).stdout).toBe(
    `已授权  ${AGENT} filesystem:read 中  ${caller().user}，通过 terminal，${new Date(grants[0].at).toISOString()}\n`,
  );
  const catalogue = join(home, 'texts.json');
  writeFileSync(
    catalogue,
    JSON.stringify({ 'tools.read_file.1': '读取文件', 'tools.list_files.1': '列出文件' }),
  );
  const { id, shown } = await questionOf(consent(), store, calling('read_file', caller()));
  const pending = run('consent', 'pending', ...zh, '--catalogue', catalogue).stdout;
  expect(pending).toContain('\n  --session 还包括 read_file: 读取文件; list_files: 列出文件\n');
  expect(pending).toContain(`\n  bulla consent deny ${id} --never  # 拒绝该权限，直到你再次授权\n`);
  const allowed = run('consent', 'allow', id, '--shown', shown, ...zh).stdout;
  expect(allowed).toMatch(new RegExp(`^已允许  ${id}  封存为 [0-9a-f]{64}\n$`));
  run('manifest', 'push', write(manifestText({ locate: { input: 2 } })), '--agent', AGENT);
  expect(run('grants', 'list', ...zh).stdout).toMatch(/^暂停（待复核） {2}desk filesystem:read 中 {2}/);
  expect(run('grants', 'revoke', ...of, '--all', ...zh).stdout).toBe('已撤销  全部\n');
  expect(run('grants', 'revoke', ...of, '--all', ...zh).stdout).toBe('这些权限并未授予：没有变化。\n');
});

describe('grants', () => {
  test('are shown, given, listed and taken back', async () => {
    expect(run('grants', 'list').stdout).toBe('Nothing was granted.\n');
    expect(run('grants', 'show', '--agent', AGENT).stdout).toContain('Read local files (filesystem:read)');
    expect(run('grants', 'show', '--agent', 'nobody').status).toBe(2);
    expect(granted('filesystem:read').stdout).toBe('granted  filesystem:read\n');
    const [, { grants }] = json('grants', 'list', '--agent', AGENT);
    expect(grants).toMatchObject([
      {
        user: caller().user,
        scope: 'filesystem:read',
        status: 'granted',
        channel: 'terminal',
        obstacle: null,
      },
    ]);
    run('manifest', 'push', write(manifestText({ locate: { input: 2 } })), '--agent', AGENT);
    expect(run('grants', 'list').stdout).toMatch(/^rests \(suspended\) {2}desk filesystem:read medium/);
    const { prompt } = await consent().request({ identity: caller(), scope: 'notification:send' });
    expect(json('grants', 'revoke', '--agent', AGENT, '--all')).toMatchObject([0, { ok: true, ended: [] }]);
    expect((await consent().pending()).map(({ id }) => id)).toEqual([prompt!.id]);
    expect(run('grants', 'list').stdout).toMatch(/^revoked {2}/);
    expect(run('grants', 'revoke', '--agent', AGENT, '--all')).toMatchObject({
      status: 0,
      stdout: 'None of that was granted: nothing changed.\n',
    });
    for (const which of [['--all'], ['--scope', 'filesystem:read']])
      expect(json('grants', 'revoke', '--agent', 'nobody', ...which)).toMatchObject([
        2,
        { ok: false, code: 'CONSENT_AGENT_UNKNOWN' },
      ]);
  });

  test('call a scope without a text by its key, and refuse one that is not declared before they ask', () => {
    const text = manifestText().replaceAll('notification:send', 'notes:write');
    run('manifest', 'push', write(text), '--agent', AGENT);
    expect(run('grants', 'show', '--agent', AGENT).stdout).toContain(
      '\n    scopes.notes:write (notes:write)\n',
    );
    const { status, stderr } = run('grants', 'grant', '--agent', AGENT, '--scope', 'notes:read');
    expect([status, stderr]).toEqual([1, 'bulla: The agent declares no scope notes:read. [CONSENT_SCOPE]\n']);
  });

  test('need a disclosure that is the present one, a channel that may give them, and scopes', () => {
    const args = ['grants', 'grant', '--agent', AGENT];
    expect(json(...args, '--all')).toMatchObject([2, { code: 'USAGE' }]);
    expect(json(...args, '--all', '--disclosure', '00')).toMatchObject([1, { code: 'CONSENT_DISCLOSURE' }]);
    expect(json(...args)).toMatchObject([2, { code: 'CONSENT_SCOPE' }]);
    expect(granted('filesystem:read', 'location:read').stderr).toBe(
      'bulla: The scope location:read may not be granted over this channel, so that nothing was granted. [CONSENT_CHANNEL]\n' +
        `A terminal proves nobody. Answer where people sign in, or let terminals answer: "highChannels": "out-of-band" in ${join(home, 'consent.json')}; see bulla consent allow --help.\n`,
    );
    expect(json('grants', 'list')[1].grants).toEqual([]);
    writeFileSync(join(home, 'consent.json'), '{"highChannels":"out-of-band"}');
    expect(granted('location:read').status).toBe(0);
    expect(json('grants', 'revoke', '--agent', AGENT, '--scope', 'filesystem:read')).toMatchObject([
      1,
      { code: 'CONSENT_SCOPE' },
    ]);
  });
});

describe('manifest bind', () => {
  const FILES = '{"read_file":{"server":"files","tool":"read_text"}}';

  test('says which tool of a server each is, seals that, and tells whom it stops', async () => {
    const bindings = join(home, 'bindings.json');
    writeFileSync(bindings, FILES);
    const push = ['manifest', 'push', write(manifestText()), '--agent', AGENT, '--bindings', bindings];
    expect(json(...push)).toMatchObject([
      0,
      { capability_manifest_version: 2, breaking: false, rebound: [] },
    ]);
    granted('filesystem:read');
    expect(run('grants', 'show', '--agent', AGENT).stdout).toContain(
      '    read_file = files/read_text: tools.read_file.1\n',
    );
    const added = run('manifest', 'bind', AGENT, 'list_files=files/ls');
    expect([added.status, added.stdout.split('\n').slice(0, 3)]).toEqual([
      0,
      [`bound  ${AGENT} version 2`, '  read_file = files/read_text', '  list_files = files/ls'],
    ]);
    const call = { identity: caller(), server: 'files', tool: 'read_text', args: ARGS };
    const { id } = await questionOf(consent(), store, call);
    const shown = run('consent', 'pending').stdout;
    const tool = `read_file = files/read_text: tools.read_file.1 ${digestOf('read_file')}`;
    expect(shown).toContain(`  to call ${tool}\n`);
    expect(json('manifest', 'bind', AGENT, 'read_file=', 'list_files=disk/ls')).toMatchObject([
      0,
      {
        capability_manifest_version: 2,
        tools: { list_files: { server: 'disk', tool: 'ls' } },
        breaking: true,
        rebound: ['read_file', 'list_files'],
        ended: [id],
      },
    ]);
    expect(run('grants', 'list').stdout).toMatch(/^rests \(suspended\)/);
  });

  test('every set of bindings can be read back, exactly as it was hashed', () => {
    const bindings = join(home, 'bindings.json');
    writeFileSync(bindings, FILES);
    const push = ['manifest', 'push', write(manifestText()), '--agent', AGENT, '--bindings', bindings];
    const [, { bindings: first }] = json(...push);
    run('manifest', 'bind', AGENT, 'list_files=files/ls');
    const show = (...args: string[]) => run('manifest', 'show', AGENT, ...args, '--quiet');
    const sha256 = (text: string) => createHash('sha256').update(text.trimEnd()).digest('hex');
    expect(JSON.parse(show('--bindings').stdout).list_files).toEqual({ server: 'files', tool: 'ls' });
    expect(sha256(show('--bindings', first).stdout)).toBe(first);
    expect(json('manifest', 'show', AGENT, '--bindings', first)).toMatchObject([
      0,
      { agent_id: AGENT, digest: first, bindings: JSON.parse(FILES) },
    ]);
    expect(show('--bindings', '0'.repeat(64))).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('[MANIFEST_NOT_FOUND]'),
    });
  });

  test('refuses what is no binding', () => {
    expect(json('manifest', 'bind', AGENT, 'read_file')).toMatchObject([2, { code: 'MANIFEST_BINDING' }]);
    expect(json('manifest', 'bind', AGENT, 'none=a/b')).toMatchObject([
      2,
      { code: 'MANIFEST_BINDING_UNKNOWN' },
    ]);
    expect(json('manifest', 'bind', 'nobody', 'a=b/c')).toMatchObject([2, { code: 'MANIFEST_NOT_FOUND' }]);
    expect(json('manifest', 'bind', AGENT, 'read_file=a/b', 'list_files=a/b')).toMatchObject([
      2,
      { code: 'MANIFEST_BINDING_TWICE' },
    ]);
  });
});

describe('consent', () => {
  test('shows exactly what is asked, and a terminal answers what a program waits for', async () => {
    granted('filesystem:read');
    const args = { path: '/tmp/\u202etxt.exe' };
    const prompt = await questionOf(consent(), store, calling('read_file', caller(), args));
    const waiting = consent().waitFor(prompt.id);
    const { stdout } = run('consent', 'pending');
    expect(stdout).toContain('  arguments {"path":"/tmp/⟨U+202E⟩txt.exe"}\n');
    expect(stdout).toContain('1 of their characters would not be seen');
    expect(stdout).not.toContain('\u202e');
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining([
        `  asked at ${new Date(prompt.opened_at).toISOString()}, deadline none`,
        '  scope Read local files (filesystem:read), medium',
        ...[
          'allow ID  # allow this call',
          'allow ID --session  # allow it for this session',
          'deny ID  # deny this call',
          'deny ID --never  # refuse the scope until you grant it again',
        ].map((words) => `  bulla consent ${words.replace('ID', prompt.id)}`),
      ]),
    );
    const [, { pending }] = json('consent', 'pending', '--agent', AGENT);
    expect(pending).toMatchObject([{ id: prompt.id, shown: prompt.shown, kind: 'call' }]);
    expect(json('consent', 'allow', prompt.id)).toMatchObject([2, { code: 'USAGE' }]);
    expect(json('consent', 'allow', prompt.id, '--shown', '0'.repeat(64))).toMatchObject([
      1,
      { code: 'CONSENT_SHOWN' },
    ]);
    const other = ['--shown', prompt.shown, '--user', 'somebody'];
    expect(json('consent', 'allow', prompt.id, ...other)).toMatchObject([1, { code: 'CONSENT_PERSON' }]);
    expect(json('consent', 'allow', prompt.id, '--session', '--shown', prompt.shown)).toMatchObject([
      0,
      { ok: true, choice: 'allow-session', by: 'medium-session', channel: 'terminal' },
    ]);
    expect((await waiting).answer).toMatchObject({ who: caller().user, channel: 'terminal' });
    expect(json('consent', 'deny', prompt.id)).toMatchObject([1, { code: 'CONSENT_ANSWERED' }]);
    expect(run('consent', 'pending').stdout).toBe('Nothing is asked.\n');
  });

  test('shows both ends of long arguments, counts what is between and runs of spaces', async () => {
    const long = manifestText({ read_file: { input: 300_000 } });
    expect(run('manifest', 'push', write(long), '--agent', AGENT).status).toBe(0);
    granted('filesystem:read');
    const args = { path: `/tmp/${' '.repeat(300)}${'x'.repeat(200_000)}/etc/passwd` };
    const call = { ...calling('read_file', caller(), args), declared: digestOf('read_file', long) };
    const { opened_at } = await questionOf(consent(), store, call);
    const line = run('consent', 'pending')
      .stdout.split('\n')
      .find((one) => one.startsWith('  arguments '));
    const text = JSON.stringify(args);
    const start = `{"path":"/tmp/⟨300 × U+0020⟩${'x'.repeat(1000 - 314)}`;
    const between = `… (${text.length - 2000} characters left out; bulla consent pending --json has all) …`;
    expect(line).toBe(`  arguments ${start}${between}${text.slice(-1000)}`);
    const [, { pending }] = json('consent', 'pending');
    expect(pending[0].showing.arguments).toBe(text);
    expect(pending[0].opened_at).toBe(new Date(opened_at).toISOString());
  });

  test.skipIf(process.platform !== 'linux' || !existsSync('/usr/bin/script'))(
    'says that a question stays open which a person did not allow',
    async () => {
      granted('filesystem:read');
      const { id } = await questionOf(consent(), store, calling('read_file', caller()));
      const command = `${join(repo, 'bin/bulla')} consent allow ${id}`;
      const child = spawn('/usr/bin/script', ['-qec', command, '/dev/null'], {
        env: { ...process.env, BULLA_HOME: home },
      });
      let said = '';
      child.stdout.on('data', (chunk: Buffer) => {
        said += chunk;
        if (said.endsWith('Allow it? [y/N] ')) child.stdin.write('n');
      });
      expect(await new Promise((resolve) => child.on('close', resolve))).toBe(1);
      expect(said).not.toContain('# allow this call');
      expect(said.split('\r\n').slice(-3)).toEqual([
        expect.stringContaining('Allow it? [y/N] no'),
        `Nothing was answered: the question stays open. To deny it: bulla consent deny ${id}`,
        '',
      ]);
      expect((await consent().pending()).map((prompt) => prompt.id)).toEqual([id]);
    },
  );

  test('denies once or for ever, also what can no longer be shown', async () => {
    granted('filesystem:read');
    const first = await questionOf(consent(), store, calling('read_file', caller()));
    expect(json('consent', 'deny', `${first.id.slice(0, 8)}…`)).toMatchObject([0, { id: first.id }]);
    expect(await consent().decision(first.id)).toMatchObject({ reason: 'user_rejected' });
    const { id, shown } = await questionOf(consent(), store, calling('read_file', caller()));
    const [question] = await store.find({ chain: 'default', type: 'auth', status: 'pending', limit: 1 });
    expect(await store.eraseOpenings(JSON.parse(question!.data).id)).toBe(1);
    expect(run('consent', 'pending').stdout).toContain('[CONSENT_NOT_KEPT]');
    expect(json('consent', 'allow', id, '--shown', shown)).toMatchObject([1, { code: 'CONSENT_NOT_KEPT' }]);
    expect(json('consent', 'deny', id, '--never')).toMatchObject([0, { choice: 'never' }]);
    expect(run('grants', 'list').stdout).toMatch(/^refused {2}/);
    expect(json('consent', 'deny', 'none')).toMatchObject([1, { code: 'CONSENT_UNKNOWN' }]);
  });

  test('refuses a high call at a terminal, unless the operator says otherwise', async () => {
    writeFileSync(join(home, 'consent.json'), '{"highChannels":"out-of-band"}');
    granted('location:read');
    const { id, shown } = await questionOf(consent(), store, calling('locate', caller()));
    writeFileSync(join(home, 'consent.json'), '{}');
    expect(json('consent', 'allow', id, '--shown', shown)).toMatchObject([1, { code: 'CONSENT_CHANNEL' }]);
    writeFileSync(join(home, 'consent.json'), '{"highChannels":"out-of-band"}');
    expect(json('consent', 'allow', id, '--shown', shown)).toMatchObject([0, { by: 'high-allowed-once' }]);
  });

  test('grants a scope that an agent asks for, after what it can do was shown', async () => {
    const { prompt: asked } = await consent().request({ identity: caller(), scope: 'filesystem:read' });
    const prompt = asked!;
    expect(run('consent', 'pending').stdout).toContain('to be granted Read local files (filesystem:read)');
    expect(json('consent', 'allow', prompt.id, '--shown', prompt.shown)).toMatchObject([
      0,
      { choice: 'grant' },
    ]);
    expect(json('grants', 'list')[1].grants).toMatchObject([{ scope: 'filesystem:read', id: prompt.id }]);
  });
});

test('a kill switch for an agent that nothing tells of stands, with a hint', () => {
  const kill = (agent: string) => run('kill', '--agent', agent, '--reason', 'drill');
  expect(kill(AGENT)).toMatchObject({ status: 0, stderr: '' });
  const hint = 'note  there is no record or manifest of this agent so far; is nobdy its name?\n';
  expect(kill('nobdy')).toMatchObject({ status: 0, stderr: hint });
  expect(kill('nobdy').stderr).toBe(hint);
  expect(json('kill', '--list')[1].standing).toHaveLength(2);
});
