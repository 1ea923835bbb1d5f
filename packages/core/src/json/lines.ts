import { BullaError } from '../error.ts';

const NEWLINE = 10;

/** At most this many lines come at a time. */
const MAX_BATCH = 64;

/** The same lines one by one. */
export async function* lines(source: AsyncIterable<Uint8Array>, max: number): AsyncGenerator<Uint8Array> {
  for await (const batch of lineBatches(source, max)) yield* batch;
}

/**
 * Cuts a stream into lines of bytes, without their newlines; a last line may go without one. A line longer than
 * `max` comes cut to `max + 1` bytes, so that its reader sees that it is too long and memory stays bounded.
 * They come as many at a time as a piece of the stream ends, because a promise for each costs more than the line. Throws
 * `INPUT_UNREADABLE` when the stream fails.
 */
export async function* lineBatches(
  source: AsyncIterable<Uint8Array>,
  max: number,
): AsyncGenerator<Uint8Array[]> {
  let parts: Uint8Array[] = [];
  let length = 0;
  const keep = (part: Uint8Array) => {
    const room = part.subarray(0, max + 1 - length);
    if (room.length > 0) parts.push(room);
    length += room.length;
  };
  const take = () => {
    const line = parts.length === 1 ? parts[0]! : joined(parts);
    parts = [];
    length = 0;
    return line;
  };
  let open = false;
  try {
    for await (const chunk of source) {
      let start = 0;
      let batch: Uint8Array[] = [];
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
        if (parts.length === 0 && end - start <= max) batch.push(chunk.subarray(start, end));
        else {
          keep(chunk.subarray(start, end));
          batch.push(take());
        }
        start = end + 1;
        open = false;
        if (batch.length < MAX_BATCH) continue;
        yield batch;
        batch = [];
      }
      if (batch.length > 0) yield batch;
      if (start < chunk.length) {
        keep(chunk.subarray(start));
        open = true;
      }
    }
  } catch (error) {
    throw new BullaError('INPUT_UNREADABLE', `The input cannot be read (${(error as Error).message}).`, {
      cause: error,
    });
  }
  if (open) yield [take()];
}

/** Pieces behind each other in one. */
export function joined(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
