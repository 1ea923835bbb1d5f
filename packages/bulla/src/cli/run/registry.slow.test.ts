import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readLock } from '@bulla/core/lock';
import { expect, test } from 'vitest';
import { bullaIn } from '../../../test/lockfiles.ts';
import { hostOf } from '../../../test/pinned.ts';
import { temporaryFolder } from '../../../test/run.ts';

/** How npm reaches its registry on this machine, and that this may be a mirror at a private address. */
function registryEnvironment(): Record<string, string> {
  const names = Object.keys(process.env).filter((name) =>
    /^(?:npm_config_|NODE_EXTRA_CA_CERTS$)/i.test(name),
  );
  const found = Object.fromEntries(names.map((name) => [name, process.env[name] ?? '']));
  return { ...found, BULLA_ALLOW_PRIVATE_REGISTRY: '1' };
}

test('a real server from the public registry is pinned, run and checked, whole', {
  timeout: 120_000,
}, async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'hello.txt'), 'hello');
  const env = registryEnvironment();
  const bulla = (...args: string[]) => bullaIn(folder, args, env);
  const spec = '@modelcontextprotocol/server-filesystem@2026.8.31';
  const locked = await bulla('lock', '--pin', '--', 'npx', '-y', spec, folder);
  expect([locked.status, locked.stderr]).toEqual([0, '']);
  const { artifact, tools } = readLock(readFileSync(join(folder, 'mcp-lock.json')));
  expect([artifact!.name, artifact!.version, tools.size]).toEqual([
    ...['@modelcontextprotocol/server-filesystem', '2026.8.31', 14],
  ]);
  const { packages } = artifact!.tree!;
  expect(packages.size).toBeGreaterThan(50);

  // From here on nothing is fetched: every address would be refused.
  const offline = { BULLA_HOME: join(folder, 'home'), BULLA_ALLOW_PRIVATE_REGISTRY: '' };
  const host = await hostOf(['run'], offline, folder);
  const listed = await host.listTools();
  expect(listed.tools.map(({ name }) => name).sort()).toEqual([...tools.keys()].sort());
  const read = await host.callTool({
    name: 'read_text_file',
    arguments: { path: join(folder, 'hello.txt') },
  });
  expect(read.content).toEqual([{ type: 'text', text: 'hello' }]);
  await host.close();

  const checked = await bullaIn(folder, ['check', '--pinned'], offline);
  expect([checked.status, checked.stderr]).toEqual([0, '']);
  const verified = await bulla('artifact', 'verify', '--json');
  expect([verified.status, JSON.parse(verified.stdout).packages]).toEqual([0, packages.size]);

  const cache = join(folder, 'home/cache');
  const file = join(cache, readdirSync(cache).at(-1)!);
  const bytes = readFileSync(file);
  bytes[bytes.length - 9]! ^= 0x10;
  writeFileSync(file, bytes);
  const tampered = await bullaIn(folder, ['run'], offline);
  expect([tampered.status, tampered.stdout, tampered.stderr.includes('integrity mismatch (')]).toEqual([
    1,
    '',
    true,
  ]);
});
