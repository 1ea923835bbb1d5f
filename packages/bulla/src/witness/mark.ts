import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type Disk, writeNewFile } from '../keys/index.ts';

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

const LINE = /^bulla-witness-mark\/1 ([0-9a-f-]{36}) (0|[1-9][0-9]{0,14}) ([0-9a-f]{32})\n$/;

/** Reads a mark; null if there is no file. Throws `WITNESS_STATE_LOST` for a file that is no mark. */
export function readMark(file: string): Mark | null {
  let text: string;
  try {
    text = readFileSync(file, 'latin1');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw new BullaError('WITNESS_STATE_FAILED', `${file} cannot be read (${code}).`, { cause });
  }
  const [, state, serial, stamp] = LINE.exec(text) ?? [];
  if (state === undefined)
    throw lost(`${file} is damaged, so nobody can tell whether the state is the newest.`);
  return { state, serial: Number(serial), stamp: stamp! };
}

/** Replaces the mark, durably. Only who has the state locked may do this. Throws `WITNESS_STATE_FAILED`. */
export function writeMark(disk: Disk, file: string, { state, serial, stamp }: Mark): void {
  const draft = `${file}.new`;
  try {
    disk.remove(draft); // a crash may have left it
    writeNewFile(disk, draft, toUtf8(`bulla-witness-mark/1 ${state} ${serial} ${stamp}\n`));
    disk.rename(draft, file);
    disk.syncDirectory(dirname(file));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new BullaError('WITNESS_STATE_FAILED', `${file} cannot be written (${code}).`, { cause });
  }
}

/** The refusal to go on with a key whose state is gone, older or damaged. */
export function lost(why: string, cause?: unknown): BullaError {
  return new BullaError(
    'WITNESS_STATE_LOST',
    `${why} A witness that does not know all that it cosigned can cosign two histories of one log. If the newest state is elsewhere, such as on the disk of a former host, put it back; else begin as another witness: another name, and a --state in an empty folder, where it makes another key.`,
    { cause },
  );
}
