import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { toUtf8 } from '@bulla/core/crypto';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { type Disk, realDisk } from './disk.ts';
import { findInput, LIMITS, readInput, replaceFile } from './index.ts';

const codeOf = (run: () => unknown): unknown => {
  try {
    run();
  } catch (error) {
    return (error as { code?: string }).code;
  }
  return null;
};

/** A disk on which the step of this number fails, before it does anything or after it is done. */
function failing(step: number, isDone: boolean): { disk: Disk; steps: () => number } {
  let count = 0;
  const wrap =
    <Args extends unknown[], Result>(action: (...args: Args) => Result) =>
    (...args: Args): Result => {
      const fails = count++ === step;
      if (fails && !isDone) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
      const result = action(...args);
      if (fails) throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
      return result;
    };
  const { create, write, sync, close, rename, syncDirectory } = realDisk;
  const disk = {
    ...realDisk,
    create: wrap(create),
    write: wrap(write),
    sync: wrap(sync),
    close: wrap(close),
    rename: wrap(rename),
    syncDirectory: wrap(syncDirectory),
  };
  return { disk, steps: () => count };
}

describe('replacing a file', () => {
  test('makes it, keeps its mode, and leaves nothing beside it', () => {
    const folder = temporaryFolder();
    const file = join(folder, 'a');
    replaceFile(file, toUtf8('one'));
    expect(statSync(file).mode & 0o777 & ~0o644).toBe(0);
    chmodSync(file, 0o640);
    replaceFile(file, toUtf8('two'));
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual(['two', 0o640]);
    expect(readdirSync(folder)).toEqual(['a']);
  });

  test('follows a link, and refuses what is no file', () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'there'));
    writeFileSync(join(folder, 'there', 'a'), 'one');
    symlinkSync(join('there', 'a'), join(folder, 'a'));
    replaceFile(join(folder, 'a'), toUtf8('two'));
    expect(readFileSync(join(folder, 'there', 'a'), 'utf8')).toBe('two');
    expect(readdirSync(join(folder, 'there'))).toEqual(['a']);
    expect(codeOf(() => replaceFile(join(folder, 'there'), toUtf8('x')))).toBe('FILE_UNWRITABLE');
    expect(codeOf(() => replaceFile(join(folder, 'no', 'a'), toUtf8('x')))).toBe('FILE_UNWRITABLE');
  });

  test('a step that fails, whether it was done or not, leaves one of the two whole, and nothing else', () => {
    const { disk, steps } = failing(-1, false);
    replaceFile(join(temporaryFolder(), 'a'), toUtf8('two'), disk);
    const total = steps();
    expect(total).toBe(6);
    for (let step = 0; step < total; step++) {
      for (const isDone of [false, true]) {
        const folder = temporaryFolder();
        const file = join(folder, 'a');
        writeFileSync(file, 'one');
        const code = codeOf(() => replaceFile(file, toUtf8('two'), failing(step, isDone).disk));
        // The rename is the moment of change, and the folder is synced after it.
        const isNew = step === total - 1 || (step === total - 2 && isDone);
        expect([step, isDone, readFileSync(file, 'utf8')]).toEqual([step, isDone, isNew ? 'two' : 'one']);
        expect(code).toBe(step === total - 1 ? null : 'FILE_UNWRITABLE');
        expect(readdirSync(folder)).toEqual(['a']);
      }
    }
  });
});

describe('reading a file', () => {
  test('ends at the limit, whatever the file says of its size', () => {
    const file = join(temporaryFolder(), 'a');
    writeFileSync(file, 'four');
    expect(Buffer.from(readInput(file, 'key')).toString()).toBe('four');
    writeFileSync(file, new Uint8Array(LIMITS.key));
    expect(readInput(file, 'key').length).toBe(LIMITS.key);
    writeFileSync(file, new Uint8Array(LIMITS.key + 1));
    expect(codeOf(() => readInput(file, 'key'))).toBe('INPUT_TOO_LARGE');
    expect(codeOf(() => findInput(file, 'key'))).toBe('INPUT_TOO_LARGE');
    expect(readInput(file, 'document').length).toBe(LIMITS.key + 1);
    if (existsSync('/dev/zero')) expect(codeOf(() => readInput('/dev/zero', 'key'))).toBe('INPUT_TOO_LARGE');
  });

  test('tells what is not there from what cannot be read', () => {
    const folder = temporaryFolder();
    expect(findInput(join(folder, 'a'), 'key')).toBe(null);
    expect(codeOf(() => readInput(join(folder, 'a'), 'key'))).toBe('INPUT_UNREADABLE');
    expect(codeOf(() => findInput(folder, 'document'))).toBe('INPUT_UNREADABLE');
  });
});
