import type { Path } from '../json/index.ts';
import { normalized, skeleton } from '../text/index.ts';
import { type Problems, quoted } from './problems.ts';

/** A name of a list, with the place where it stands. */
export interface Named {
  readonly name: string;
  readonly at: Path;
}

/**
 * Tells of names that stand twice, of names that differ in nothing but case and invisible characters, and, as a
 * warning, of those that look alike otherwise. Takes linear time; each name is told with one other.
 */
export function checkNames(names: readonly Named[], what: 'tool' | 'scope', problems: Problems): void {
  const [exact, folded, looks] = [
    new Map<string, string>(),
    new Map<string, string>(),
    new Map<string, string>(),
  ];
  for (const { name, at } of names) {
    // A name that is missing or empty is told as that.
    if (name === '') continue;
    const isPlain = PLAIN.test(name);
    const fold = isPlain ? name : foldOf(name);
    const twin = folded.get(fold);
    if (exact.has(name)) {
      const message = `There are two ${what}s ${quoted(name)}.`;
      problems.add('MANIFEST_DUPLICATE', at, message, `Rename one of them: each ${what} has its own name.`);
      continue;
    }
    exact.set(name, name);
    folded.set(fold, twin ?? name);
    if (twin !== undefined) {
      const message = `${quoted(name)} and ${quoted(twin)} differ only in case or in characters that are not seen.`;
      problems.add(
        'MANIFEST_NAME_TWIN',
        at,
        message,
        'Rename one of them, so that a person can tell them apart.',
      );
      continue;
    }
    const look = isPlain ? plainLook(name) : skeleton(name);
    const like = looks.get(look);
    if (like === undefined) looks.set(look, name);
    else {
      const message = `${quoted(name)} can be taken for ${quoted(like)}.`;
      problems.warn('MANIFEST_NAME_CONFUSABLE', at, message, 'Choose names that do not look alike.');
    }
  }
}

const PLAIN = /^[a-z0-9_:]*$/;

function foldOf(name: string): string {
  return normalized(name, 'NFKC')
    .replace(/[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/gv, '')
    .toUpperCase()
    .toLowerCase();
}

/** The skeleton of plain names, which have few look-alikes: a test holds it to `skeleton`. */
export function plainLook(name: string): string {
  if (!ALIKE.test(name)) return name;
  return name.replace(/[il1]/g, 'l').replaceAll('0', 'o').replaceAll('rn', 'm').replaceAll('vv', 'w');
}
const ALIKE = /[il10]|rn|vv/;
