import { exitOf as exitOfKind } from '@bulla/core/codes';
import { BullaError, withoutSecrets } from '@bulla/core/error';
import { visible } from '@bulla/core/text';
import type { Command } from '../command.ts';
import { escaped } from './indented.ts';
import { colors, painted } from './paint.ts';
import { type Output, streams, write } from './streams.ts';

export { refusing } from '../../refusal.ts';
export { colors } from './paint.ts';

/** The exit codes of every command. */
export const EXIT = {
  good: 0,
  /** The thing that was checked is bad. */
  bad: 1,
  /** Wrong usage, or input that cannot be read. */
  usage: 2,
  /** It could not be decided. */
  undecided: 3,
} as const;
export type Exit = (typeof EXIT)[keyof typeof EXIT];

/** The exit code of a command that failed with this error; an unknown error counts as undecided. */
export function exitOf(error: unknown): Exit {
  return error instanceof BullaError ? exitOfKind(error.kind) : EXIT.undecided;
}

/** The options that every reporting command takes. */
export interface ReportOptions {
  json?: boolean;
  quiet?: boolean;
}

export function reportOptions(command: Command, quiet = 'print nothing; the exit code tells'): Command {
  return command.option('--json', 'print one JSON document').option('--quiet', quiet);
}

/** Collects the values of an option that may be repeated. */
export const collect = (value: string, previous: string[]): string[] => [...previous, value];

/** Whether what is written there may have colours. */
export function coloured(stream: Output): boolean {
  if (process.env.NO_COLOR) return false;
  const force = process.env.FORCE_COLOR;
  return force !== undefined ? force !== '0' && force !== 'false' : stream.isTTY === true;
}

const { red, yellow, cyan, green, bold, dim, strikethrough, underline } = colors;
const TONES = {
  ...{ moderate: yellow, info: cyan, good: green, name: bold, dim },
  critical: (text: string) => bold(red(text)),
  breaking: (text: string) => bold(red(text)),
  added: (text: string) => underline(green(text)),
  removed: (text: string) => strikethrough(red(text)),
};

/** Words that came and went are told by their colour, and where there is none, by marks around them. */
export function tones(stream: Output): { color?: (tone: keyof typeof TONES, text: string) => string } {
  return coloured(stream) ? { color: (tone, text) => TONES[tone](text) } : {};
}

// The print boundary. Whatever a command shows goes through one of the functions below, and nothing around them: texts
// for people through `print` and `say`, which show every control character instead of sending it; documents, in which
// such characters can stand only as data, through `printJson` and `printExact`.

/** Text for people: whole, or in lines, none of which can begin another one, whatever it quotes. */
type Text = string | readonly string[];

const joined = (text: Text): string => (typeof text === 'string' ? text : text.map(oneLine).join('\n'));

/** Prints a text for people: as it is, or in lines. */
export function print(text: Text): Promise<void> {
  const whole = typeof text === 'string' ? text : `${joined(text)}\n`;
  return write(streams.stdout, painted(whole, coloured(streams.stdout)));
}

/** Prints a JSON document on a line of its own. What a terminal could act on is escaped, which JSON means the same by. */
export function printJson(document: unknown): Promise<void> {
  return write(streams.stdout, `${escaped(JSON.stringify(document))}\n`);
}

/**
 * Prints a document whose bytes matter, exactly. Only a terminal, which takes no bytes but draws them, gets escapes for
 * the characters that it could act on.
 */
export function printExact(data: string | Uint8Array): Promise<void> {
  const { stdout } = streams;
  if (!stdout.isTTY) return write(stdout, data);
  return write(stdout, escaped(typeof data === 'string' ? data : Buffer.from(data).toString('utf8')));
}

/** Tells people something on standard error, in lines of its own. */
export function say(text: Text): void {
  write(streams.stderr, `${painted(joined(text), coloured(streams.stderr))}\n`).catch(() => undefined);
}

/** Shows on a terminal, in one line that is gone afterwards, what is going on. */
export async function showing<Result>(text: string, action: () => Promise<Result>): Promise<Result> {
  if (!streams.stderr.isTTY) return action();
  drawOver(text);
  try {
    return await action();
  } finally {
    drawOver('');
  }
}

/** Draws one line of standard error, a terminal, over what stood there. */
export function drawOver(text: string): void {
  const { stderr } = streams;
  const line = painted(text, coloured(stderr)).replaceAll('\n', ' ');
  write(stderr, `\r\u001b[2K${line}`).catch(() => undefined);
}

/** How a verdict begins. */
export function markOf(result: 'good' | 'bad' | 'undecided' | 'unreadable'): string {
  if (result === 'good') return colors.green('good');
  return result === 'bad' ? colors.red('BAD') : colors.yellow('undecided');
}

/** Prints a report: as one JSON document with `--json`, else as the text for people, unless `--quiet`. */
export async function report(options: ReportOptions, document: unknown, text: () => Text): Promise<void> {
  if (options.json) await printJson(document);
  else if (!options.quiet) await print(`${joined(text())}\n`);
}

/** How documents name a sealed record: by both of its names. */
export function capsuleNames(capsule: { readonly id: string; readonly hash: string } | null) {
  return { capsule_id: capsule?.id ?? null, capsule_hash: capsule?.hash ?? null };
}

/** A time in milliseconds as text. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** An error as a document: its code and sentence, and where it lies if that is known. */
export function errorDocument(error: BullaError): Record<string, unknown> {
  return {
    ok: false,
    code: error.code,
    message: error.message,
    ...(error.path === undefined ? {} : { path: error.path }),
    ...(error.offset === undefined ? {} : { offset: error.offset }),
  };
}

/** A text that is one line, whatever it quotes. */
export function oneLine(text: string): string {
  return text.replace(/\r?\n/g, (line) => visible(line));
}

/**
 * Tells of an error on standard error, behind the notes that it may have; what is not a `BullaError` is a defect and
 * shows its stack.
 */
export function complain(error: unknown, subject?: string): void {
  const prefix = colors.red('bulla:');
  if (error instanceof BullaError) {
    const { notes = [] } = error as { readonly notes?: readonly string[] };
    if (notes.length > 0) say(notes);
    const where = [
      ...(subject === undefined ? [] : [subject]),
      ...(error.offset === undefined ? [] : [`byte ${error.offset}`]),
      ...(error.path ? [`at ${error.path}`] : []),
    ].join(', ');
    const place = where === '' ? '' : ` ${colors.dim(`(${withoutSecrets(where)})`)}`;
    say(oneLine(`${prefix} ${error.message}${place} ${colors.dim(`[${error.code}]`)}`));
  } else {
    const stack = error instanceof Error ? (error.stack ?? '') : '';
    const places = stack.split('\n').filter((line) => /^ {4}at /.test(line));
    say([`${prefix} ${String(error)}`, ...places].map(withoutSecrets));
  }
}

/** Blanks in a row, which could push what follows out of sight, by their number; no text has this bracket itself. */
export function blanksCounted(text: string): string {
  return text.replace(/ {9,}/g, (blanks) => `⟨${blanks.length} × U+0020⟩`);
}
