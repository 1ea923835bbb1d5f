import type { Code } from '../codes.ts';
import { type Path, pointer } from '../json/index.ts';
import { visible } from '../text/index.ts';

/** Something in a manifest that must be mended, or that a person should look at. */
export interface ManifestProblem {
  /** One of `MANIFEST_…`; `JSON_…` or `CANON_…` for a text that is not exactly JSON or cannot be hashed. */
  readonly code: Code;
  /** JSON Pointer to what is wrong, or to where it is missing. */
  readonly path: string;
  /** A sentence. What it quotes of the manifest is visible and cannot end a line. */
  readonly message: string;
  /** How to mend it. */
  readonly hint: string;
  /** Where it stands in the text, in bytes; known where the text was given. */
  readonly offset?: number;
}

/** More than this are counted, not listed. */
const MAX_PROBLEMS = 1000;

/** Collects problems, so that all are told at once. */
export class Problems {
  readonly problems: ManifestProblem[] = [];
  readonly warnings: ManifestProblem[] = [];
  /** How many problems there are, those that are not listed among them. */
  count = 0;

  /** Something that must be mended. */
  add(code: Code, at: Path, message: string, hint: string): void {
    if (this.count++ < MAX_PROBLEMS) this.problems.push({ code, path: pointer(at), message, hint });
  }

  /** Something that is permitted and worth a look. */
  warn(code: Code, at: Path, message: string, hint: string): void {
    if (this.warnings.length < MAX_PROBLEMS) this.warnings.push({ code, path: pointer(at), message, hint });
  }
}

const MAX_QUOTE = 80;

/** A text of the manifest's in quotation marks: each character is seen, and a long one is cut. */
export function quoted(text: string): string {
  const short =
    text.length > MAX_QUOTE ? `${Array.from(text.slice(0, MAX_QUOTE)).slice(0, -1).join('')}…` : text;
  return `"${visible(short)}"`;
}

/** `a`, `a and b`, `a, b and c`. */
export function listed(words: readonly string[], last = 'and'): string {
  if (words.length < 2) return words.join('');
  return `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;
}
