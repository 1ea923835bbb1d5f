import { BullaError } from '../error.ts';

/** Throws `CAPABILITY_ARGUMENT` for what cannot name anything: no text, an empty one, or half a surrogate pair in it. */
export function checkName(name: unknown, what: string, path = '/name'): asserts name is string {
  if (!isText(name) || name === '') wrongArgument(`${what} is a text that is not empty.`, path);
}

/** Throws `CAPABILITY_ARGUMENT`. */
export function wrongArgument(message: string, path: string): never {
  throw new BullaError('CAPABILITY_ARGUMENT', message, { path });
}

/** Whether something is a text that can be written as UTF-8. */
export function isText(text: unknown): text is string {
  return typeof text === 'string' && text.isWellFormed();
}

/** A list of lines that cannot change. Throws `CAPABILITY_ARGUMENT`. */
export function lineList(lines: readonly string[]): readonly string[] {
  if (!Array.isArray(lines) || !lines.every(isText))
    wrongArgument('Instructions are a list of texts, without half surrogate pairs.', '/instructions');
  return Object.freeze([...lines]);
}

/** The message of what was thrown, which can be anything. */
export function messageOf(thrown: unknown, otherwise: string): string {
  return thrown instanceof Error ? thrown.message : typeof thrown === 'string' ? thrown : otherwise;
}
