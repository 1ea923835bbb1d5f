import { copyFileSync, cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../../test/run.ts';
import { testLog } from '../../test/witness-log.ts';
import { cosignedSize } from '../../test/witness-server.ts';
import { type Disk, realDisk } from '../os/index.ts';
import { type OpenedWitness, openWitness, readLogs } from './index.ts';

const NAME = 'witness.example/w1';
const log = testLog();
const fork = testLog({ view: 'fork' });

function open(folder: string, more: { name?: string; mlDsa?: boolean; disk?: Disk } = {}): OpenedWitness {
  const witness = openWitness({
    ...{ name: NAME, state: join(folder, 'state.db'), ...more },
    logs: () => readLogs([log.vkey]),
    now: () => new Date(),
  });
  onTestFinished(() => witness.close());
  return witness;
}

async function cosign(witness: OpenedWitness, ...sizes: number[]): Promise<void> {
  for (const size of sizes) {
    const known = sizeOf(witness) ?? 0;
    expect((await witness.addCheckpoint(await log.request(known, size))).status).toBe(200);
  }
}

const sizeOf = (witness: OpenedWitness) => cosignedSize(witness, log.origin);

/** What a witness tells and does after a start: the code of its refusal, or the size that it knows. */
async function restarted(folder: string, more: { mlDsa?: boolean } = {}): Promise<string | number | null> {
  let witness: OpenedWitness;
  try {
    witness = open(folder, more);
  } catch (error) {
    return (error as { code: string }).code;
  }
  const size = sizeOf(witness);
  // Whatever it remembers, it never cosigns a second tree of a size that it remembers.
  if (size !== null) expect((await witness.addCheckpoint(await fork.request(size, size))).status).toBe(422);
  await witness.close();
  return size;
}

describe('a key whose state is not the newest', () => {
  /** A folder in which 7 records were cosigned, and copies of it from when it was 5 and 6. */
  async function history(): Promise<{ folder: string; at: (size: number, name: string) => string }> {
    const root = temporaryFolder();
    const folder = join(root, 'now');
    const witness = open(folder);
    for (const size of [5, 6, 7]) {
      await cosign(witness, size);
      cpSync(folder, join(root, String(size)), { recursive: true });
    }
    await witness.close();
    return { folder, at: (size, name) => join(root, String(size), name) };
  }
  const file = (folder: string, name: string) => join(folder, name);

  test.for<[string, (folder: string, at: (size: number, name: string) => string) => void, string | number]>([
    ['nothing happened', () => undefined, 7],
    ['the state is gone', (f) => rmSync(file(f, 'state.db')), 'WITNESS_STATE_LOST'],
    ['the state is empty', (f) => truncateSync(file(f, 'state.db')), 'WITNESS_STATE_LOST'],
    ['the state is cut off', (f) => truncateSync(file(f, 'state.db'), 8192), 'WITNESS_STATE_LOST'],
    ['the state is noise', (f) => writeFileSync(file(f, 'state.db'), 'x'.repeat(8192)), 'WITNESS_STATE_LOST'],
    [
      'the state is older by one',
      (f, at) => copyFileSync(at(6, 'state.db'), file(f, 'state.db')),
      'WITNESS_STATE_LOST',
    ],
    [
      'the state is older by two',
      (f, at) => copyFileSync(at(5, 'state.db'), file(f, 'state.db')),
      'WITNESS_STATE_LOST',
    ],
    // What was copied while it ran is whole: a commit is in the file itself.
    ['the state is a copy of the newest', (f, at) => copyFileSync(at(7, 'state.db'), file(f, 'state.db')), 7],
    ['the mark is gone', (f) => rmSync(file(f, 'witness.mark')), 'WITNESS_STATE_LOST'],
    ['the mark is empty', (f) => truncateSync(file(f, 'witness.mark')), 'WITNESS_STATE_LOST'],
    ['the mark is cut off', (f) => truncateSync(file(f, 'witness.mark'), 60), 'WITNESS_STATE_LOST'],
    ['the mark is half', (f) => truncateSync(file(f, 'witness.mark'), 512), 'WITNESS_STATE_LOST'],
    [
      'the mark is noise',
      (f) => writeFileSync(file(f, 'witness.mark'), 'x'.repeat(1024)),
      'WITNESS_STATE_LOST',
    ],
    ['the mark is older', (f, at) => copyFileSync(at(5, 'witness.mark'), file(f, 'witness.mark')), 7],
    ['the key is gone', (f) => rmSync(file(f, 'witness.key')), 'WITNESS_STATE_OTHER'],
    ['the key is empty', (f) => truncateSync(file(f, 'witness.key')), 'WITNESS_KEY'],
    [
      'all but the key is gone',
      (f) => ['state.db', 'witness.mark'].map((name) => rmSync(file(f, name))),
      'WITNESS_STATE_LOST',
    ],
    [
      'the state is empty and the mark gone',
      (f) => {
        truncateSync(file(f, 'state.db'));
        rmSync(file(f, 'witness.mark'));
      },
      'WITNESS_STATE_LOST',
    ],
    [
      'the state is empty and the key gone',
      (f) => {
        truncateSync(file(f, 'state.db'));
        rmSync(file(f, 'witness.key'));
      },
      'WITNESS_STATE_LOST',
    ],
  ])('%s', async ([, happen, expected]) => {
    const { folder, at } = await history();
    happen(folder, at);
    expect(await restarted(folder)).toBe(expected);
    // A refusal changes nothing: the next start says the same.
    expect(await restarted(folder)).toBe(expected);
  });

  test('the refusal says what to do', async () => {
    const { folder, at } = await history();
    copyFileSync(at(6, 'state.db'), join(folder, 'state.db'));
    expect(() => open(folder)).toThrow(
      `${join(folder, 'state.db')} holds 2 changes, but ${join(folder, 'witness.mark')} says that it held 3. A witness that does not know all that it cosigned can cosign two histories of one log. If the newest state is elsewhere, such as on the disk of a former host, put it back; else begin as another witness: another name, and a --state in an empty folder, where it makes another key.`,
    );
  });

  test('an older copy that is put in place while the witness runs is found at the next request', async () => {
    const { folder, at } = await history();
    const errors: unknown[] = [];
    const witness = openWitness({
      ...{ name: NAME, state: join(folder, 'state.db'), now: () => new Date() },
      logs: () => readLogs([log.vkey]),
      onError: (error) => errors.push(error),
    });
    onTestFinished(() => witness.close());
    writeFileSync(join(folder, 'state.db'), readFileSync(at(5, 'state.db')));
    expect((await witness.addCheckpoint(await log.request(5, 6))).status).toBe(500);
    expect(errors).toEqual([expect.objectContaining({ code: 'WITNESS_STATE_LOST' })]);
  });
});

describe('a state is of one witness', () => {
  test('with as many changes, the state of another lineage is refused', async () => {
    const [a, b] = [temporaryFolder(), temporaryFolder()];
    await cosign(open(a), 5);
    await open(a).close();
    cpSync(a, b, { recursive: true });
    for (const folder of [a, b]) {
      const witness = open(folder);
      await cosign(witness, 6);
      await witness.close();
    }
    copyFileSync(join(b, 'state.db'), join(a, 'state.db'));
    expect(await restarted(a)).toBe('WITNESS_STATE_LOST');
  });

  test('the state of another key is refused, with and without its mark', async () => {
    const [a, b] = [temporaryFolder(), temporaryFolder()];
    for (const folder of [a, b]) {
      const witness = open(folder);
      await cosign(witness, 5);
      await witness.close();
    }
    copyFileSync(join(b, 'state.db'), join(a, 'state.db'));
    expect(await restarted(a)).toBe('WITNESS_STATE_LOST');
    copyFileSync(join(b, 'witness.mark'), join(a, 'witness.mark'));
    expect(await restarted(a)).toBe('WITNESS_STATE_OTHER');
    copyFileSync(join(b, 'witness.key'), join(a, 'witness.key'));
    expect(await restarted(a)).toBe(5);
  });

  test('an ML-DSA-44 key that the state does not name is refused', async () => {
    const [a, b] = [temporaryFolder(), temporaryFolder()];
    await open(a).close();
    await open(b, { mlDsa: true }).close();
    copyFileSync(join(b, 'witness-ml-dsa.key'), join(a, 'witness-ml-dsa.key'));
    expect(await restarted(a, { mlDsa: true })).toBe('WITNESS_STATE_OTHER');
    rmSync(join(b, 'witness-ml-dsa.key'));
    expect(await restarted(b, { mlDsa: true })).toBe('WITNESS_STATE_OTHER');
    expect(await restarted(b)).toBe(null);
  });
});

/** A disk that shows what a kill would leave after each change, and in the middle of a write. */
function watched(look: () => void): Disk {
  const change = <A extends unknown[], R>(work: (...args: A) => R) => {
    return (...args: A): R => {
      const result = work(...args);
      look();
      return result;
    };
  };
  return {
    ...realDisk,
    create: change(realDisk.create),
    write: change((file, bytes) => {
      realDisk.write(file, bytes.subarray(0, bytes.length >> 1));
      look();
      realDisk.write(file, bytes.subarray(bytes.length >> 1));
    }),
    sync: change(realDisk.sync),
    rename: change(realDisk.rename),
    remove: change(realDisk.remove),
    syncDirectory: change(realDisk.syncDirectory),
  };
}

describe('a kill at every write', () => {
  /** Copies of the folder as it was at each step, in order. */
  function snapshots(folder: string): { look: () => void; taken: string[] } {
    const root = temporaryFolder();
    const taken: string[] = [];
    const look = () => {
      const copy = join(root, String(taken.length));
      cpSync(folder, copy, { recursive: true });
      taken.push(copy);
    };
    return { look, taken };
  }

  test('of the first start: the next one begins, with a state and a key that go together', async () => {
    const folder = temporaryFolder();
    const { look, taken } = snapshots(folder);
    await open(folder, { mlDsa: true, disk: watched(look) }).close();
    expect(taken.length).toBeGreaterThan(20);
    for (const copy of taken) {
      const witness = open(copy);
      await cosign(witness, 3);
      await witness.close();
      expect(await restarted(copy, { mlDsa: true })).toBe(3);
    }
  });

  test('of a cosignature: the next start goes on where it was, or one further', async () => {
    const folder = temporaryFolder();
    const first = open(folder);
    await cosign(first, 5);
    await first.close();
    const { look, taken } = snapshots(folder);
    const witness = open(folder, { disk: watched(look) });
    look();
    await cosign(witness, 6);
    look();
    const sizes = [];
    for (const copy of taken) sizes.push(await restarted(copy));
    expect(sizes.length).toBeGreaterThan(4);
    expect(sizes).toEqual([5, ...Array(sizes.length - 1).fill(6)]);
  });

  test.each([0, 512])(
    'of a mark that is torn at %i: the other half is older by one, and is moved on',
    async (at) => {
      const folder = temporaryFolder();
      const first = open(folder);
      await cosign(first, 5, 6, 7);
      await first.close();
      const mark = join(folder, 'witness.mark');
      writeFileSync(mark, readFileSync(mark).fill(0, at, at + 512));
      const witness = open(folder);
      await cosign(witness, 8);
      const newest = readFileSync(join(folder, 'state.db'));
      await cosign(witness, 9);
      await witness.close();
      expect(await restarted(folder)).toBe(9);
      writeFileSync(join(folder, 'state.db'), newest);
      expect(await restarted(folder)).toBe('WITNESS_STATE_LOST');
    },
  );

  test('of a failing disk: what is not marked is not answered', async () => {
    const folder = temporaryFolder();
    await open(folder).close();
    const full = () => {
      throw Object.assign(new Error('full'), { code: 'ENOSPC' });
    };
    const errors: unknown[] = [];
    const witness = openWitness({
      ...{ name: NAME, state: join(folder, 'state.db'), now: () => new Date() },
      logs: () => readLogs([log.vkey]),
      onError: (error) => errors.push((error as { code: string }).code),
      disk: { ...realDisk, sync: full },
    });
    expect((await witness.addCheckpoint(await log.request(0, 5))).status).toBe(503);
    expect(errors).toEqual(['WITNESS_STATE_FAILED']);
    await witness.close();
    expect(await restarted(folder)).toBe(5);
  });

  test('of a commit whose journal is whole, cut off anywhere, or gone', async () => {
    const folder = temporaryFolder();
    const first = open(folder);
    await cosign(first, 5, 6, 7);
    await first.close();
    // A change that is half in the file: the pages that do not fit into the cache are written before the commit.
    const state = join(folder, 'state.db');
    const db = new Database(state);
    onTestFinished(() => void db.close());
    db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE');
    db.exec('UPDATE witness SET serial = 4');
    db.exec("UPDATE log SET serial = 4, size = 9, note = 'x'");
    const noise = db.prepare(
      `INSERT INTO evidence (kind, origin, size, root, note, against, time, serial) VALUES ('behind', 'o', ?, x'00', ?, '', 1, 4)`,
    );
    for (let i = 0; i < 20; i++) noise.run(i, 'n'.repeat(3000));
    const journal = readFileSync(`${state}-journal`);
    expect(journal.subarray(0, 8).toString('hex')).toBe('d9d505f920a163d7');
    expect(journal.length).toBeGreaterThan(4096);
    const copied = (length: number): string => {
      const copy = temporaryFolder();
      for (const name of ['state.db', 'witness.key', 'witness.mark']) {
        copyFileSync(join(folder, name), join(copy, name));
      }
      if (length > 0) writeFileSync(join(copy, 'state.db-journal'), journal.subarray(0, length));
      return copy;
    };
    expect(await restarted(copied(journal.length))).toBe(7);
    for (const part of [0.75, 0.5, 0.25, 0.1, 0]) {
      // Without its journal a change may be there in part or whole; what was answered is never forgotten.
      const outcome = await restarted(copied(Math.floor(journal.length * part)));
      expect([7, 9, 'WITNESS_STATE_LOST']).toContain(outcome);
    }
  });
});
