import type { Writable } from 'node:stream';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;

/** NEL, the line separator and the paragraph separator, as the bytes of UTF-8. */
const SEPARATORS = [[0xc2, 0x85] as const, [0xe2, 0x80, 0xa8] as const, [0xe2, 0x80, 0xa9] as const].map(
  (bytes) => Buffer.from(bytes),
);
/** The same in Latin-1, where each byte is a character. */
const SEPARATOR = /\xc2\x85|\xe2\x80[\xa8\xa9]/g;
const ESCAPES: Readonly<Record<string, string>> = {
  '\xc2\x85': '\\u0085',
  '\xe2\x80\xa8': '\\u2028',
  '\xe2\x80\xa9': '\\u2029',
};

/**
 * A message without anything that some reader takes for the end of a line. Messages are framed by lines, and readers
 * differ: Python's text streams end one at a carriage return, Node's readline also at U+2028 and U+2029, Python's
 * `splitlines` also at U+0085. What one side reads as two messages was decided on as one. In valid JSON a carriage
 * return or newline can only be white space, and becomes a space; the others can only stand in a string, and are
 * escaped there. All other control characters are refused by the parser. Every other byte stays as it is.
 */
export function unbroken(message: Uint8Array): Uint8Array {
  const given = Buffer.from(message.buffer, message.byteOffset, message.length);
  let bytes = given;
  if (SEPARATORS.some((separator) => bytes.includes(separator))) {
    const escaped = bytes.toString('latin1').replace(SEPARATOR, (separator) => ESCAPES[separator]!);
    bytes = Buffer.from(escaped, 'latin1');
  }
  for (const end of [CR, LF]) {
    const first = bytes.indexOf(end);
    if (first >= 0 && bytes === given) bytes = Buffer.from(given);
    for (let i = first; i >= 0; i = bytes.indexOf(end, i + 1)) bytes[i] = SPACE;
  }
  return bytes === given ? message : bytes;
}

/** A message as the one line that frames it, for every reader. Whatever is written to a pipe goes through here. */
export function asLine(message: Uint8Array): Uint8Array {
  const bytes = unbroken(message);
  const line = Buffer.allocUnsafe(bytes.length + 1);
  line.set(bytes);
  line[bytes.length] = LF;
  return line;
}

/** A message of this many bytes is not copied to have its line end beside it. */
const LONG = 64 * 1024;
const NEWLINE = Uint8Array.of(LF);

/**
 * Writes a message as one line. What is written in one turn of the event loop goes out with one call of the system.
 * Returns and calls back as `Writable.write` does.
 */
export function writeLine(
  stream: Writable,
  message: Uint8Array,
  done?: (error: Error | null | undefined) => void,
): boolean {
  if (stream.writableCorked === 0) {
    stream.cork();
    process.nextTick(() => stream.uncork());
  }
  if (message.length < LONG) return stream.write(asLine(message), done);
  stream.write(unbroken(message));
  return stream.write(NEWLINE, done);
}
