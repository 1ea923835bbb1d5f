import { runnerOf } from './runner.ts';

/** What stands in place of a value that may be a secret. */
export const HIDDEN = '…';

const SECRET_NAME =
  /key|token|secret|pass|pwd|auth|cred|bearer|cookie|session|sign|private|dsn|conn|account|\bpat\b/i;
const OPTION = /^--[A-Za-z][A-Za-z0-9.-]*$/;
const EXTENSION =
  /\.(?:[cm]?[jt]sx?|py|json[c5]?|toml|ya?ml|sh|jar|exe|cmd|bat|ps1|rb|go|db|sqlite3?|txt|wasm|dll)$/i;

/**
 * The words of a command as they may be shown. What is shown is only what is known to be harmless: options, paths,
 * packages, images, ordinary words and small numbers; every other word, or the part of it that may be a secret, becomes
 * `…`. A secret that reads as an ordinary word is known by the option or the name before it, and else by nothing.
 */
export function shownWords(command: string, args: readonly string[]): string[] {
  const spec = runnerOf(command, args)?.at ?? null;
  return [command, ...args].map((word, i, words) => {
    if (i === 0) return isProgram(word) ? word : shownWord(word);
    const before = words[i - 1]!;
    if (before.startsWith('-') && !before.includes('=') && SECRET_NAME.test(before)) return HIDDEN;
    if (/^(?:-H|--header)$/.test(before)) return shownHeader(word);
    if (/^(?:-e|--env)$/.test(before) && /^[A-Z_][A-Z0-9_]*$/.test(word)) return word;
    return i === spec && isPackage(word) ? word : shownWord(word);
  });
}

function shownWord(word: string): string {
  if (/^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(word)) return shownUrl(word);
  const [, name, value] = /^([^=]*)=(.*)$/s.exec(word) ?? [];
  if (name !== undefined && value !== undefined) {
    if (!/^[A-Za-z_-][\w.-]*$/.test(name) || isTokenish(name)) return HIDDEN;
    const isOption = OPTION.test(name) && !SECRET_NAME.test(name);
    return `${name}=${isOption ? shownWord(value) : HIDDEN}`;
  }
  if (/^[A-Za-z][A-Za-z0-9-]*:(?:\s|.*(?:bearer|basic)\s)/i.test(word)) return shownHeader(word);
  if (/^-[A-Za-z]{0,2}$/.test(word) || word === '--' || (OPTION.test(word) && !isTokenish(word))) return word;
  if (/^-[A-Za-z]/.test(word)) return `${word.slice(0, 2)}${HIDDEN}`;
  if (isPath(word)) return word.replace(/[^\\/]+/g, (part) => (isTokenish(part) ? HIDDEN : part));
  return isOrdinary(word) ? word : HIDDEN;
}

function shownHeader(word: string): string {
  const [, name] = /^([A-Za-z][A-Za-z0-9-]*)\s*[:=]/.exec(word) ?? [];
  return name === undefined || isTokenish(name) ? HIDDEN : `${name}: ${HIDDEN}`;
}

/**
 * An address without what may be a secret in it: user and password, the values of the query, the fragment, and parts of
 * the path that look like tokens.
 */
export function shownUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || url.host === '') return HIDDEN;
  const user = url.username === '' && url.password === '' ? '' : `${HIDDEN}@`;
  const path = url.pathname.replace(/[^/]+/g, (part) => (isHarmlessPart(part) ? part : HIDDEN));
  const names = [...url.searchParams.keys()].map(
    (name) => `${isHarmlessPart(name) ? name : HIDDEN}=${HIDDEN}`,
  );
  const query = url.search === '' ? '' : `?${names.join('&')}`;
  return `${url.protocol}//${user}${url.host}${path}${query}${url.hash === '' ? '' : `#${HIDDEN}`}`;
}

/** Services put keys into addresses: a part is shown only if it reads as a name or a version. */
function isHarmlessPart(part: string): boolean {
  if (!/^[\w.@~-]{1,40}$/.test(part) || isTokenish(part)) return false;
  const digits = part.match(/\d/g)?.length ?? 0;
  return digits === 0 || (digits <= 4 && !/[A-Z]/.test(part));
}

function isProgram(word: string): boolean {
  return /^[A-Za-z][A-Za-z0-9._+-]{0,31}$/.test(word) && !isTokenish(word);
}

function isPath(word: string): boolean {
  if (!/^[\p{L}\p{N}\\/ ._@~:()-]+$/u.test(word)) return false;
  return (
    /^(?:\.{0,2}[\\/]|~[\\/]|[A-Za-z]:[\\/])/.test(word) || /^\.{1,2}$/.test(word) || EXTENSION.test(word)
  );
}

function isPackage(word: string): boolean {
  if (/^[a-z0-9][a-z0-9./:_-]*@sha256:[0-9a-f]{64}$/.test(word)) return true;
  const shape =
    /^(?:--(?:package|from|spec)=)?(?:npm:)?(?:@[\w.-]+\/)?[\w.-]+(?:\[[\w,-]+\])?(?:(?:@|===?)[\w.^~*+-]+)?$/;
  return shape.test(word) && !isTokenish(word);
}

/** Lower-case words, images and packages with a slash in their name, versions and small numbers. */
function isOrdinary(word: string): boolean {
  if (word.length > 80 || isTokenish(word)) return false;
  return (
    /^[a-z]{1,24}(?:[-_][a-z]{1,24}){0,5}$/.test(word) ||
    /^@?[a-z][a-z0-9.-]*(?:\/[a-z][a-z0-9._-]*)+(?:[:@][a-z0-9][a-z0-9.-]{0,15})?$/.test(word) ||
    /^(?:\d{1,5}|\d{1,3}(?:\.\d{1,3}){1,3})$/.test(word)
  );
}

/** Whether a part of the word looks like a key: long, and of letters with digits, of mixed case, or of digits. */
function isTokenish(word: string): boolean {
  return word.split(/[^A-Za-z0-9]+/).some((part) => {
    if (part.length >= 28 || (part.length >= 10 && /^\d+$/.test(part))) return true;
    if (part.length >= 8 && (part.match(/\d/g)?.length ?? 0) >= 3) return true;
    return part.length >= 12 && /\d/.test(part) && /[A-Za-z]/.test(part);
  });
}

/** Takes known secrets out of a text that somebody else wrote, such as the last words of a server. */
export function scrubbed(text: string, secrets: Iterable<string>): string {
  return [...new Set(secrets)]
    .filter((secret) => secret.length >= 4)
    .sort((a, b) => b.length - a.length)
    .reduce((out, secret) => out.replaceAll(secret, HIDDEN), text);
}
