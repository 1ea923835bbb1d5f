import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CHANGE_CODES, readManifest } from '@bulla/core/manifest';
import { expect, test } from 'vitest';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const text = readFileSync(join(root, 'docs/manifests.md'), 'utf8');

test('the examples of docs/manifests.md end as they say', () => {
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map((match) => match[1]!);
  expect(blocks.length).toBe(4);
  const shown = blocks.flatMap((block) => [...block.matchAll(/^# (.*)$/gm)].map((match) => match[1]!));
  expect(shown.length).toBe(15);
  const { status, stdout, stderr } = spawnSync('sh', ['-c', `set -e\n${blocks.join('')}rm -r "$D"\n`], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
  });
  expect([status, stderr]).toEqual([0, '']);
  for (const line of shown) expect(stdout).toContain(line.trim());
});

test('the JSON of docs/manifests.md is a manifest', () => {
  const [, json] = /^```json\n([\s\S]*?)^```$/m.exec(text)!;
  expect(readManifest(json!).tools.length).toBe(1);
});

test('the table of docs/manifests.md is the one that decides', () => {
  const rows = Object.entries(CHANGE_CODES).map(([code, { breaking, by, reason }]) => {
    const decision = breaking ? 'breaking' : 'not breaking';
    return `| \`${code}\` | ${decision} | ${by === 'specification' ? by : 'ours'} | ${reason} |`;
  });
  expect(text).toContain(`|---|---|---|---|\n${rows.join('\n')}\n\n`);
});

test('docs/manifests.md names every problem that is told', () => {
  const folder = join(root, 'packages/core/src/manifest');
  const sources = readdirSync(folder).filter((name) => !name.endsWith('.test.ts'));
  const codes = new Set(
    sources.flatMap(
      (name) => readFileSync(join(folder, name), 'utf8').match(/(?<=')MANIFEST_[A-Z_]+(?=')/g) ?? [],
    ),
  );
  // Thrown to the store, never told of a text.
  codes.delete('MANIFEST_VERSION');
  for (const code of codes) if (code.startsWith('MANIFEST_BINDING')) codes.delete(code);
  for (const code of codes) expect(text).toContain(`\`${code}\``);
});
