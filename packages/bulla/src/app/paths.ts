import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { OPERATOR_FILE } from '../consent/index.ts';
import { dataDirectory } from '../os/index.ts';
import { POLICY_FILE } from '../witness/index.ts';

/** Where the parts of a data directory lie. */
export interface Paths {
  readonly home: string;
  /** A file, or `postgres://…`. */
  readonly store: string;
  readonly keys: string;
  /** The policy that names the witnesses. */
  readonly witnesses: string;
  /** What the operator decides about consent. */
  readonly operator: string;
  /** The tokens of sign-ins. */
  readonly oauth: string;
  /** Locks that were made for the clients of this user. */
  readonly locks: string;
  /** Tarballs of pinned packages, and these packages unpacked. */
  readonly cache: string;
  readonly trees: string;
}

/** The data directory of this process. Throws `HOME_NOT_ABSOLUTE`. */
export function defaultHome(): string {
  return dataDirectory(process.env, process.platform, homedir());
}

/** The paths in a data directory; a store and a keyring may lie elsewhere. */
export function pathsOf(
  home: string = defaultHome(),
  { store, keys }: { readonly store?: string | undefined; readonly keys?: string | undefined } = {},
): Paths {
  return {
    home,
    store: store ?? join(home, 'store.db'),
    keys: keys ?? join(home, 'keys'),
    witnesses: join(home, POLICY_FILE),
    operator: join(home, OPERATOR_FILE),
    oauth: join(home, 'oauth'),
    locks: join(home, 'locks'),
    cache: join(home, 'cache'),
    trees: join(home, 'trees'),
  };
}

/** Files and folders that are for their owner alone, whether they are there or not. */
export function privateFiles({ home, store, keys }: Paths): string[] {
  const folders = [`${store}.checkpoints`, keys].flatMap(withContents);
  return [home, store, `${store}-wal`, `${store}-shm`, ...folders, join(home, 'installation')];
}

/** A folder and what lies in it. */
export function withContents(folder: string): string[] {
  try {
    const names = readdirSync(folder).sort();
    return [folder, ...names.map((name) => join(folder, name))];
  } catch {
    return [folder];
  }
}
