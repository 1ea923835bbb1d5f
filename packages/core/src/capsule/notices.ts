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

/** Limit on different names: the author of the records chooses them. All are counted. */
const MAX_NOTICES = 200;

/** Collects what was noticed, once for each code and path. */
export function createNotices(from?: {
  readonly notices: readonly ChainNotice[];
  readonly moreNotices: number;
}): {
  add(code: Code, path: string, index: number): void;
  list(): { notices: ChainNotice[]; moreNotices: number };
} {
  // By code, then by path: a key made of both for each of a million records would be most of the work.
  const known = new Map<string, Map<string, Writable>>();
  let size = 0;
  let more = from?.moreNotices ?? 0;
  const keep = (notice: ChainNotice) => {
    const paths = known.get(notice.code) ?? new Map<string, Writable>();
    known.set(notice.code, paths.set(notice.path, { ...notice }));
    size++;
  };
  for (const notice of from?.notices ?? []) keep(notice);
  return {
    add(code, path, index) {
      const found = known.get(code)?.get(path);
      if (found !== undefined) found.count++;
      else if (size < MAX_NOTICES) keep({ code, path, count: 1, first: index });
      else more++;
    },
    list: () => ({
      notices: [...known.values()].flatMap((paths) => [...paths.values()]).map((notice) => ({ ...notice })),
      moreNotices: more,
    }),
  };
}

type Writable = { -readonly [Key in keyof ChainNotice]: ChainNotice[Key] };
