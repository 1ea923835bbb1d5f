import type { Code } from '../codes.ts';
/** Something that does not make a record bad, and where. */
export interface ChainNotice {
  /** That of a warning; `unauthenticated_field` for what the seal does not cover. */
  readonly code: Code;
  /** JSON Pointer of the place in the records. */
  readonly path: string;
  /** How many records have it. */
  readonly count: number;
  /** The place of the first of them, from 0. */
  readonly first: number;
}

/** Who writes the records chooses the names in them, so only so many different ones are kept; all are counted. */
const MAX_NOTICES = 200;

/** Collects what was noticed, once for each code and path. */
export function createNotices(from?: {
  readonly notices: readonly ChainNotice[];
  readonly moreNotices: number;
}): {
  add(code: Code, path: string, index: number): void;
  list(): { notices: ChainNotice[]; moreNotices: number };
} {
  const known = new Map((from?.notices ?? []).map((notice) => [`${notice.code} ${notice.path}`, notice]));
  let more = from?.moreNotices ?? 0;
  return {
    add(code, path, index) {
      const key = `${code} ${path}`;
      const found = known.get(key);
      if (found !== undefined) known.set(key, { ...found, count: found.count + 1 });
      else if (known.size < MAX_NOTICES) known.set(key, { code, path, count: 1, first: index });
      else more++;
    },
    list: () => ({ notices: [...known.values()], moreNotices: more }),
  };
}
