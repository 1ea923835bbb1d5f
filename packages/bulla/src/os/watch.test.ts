import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { digestsOf, watchFiles } from './watch.ts';

/** Watches files; `next` resolves with the number of changes that were told by then. */
function watched(files: string[], everyMs = 3_600_000) {
  let count = 0;
  let waiting = Promise.withResolvers<number>();
  const watching = watchFiles(
    digestsOf(files),
    () => {
      waiting.resolve(++count);
      waiting = Promise.withResolvers();
    },
    { quietMs: 20, everyMs },
  );
  onTestFinished(() => watching.close());
  return {
    watching,
    /** Does something, and waits until a change is told. */
    async after(change: () => void): Promise<number> {
      const { promise } = waiting;
      change();
      return promise;
    },
  };
}

test('a file is told once for each new content, however it comes', async () => {
  const file = join(temporaryFolder(), 'a.json');
  writeFileSync(file, '1');
  const { after } = watched([file]);
  expect(await after(() => writeFileSync(file, '2'))).toBe(1);
  // As editors do: beside it, and then in its place.
  expect(
    await after(() => {
      writeFileSync(`${file}.tmp`, '3');
      renameSync(`${file}.tmp`, file);
    }),
  ).toBe(2);
  expect(await after(() => rmSync(file))).toBe(3);
  expect(await after(() => writeFileSync(file, '4'))).toBe(4);
  // What says the same is no change: only the next one is told.
  writeFileSync(file, '4');
  utimesSync(file, 1, 1);
  expect(await after(() => writeFileSync(file, '5'))).toBe(5);
});

test('a link is followed, also when a folder on its way is exchanged', async () => {
  const folder = temporaryFolder();
  for (const name of ['one', 'two']) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'a.json'), name);
  }
  symlinkSync('one', join(folder, '..data'));
  symlinkSync(join('..data', 'a.json'), join(folder, 'a.json'));
  const { after } = watched([join(folder, 'a.json')]);
  expect(
    await after(() => {
      symlinkSync('two', join(folder, '..next'));
      renameSync(join(folder, '..next'), join(folder, '..data'));
    }),
  ).toBe(1);
  expect(await after(() => writeFileSync(join(folder, 'two', 'a.json'), 'three'))).toBe(2);
});

test('what is not told of is looked at from time to time', async () => {
  const file = join(temporaryFolder(), 'later', 'a.json');
  const { after } = watched([file], 50);
  expect(
    await after(() => {
      mkdirSync(join(file, '..'));
      writeFileSync(file, '1');
    }),
  ).toBe(1);
});

test('other files can be watched instead, and what changed since they were seen is told', async () => {
  const folder = temporaryFolder();
  const [a, b] = [join(folder, 'a'), join(folder, 'b')];
  writeFileSync(a, '1');
  writeFileSync(b, '1');
  const { watching, after } = watched([a]);
  const seen = digestsOf([a, b]);
  writeFileSync(b, '2');
  expect(await after(() => watching.set(seen))).toBe(1);
  expect(await after(() => writeFileSync(a, '2'))).toBe(2);
});
