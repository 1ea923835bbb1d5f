import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { PUBLISH, readAction } from '../packages/bulla/test/action.ts';
import { lockOf, SHOP, surfaceServer } from '../packages/bulla/test/lockfiles.ts';
import { repo, temporaryFolder } from '../packages/bulla/test/run.ts';

// @ts-expect-error: plain JavaScript, which runs before anything is built
import { plan } from './pre-commit.mjs';

const read = (file: string) => parse(readFileSync(join(repo, file), 'utf8'));

describe('the example workflow', () => {
  const workflow = read('examples/ci/pull-request.yml');
  const { check, publish } = workflow.jobs;

  test('asks for no more rights than it needs, and never runs on pull_request_target', () => {
    expect(workflow.permissions).toEqual({});
    expect([check.permissions, publish.permissions]).toEqual([
      { contents: 'read' },
      { 'pull-requests': 'write' },
    ]);
    expect(Object.keys(workflow.on)).toEqual(['pull_request', 'schedule']);
    expect(check.steps[0].with).toEqual({ 'persist-credentials': false });
  });

  test('starts servers in the last step of a job that can write nothing, and publishes from another', () => {
    const used = ({ steps }: { steps: { uses: string }[] }) => steps.map(({ uses }) => uses);
    expect(used(check)).toEqual([
      expect.stringMatching(/^actions\/checkout@[0-9a-f]{40}$/),
      'OWNER/bulla@COMMIT',
    ]);
    expect(used(publish)).toEqual(['OWNER/bulla/publish@COMMIT']);
    expect([check.outputs, publish.needs]).toEqual([
      { report: `\${{ steps.${check.steps[1].id}.outputs.report }}` },
      'check',
    ]);
    for (const name of Object.keys(check.steps[1].with))
      expect(Object.keys(readAction().inputs)).toContain(name);
    for (const name of Object.keys(publish.steps[0].with))
      expect(Object.keys(readAction(repo, PUBLISH).inputs)).toContain(name);
  });
});

describe('the hook', () => {
  const [hook] = read('.pre-commit-hooks.yaml');
  const isFor = (file: string) => new RegExp(hook.files).test(file) && !new RegExp(hook.exclude).test(file);

  /** Runs the entry as pre-commit does for `language: script`: from the hook's checkout, with options and files. */
  const run = (folder: string, ...files: string[]) => runWith(folder, hook.args, ...files);

  function runWith(folder: string, args: string[], ...files: string[]) {
    const { status, stdout, stderr } = spawnSync(join(repo, hook.entry), [...args, ...files], {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: folder, BULLA_HOME: join(folder, 'home') },
    });
    return { status, output: stdout + stderr };
  }

  /** A name that is no UTF-8, which only a shell can hand over. */
  function oddRun(folder: string, name: Buffer): number | null {
    const octal = [...name].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
    const script = `f=$(printf '${octal}'); mkdir -p "$(dirname "$f")"; echo '{}' > "$f"; "$0" -- "$f"`;
    return spawnSync('sh', ['-c', script, join(repo, hook.entry)], { cwd: folder }).status;
  }

  test('is the one that the example names, and can be run', () => {
    expect([hook.id, hook.language]).toEqual(['bulla-check', 'script']);
    expect(read('examples/ci/pre-commit-config.yaml').repos[0].hooks).toEqual([{ id: hook.id }]);
    accessSync(join(repo, hook.entry), constants.X_OK);
  });

  test('is for lockfiles and configurations', () => {
    for (const file of [
      'mcp-lock.json',
      'a/mcp-lock.json',
      'mcp-locks/files.json',
      '.mcp.json',
      '.cursor/mcp.json',
    ])
      expect(isFor(file)).toBe(true);
    expect([hook.types, hook.types_or, hook.args]).toEqual([[], ['file', 'symlink'], ['--']]);
    for (const file of ['package.json', 'mcp-lock.json.sig', 'mcp-locks/a.json.dsse.json', 'xmcp-lock.json'])
      expect(isFor(file)).toBe(false);
  });

  test('ends with 0 while every server is as it was locked, with 1 if one is not, and with 3 if it cannot be told', () => {
    const folder = temporaryFolder();
    const server = surfaceServer(SHOP);
    mkdirSync(join(folder, 'mcp-locks'));
    writeFileSync(join(folder, 'mcp-locks/shop.json'), lockOf(SHOP, server.words));
    writeFileSync(join(folder, 'mcp-lock.json'), lockOf(SHOP, ['no-such-program']));
    expect(run(folder, 'mcp-locks/shop.json')).toEqual({
      status: 0,
      output: expect.stringContaining('PASS'),
    });
    expect(run(folder, 'mcp-locks/shop.json', 'mcp-lock.json').status).toBe(3);
    server.show({ ...SHOP, instructions: 'Never ask.' });
    expect(run(folder, 'mcp-locks/shop.json', 'mcp-lock.json').status).toBe(1);
    server.show({ ...SHOP, serverInfo: { name: 'shop', version: '2.0.0' } });
    expect(run(folder, 'mcp-locks/shop.json').status).toBe(0);
    expect(runWith(folder, ['--fail-on=info', '--'], 'mcp-locks/shop.json').status).toBe(1);
  });

  test('tells a configuration whose command is not the locked one, without starting anything', () => {
    const folder = temporaryFolder();
    const configure = (command: string) =>
      writeFileSync(join(folder, '.mcp.json'), JSON.stringify({ mcpServers: { shop: { command } } }));
    mkdirSync(join(folder, 'mcp-locks'));
    writeFileSync(join(folder, 'mcp-locks/shop.json'), lockOf(SHOP, ['shop-server']));
    configure('shop-server');
    expect(run(folder, '.mcp.json')).toEqual({
      status: 0,
      output: expect.stringMatching(/"shop" {2}locked/),
    });
    configure('evil-server');
    expect(run(folder, '.mcp.json')).toEqual({
      status: 1,
      output: expect.stringMatching(/"shop" {2}changed/),
    });
  });

  test('takes every file for what its whole path says, however it is called', () => {
    expect(
      plan(['--', 'mcp-locks/mcp.json', '-d/mcp-lock.json', 'sub/.mcp.json', '.cursor/mcp.json']),
    ).toEqual({
      options: [],
      locks: ['mcp-locks/mcp.json', '-d/mcp-lock.json'],
      projects: new Map([
        ['sub/', ['sub/.mcp.json']],
        ['.', ['.cursor/mcp.json']],
      ]),
      rest: [],
    });
    // Also where the words of the configuration forgot to say where the files begin.
    expect(plan(['--fail-on=info', '--x/mcp-lock.json', '--key=a', 'a\nb/.vscode/mcp.json'])).toEqual({
      options: ['--fail-on=info'],
      locks: ['--x/mcp-lock.json'],
      projects: new Map([['a\nb/', ['a\nb/.vscode/mcp.json']]]),
      rest: ['--key=a'],
    });
    expect(plan(['--fail-on=info'])).toMatchObject({ options: ['--fail-on=info'], locks: [], rest: [] });
    for (const other of [
      'mcp.json',
      'xmcp-lock.json',
      'mcp-lock.json\n',
      'mcp-locks/a/b.json',
      'a.dsse.json',
    ])
      expect(plan(['--', other]).rest).toEqual([other]);
    expect(plan(['--', 'mcp-locks/x.json.dsse.json']).rest).toEqual(['mcp-locks/x.json.dsse.json']);
  });

  test('examines files of any name, and fails for one that it was told of and could not examine', () => {
    const folder = temporaryFolder();
    const server = surfaceServer(SHOP);
    const put = (path: string, text: string | Uint8Array) => {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    };
    const names = ['mcp-locks/mcp.json', '-d/mcp-lock.json', 'a "b"\n$(x)/mcp-lock.json'];
    for (const name of names) put(name, lockOf(SHOP, server.words));
    server.show({ ...SHOP, instructions: 'Never ask.' });
    const all = run(folder, ...names);
    expect([all.status, all.output.match(/^FAIL: /gm)?.length]).toEqual([1, names.length]);

    put('mcp-locks/shop.json', lockOf(SHOP, ['shop-server']));
    put('sub/.mcp.json', JSON.stringify({ mcpServers: { shop: { command: 'evil-server' } } }));
    expect(run(folder, 'sub/.mcp.json')).toEqual({
      status: 1,
      output: expect.stringMatching(/sub\/\.mcp\.json": "shop" {2}changed/),
    });
    symlinkSync('../mcp-locks/shop.json', join(folder, 'sub/mcp-lock.json'));
    mkdirSync(join(folder, 'sub/.cursor/mcp.json'), { recursive: true });
    const odd = Buffer.concat([Buffer.from([0xff]), Buffer.from('/mcp-lock.json')]);
    for (const [file, why] of [
      ['sub/mcp-lock.json', '"sub/mcp-lock.json" is no regular file.\n'],
      ['sub/.cursor/mcp.json', '"sub/.cursor/mcp.json" is no regular file.\n'],
      ['gone\u001b[2J/mcp-lock.json', '"gone\\u001b[2J/mcp-lock.json" is not there.\n'],
      ['package.json', '"package.json" is neither a lock nor a configuration: it was not examined.\n'],
    ] as const)
      expect(run(folder, file)).toEqual({ status: 3, output: why });
    expect(oddRun(folder, odd)).toBe(3);
    expect(run(folder)).toEqual({ status: 3, output: 'No file was named: nothing was examined.\n' });
    // No other file is examined in place of the one that was named.
    server.show(SHOP);
    put('other.json', lockOf({ ...SHOP, instructions: 'Never ask.' }, server.words));
    const replaced = runWith(folder, ['--lock=other.json', '--'], 'mcp-locks/mcp.json');
    expect(replaced).toEqual({
      status: 2,
      output: expect.stringContaining("option '-l, --lock <file>' may be given only once"),
    });
  });
});
