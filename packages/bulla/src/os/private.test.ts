import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { createPrivateFile, findLoose, tightenCommand } from './private.ts';

test('a private file is made once, for its owner alone', () => {
  const file = join(temporaryFolder(), 'a');
  createPrivateFile(file);
  writeFileSync(file, 'kept');
  createPrivateFile(file);
  const { mode, size } = statSync(file);
  expect([mode & 0o777, size]).toEqual([0o600, 4]);
  expect(() => createPrivateFile(join(file, 'b'))).toThrow(expect.objectContaining({ code: 'ENOTDIR' }));
});

test('what others can read or write is found, with the command that mends it', () => {
  const folder = temporaryFolder();
  const paths = ['600', '640', "it's 644", 'none'].map((name) => join(folder, name));
  for (const [i, mode] of [0o600, 0o640, 0o644].entries()) {
    writeFileSync(paths[i]!, '');
    chmodSync(paths[i]!, mode);
  }
  const folders = [0o755, 0o777].map((mode) => {
    const path = join(folder, mode.toString(8));
    mkdirSync(path);
    chmodSync(path, mode);
    return path;
  });
  const found = findLoose([...paths, ...folders, join(paths[0]!, 'below a file')]);
  expect(found).toEqual([
    { path: paths[1], mode: 0o640 },
    { path: paths[2], mode: 0o644 },
    { path: folders[1], mode: 0o777 },
  ]);
  expect(tightenCommand(found)).toBe(`chmod go= ${folder}/640 '${folder}/it'\\''s 644' ${folder}/777`);
});
