import { BullaError } from '../../error.ts';
import { type JsonValue, Member, type Path, pointer, type Reading } from '../../json/index.ts';

const CODES = {
  type: 'LOCK_FIELD',
  unknown: 'LOCK_FIELD',
  missing: 'LOCK_FIELD',
  twin: 'LOCK_CASE_TWIN',
} as const;

/**
 * How a lockfile is read: strictly or, where a list for them is given, passing over unknown keys and missing hashes of
 * a tool, as the released program does.
 */
export function lockReading(ignored?: string[]): Reading {
  return { codes: CODES, ...(ignored && { ignored }) };
}

/** A part of a lockfile, to be read strictly. */
export function strictly(value: JsonValue | undefined, at: Path = []): Member {
  return new Member(value, lockReading(), at);
}

/** What is thrown for a lock that says two things. */
export function inconsistent(at: Path, what: string): BullaError {
  return new BullaError('LOCK_INCONSISTENT', `The lock contradicts itself: what is here ${what}.`, {
    path: pointer(at),
  });
}

/** Runs `run`, and says of a canonical form that it refuses where in the whole the offence stands. */
export function located<Result>(at: Path, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof BullaError) || !error.code.startsWith('CANON_')) throw error;
    throw new BullaError(error.code, error.message, { path: pointer(at) + (error.path ?? '') });
  }
}
