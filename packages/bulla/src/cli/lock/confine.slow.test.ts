import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { noBwrap } from '../../../test/bwrap.ts';
import { packaged } from '../../../test/mcp.ts';
import { hostOf, LEFT, shopPackage, shopWith } from '../../../test/pinned.ts';
import { bulla, type Result, temporaryFolder } from '../../../test/run.ts';

/** A folder with one for data and one for everything else, and the words that serve the data. */
function prepare() {
  const folder = temporaryFolder();
  const data = join(folder, 'data');
  mkdirSync(data);
  writeFileSync(join(data, 'a.txt'), 'inside');
  writeFileSync(join(folder, 'b.txt'), 'outside');
  const { command, args } = packaged('server-filesystem', data);
  const env = { BULLA_HOME: join(folder, 'home') };
  const lock = join(folder, 'mcp-lock.json');
  return {
    ...{ folder, data, env, lock, server: ['--', command, ...args] },
    run: (...words: string[]): Result => bulla(words, '', env),
  };
}

function errorOf({ status, stdout, stderr }: Result) {
  const [, code] = /\[([A-Z_]+)\]|"code":"([A-Z_]+)"/.exec(stderr + stdout)?.filter(Boolean) ?? [];
  return { status, code };
}

describe.skipIf(noBwrap !== null)('a confined server on the command line', () => {
  it('is locked, checked, scanned and guarded with one named folder', async () => {
    const { folder, data, env, lock, server, run } = prepare();
    const locked = run('lock', '--json', '-o', lock, '--confine-write', data, ...server);
    expect([locked.status, locked.stderr]).toEqual([0, '']);
    const { config } = JSON.parse(locked.stdout);
    const [configured] = Object.values(config.mcpServers) as { args: string[] }[];
    expect(configured!.args).toEqual(['guard', '--lock', lock, '--confine-write', data, ...server]);
    expect(run('check', '-l', lock, '--confine-write', data).status).toBe(0);
    const scanned = run('scan', '--json', '--confine-read', data, ...server);
    expect([scanned.status, JSON.parse(scanned.stdout).tools.length > 5]).toEqual([0, true]);

    const host = await hostOf(configured!.args, env, folder);
    const call = (name: string, args: Record<string, string>) => host.callTool({ name, arguments: args });
    const read = await call('read_text_file', { path: join(data, 'a.txt') });
    expect(read.structuredContent).toEqual({ content: 'inside' });
    await call('write_file', { path: join(data, 'c.txt'), content: 'new' });
    expect(readFileSync(join(data, 'c.txt'), 'utf8')).toBe('new');
    expect((await call('read_text_file', { path: join(folder, 'b.txt') })).isError).toBe(true);
    await host.close();
    expect(run('chain', 'verify').status).toBe(0);
  });

  it('does not see what is not named: the server ends, because its folder is not there', () => {
    const { lock, server, run } = prepare();
    const refused = run('lock', '-o', lock, '--confine', ...server);
    expect(errorOf(refused)).toEqual({ status: 3, code: 'MCP_SERVER_ENDED' });
    expect(existsSync(lock)).toBe(false);
  });

  it('is refused with a code where it cannot be confined as asked', () => {
    const { folder, data, env, lock, server, run } = prepare();
    const refused = (...words: string[]) => errorOf(run('lock', '-o', lock, ...words));
    const path = { status: 2, code: 'CONFINE_PATH' };
    expect(refused('--confine-read', 'data', ...server)).toEqual(path);
    expect(refused('--confine-read', env.BULLA_HOME, ...server)).toEqual(path);
    expect(refused('--confine-write', folder, ...server)).toEqual(path);
    expect(refused('--confine-write', '/', ...server)).toEqual(path);
    expect(refused('--confine-read', data, '--keys', join(data, 'keys'), ...server)).toEqual(path);
    expect(refused('--confine', '--', 'npx', '-y', 'a')).toEqual({ status: 2, code: 'CONFINE_COMMAND' });
    expect(refused('--confine-network', '--', 'https://localhost/mcp')).toEqual({ status: 2, code: 'USAGE' });
    expect(existsSync(lock)).toBe(false);
  });

  it('is not started by the guard where it cannot be confined, and that is recorded', () => {
    const { data, lock, server, run } = prepare();
    expect(run('lock', '-o', lock, '--confine-write', data, ...server).status).toBe(0);
    const guarded = run('guard', '--lock', lock, '--confine-write', '/run');
    expect(errorOf(guarded)).toEqual({ status: 2, code: 'CONFINE_PATH' });
    expect(run('capsule', 'export').stdout).toContain('CONFINE_PATH');
  });

  it('runs the program that is pinned, from the data directory that it does not see otherwise', async () => {
    const { bulla: run, env, folder } = await shopWith([shopPackage('1.0.0'), LEFT]);
    const locked = await run(['lock', '--pin', '--confine', '--', 'npx', '-y', '@team/shop']);
    expect([locked.status, locked.stderr]).toEqual([0, '']);
    expect((await run(['check', '--pinned', '--confine'])).status).toBe(0);
    const host = await hostOf(['guard', '--pinned', '--confine'], env, folder);
    expect((await host.listTools()).tools.map(({ name }) => name)).toEqual(['search', 'order']);
  });
});
