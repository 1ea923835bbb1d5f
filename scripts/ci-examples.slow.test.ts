import { spawnSync } from 'node:child_process';
import { accessSync, constants, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { PUBLISH, readAction } from '../packages/bulla/test/action.ts';
import { lockOf, SHOP, surfaceServer } from '../packages/bulla/test/lockfiles.ts';
import { repo, temporaryFolder } from '../packages/bulla/test/run.ts';

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
  function run(folder: string, ...words: string[]): { status: number | null; output: string } {
    const { status, stdout, stderr } = spawnSync(join(repo, hook.entry), [...(hook.args ?? []), ...words], {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: process.env.PATH, HOME: folder, BULLA_HOME: join(folder, 'home') },
    });
    return { status, output: stdout + stderr };
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
    expect(run(folder, '--fail-on=info', 'mcp-locks/shop.json').status).toBe(1);
  });

  test('tells a configuration whose command is not the locked one, without starting anything', () => {
    const folder = temporaryFolder();
    const configure = (command: string) =>
      writeFileSync(join(folder, '.mcp.json'), JSON.stringify({ mcpServers: { shop: { command } } }));
    mkdirSync(join(folder, 'mcp-locks'));
    writeFileSync(join(folder, 'mcp-locks/shop.json'), lockOf(SHOP, ['shop-server']));
    configure('shop-server');
    expect(run(folder, '.mcp.json')).toEqual({ status: 0, output: expect.stringMatching(/shop {2}locked/) });
    configure('evil-server');
    expect(run(folder, '.mcp.json')).toEqual({ status: 1, output: expect.stringMatching(/shop {2}changed/) });
  });
});
