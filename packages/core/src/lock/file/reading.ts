import { BullaError } from '../../error.ts';
import { type JsonValue, Member, oneCode, type Path, pointer } from '../../json/index.ts';

const CODES = { ...oneCode('LOCK_FIELD').codes, twin: 'LOCK_CASE_TWIN' } as const;

/** A part of a lockfile, to be read strictly. */
export function strictly(value: JsonValue | undefined, at: Path = []): Member {
  return new Member(value, { codes: CODES }, at);
}

export function inconsistent(at: Path, what: string): BullaError {
  return new BullaError('LOCK_INCONSISTENT', `The lock contradicts itself: what is here ${what}.`, {
    path: pointer(at),
  });
}

/** What `read` makes of each member of an object, by name. */
export function readMap<Value>(
  member: Member,
  read: (entry: Member, name: string) => Value,
): Map<string, Value> {
  return new Map(member.entries().map(([name, entry]) => [name, read(entry, name)]));
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
