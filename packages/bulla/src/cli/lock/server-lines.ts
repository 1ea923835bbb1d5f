import { visible } from '@bulla/core/text';
import { say } from '../terminal/io.ts';
import { streams } from '../terminal/streams.ts';

const LF = 0x0a;
const CR = 0x0d;
/** The longest line; what is longer is shown in several. Also the most that is kept of what has no line end yet. */
const MAX_LINE = 8192;

/** What a program that we started writes for people, as it comes. */
interface ServerLines {
  take(chunk: Uint8Array): void;
  /** The program ended: a last line may have no line end. */
  end(): void;
}

/**
 * Shows what a program such as a server writes on standard error: `[server]` stands before every line, and what a
 * terminal could act on is made visible, so that no line can pass for one of ours. Bytes that are no UTF-8 become
 * U+FFFD. Without room for more (`hasRoom`), because nobody reads as fast as it writes, whole lines are left out and
 * counted.
 */
export function serverLines(
  say: (line: string) => void,
  hasRoom: () => boolean = () => true,
  name = 'server',
): ServerLines {
  let line: Uint8Array[] = [];
  let length = 0;
  let isContinued = false;
  let leftOut = 0;

  const tell = (isWhole: boolean): void => {
    const bytes = Buffer.concat(line);
    const end = isWhole ? bytes.length : wholeCharacters(bytes);
    const text = decoder.decode(bytes.subarray(0, bytes[end - 1] === CR && isWhole ? end - 1 : end));
    const mark = isContinued ? `[${name}] \u2026` : `[${name}] `;
    line = isWhole || end === bytes.length ? [] : [bytes.subarray(end)];
    length = bytes.length - end;
    isContinued = !isWhole;
    if (!hasRoom()) {
      leftOut += end;
      return;
    }
    if (leftOut > 0) say(`[${name}] (${leftOut} bytes are left out)`);
    leftOut = 0;
    say(`${mark}${visible(text, { tabs: true, ordinary: true })}`);
  };

  return {
    take(chunk) {
      for (let start = 0; start < chunk.length; ) {
        const newline = chunk.indexOf(LF, start);
        const end = Math.min(newline < 0 ? chunk.length : newline, start + MAX_LINE - length);
        // A copy: the chunk is a part of a larger buffer, and may stay here for long.
        line.push(Uint8Array.from(chunk.subarray(start, end)));
        length += end - start;
        start = end;
        if (newline === end) {
          tell(true);
          start++;
        } else if (length === MAX_LINE) tell(false);
      }
    },
    end() {
      if (length > 0) tell(true);
      if (leftOut > 0) say(`[${name}] (${leftOut} bytes are left out)`);
      leftOut = 0;
    },
  };
}

/** The most that waits for a slow reader of standard error. */
const MAX_UNREAD = 1 << 20;

/** The same on our standard error. */
export function tellLines(name: string): ServerLines {
  return serverLines(
    (line) => say([line]),
    () => streams.stderr.writableLength < MAX_UNREAD,
    name,
  );
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** How many of the bytes are not the beginning of a character whose end is still to come. */
function wholeCharacters(bytes: Uint8Array): number {
  for (let back = 1; back <= 3; back++) {
    const byte = bytes[bytes.length - back];
    if (byte === undefined || byte < 0x80) break;
    if (byte < 0xc0) continue;
    const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return size > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}
