import { dirname, join } from 'node:path';
import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { accessFile, type Disk, readIfThere, writeNewFile } from '../os/index.ts';

/**
 * How far a state has come, kept in a file of its own. A database that was put back to an older copy looks whole; this
 * file tells that it is older. Both put back together are not recognised.
 */
export interface Mark {
  /** The id of the state, drawn when it was made. */
  readonly state: string;
  /** How many changes the state has stored. */
  readonly serial: number;
  /** Drawn anew with each change, so that two states with as many changes differ. */
  readonly stamp: string;
}

/** The file of the mark that goes with a state. */
export function markFile(state: string): string {
  return join(dirname(state), 'witness.mark');
}

// Two slots, written in turn, each of one sector, which a disk writes whole or not at all: a crash can spoil the one that
// is being written, and the other one is older by one change only. No file is made or renamed for a change, because
// syncing the folder costs more than all else.
const SLOT = 512;
const LINE = /^bulla-witness-mark\/1 ([0-9a-f-]{36}) (0|[1-9][0-9]{0,14}) ([0-9a-f]{32}) *\n$/;

/** Reads a mark; null if there is no file. Throws `WITNESS_STATE_LOST` for a file that is no mark. */
export function readMark(file: string): Mark | null {
  const text = read(file);
  if (text === null) return null;
  const slots = text.length === 2 * SLOT ? [text.slice(0, SLOT), text.slice(SLOT)] : [];
  const [first, second] = slots.map(parse);
  const newest = first && second ? (first.serial > second.serial ? first : second) : (first ?? second);
  if (newest) return newest;
  throw lost(`${file} is damaged, so nobody can tell whether the state is the newest.`);
}

function read(file: string): string | null {
  return accessFile('WITNESS_STATE_FAILED', file, 'read', () => {
    const bytes = readIfThere(file);
    return bytes && Buffer.from(bytes).toString('latin1');
  });
}

function parse(slot: string): Mark | null {
  const [, state, serial, stamp] = LINE.exec(slot) ?? [];
  return state === undefined ? null : { state, serial: Number(serial), stamp: stamp! };
}

function format({ state, serial, stamp }: Mark): string {
  return `${`bulla-witness-mark/1 ${state} ${serial} ${stamp}`.padEnd(SLOT - 1)}\n`;
}

/** Makes the mark of a new state, durably. Throws `WITNESS_STATE_FAILED`. */
export function createMark(disk: Disk, file: string, mark: Mark): void {
  const draft = `${file}.new`;
  accessFile('WITNESS_STATE_FAILED', file, 'written', () => {
    disk.remove(draft); // a crash may have left it
    writeNewFile(disk, draft, toUtf8(format(mark).repeat(2)));
    disk.rename(draft, file);
    disk.syncDirectory(dirname(file));
  });
}

/** Moves the mark on, durably. Only who has the state locked may do this. Throws `WITNESS_STATE_FAILED`. */
export function writeMark(disk: Disk, file: string, mark: Mark): void {
  const before = read(file);
  if (before?.length !== 2 * SLOT) throw lost(`${file} is missing or damaged.`);
  const [first, second] = [before.slice(0, SLOT), before.slice(SLOT)];
  // The older one is replaced, or the one that a crash spoiled.
  const isFirst = (parse(first)?.serial ?? -1) <= (parse(second)?.serial ?? -1);
  accessFile('WITNESS_STATE_FAILED', file, 'written', () => {
    const output = disk.open(file);
    try {
      disk.write(output, Buffer.from(isFirst ? format(mark) + second : first + format(mark), 'latin1'));
      disk.sync(output);
    } finally {
      disk.close(output);
    }
  });
}

/** The refusal to go on with a key whose state is gone, older or damaged. */
export function lost(why: string, cause?: unknown): BullaError {
  return new BullaError(
    'WITNESS_STATE_LOST',
    `${why} A witness that does not know all that it cosigned can cosign two histories of one log. If the newest state is elsewhere, such as on the disk of a former host, put it back; else begin as another witness: another name, and a --state in an empty folder, where it makes another key.`,
    { cause },
  );
}
