import { pointer } from '../json/index.ts';

/** A place in a schema, and the argument that it speaks of. */
export interface Place {
  /** JSON Pointer into the new schema; into the old one for what is gone. */
  readonly path: string;
  /** Readable: `options.depth`, `files[]`, `headers.*`; empty for the whole input. */
  readonly argument: string;
}

export const ROOT: Place = { path: '', argument: '' };

/** A member of a map of schemas; the argument is the one of that name. */
export function atName(place: Place, keyword: string, name: string): Place {
  const simple = /^[A-Za-z_$][\w$-]*$/.test(name);
  const step = simple ? `${place.argument === '' ? '' : '.'}${name}` : `[${JSON.stringify(name)}]`;
  return { path: place.path + pointer([keyword, name]), argument: place.argument + step };
}
