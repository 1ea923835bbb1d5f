import { BullaError } from '../error.ts';
import { joined } from '../json/index.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/** At most this many elements come at a time. */
const MAX_BATCH = 64;

const isSpace = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/**
 * Cuts the elements out of a JSON array that comes in pieces, some at a time, without parsing them: it follows brackets and strings
 * alone, so that an array of any length needs no more memory than its largest element. What is inside an element
 * is left to the strict parser. Throws `CHAIN_SOURCE` when the array itself is not well formed or does not end, and
 * for an element longer than `max` bytes.
 */
export async function* elements(
  source: AsyncIterable<Uint8Array>,
  max: number,
): AsyncGenerator<Uint8Array[]> {
  let parts: Uint8Array[] = [];
  let length = 0;
  let depth = 0;
  let inString = false;
  let escaped = false;
  let state: 'start' | 'first' | 'element' | 'after' | 'next' | 'end' = 'start';

  const keep = (part: Uint8Array) => {
    length += part.length;
    if (length > max) throw malformed(`A record is longer than ${max} bytes.`);
    parts.push(part);
  };
  const take = () => {
    const whole = parts.length === 1 ? parts[0]! : joined(parts);
    parts = [];
    length = 0;
    return whole;
  };

  for await (const chunk of source) {
    let from = 0;
    let batch: Uint8Array[] = [];
    for (let i = 0; i < chunk.length; i++) {
      const byte = chunk[i]!;
      if (state === 'element') {
        if (inString) {
          if (escaped) escaped = false;
          else if (byte === BACKSLASH) escaped = true;
          else if (byte === QUOTE) inString = false;
        } else if (byte === QUOTE) inString = true;
        else if (byte === 0x7b || byte === 0x5b) depth++;
        else if (byte === 0x7d || byte === 0x5d) depth--;
        if (!inString && depth === 0) {
          keep(chunk.subarray(from, i + 1));
          batch.push(take());
          state = 'after';
          if (batch.length === MAX_BATCH) {
            yield batch;
            batch = [];
          }
        }
      } else if (isSpace(byte)) {
        // Between the elements.
      } else if (state === 'start' && byte === 0x5b) {
        state = 'first';
      } else if ((state === 'first' || state === 'after') && byte === 0x5d) {
        state = 'end';
      } else if (state === 'after' && byte === COMMA) {
        state = 'next';
      } else if ((state === 'first' || state === 'next') && byte === 0x7b) {
        state = 'element';
        from = i;
        depth = 1;
      } else {
        throw malformed('The file is not an array of objects.');
      }
    }
    if (state === 'element' && from < chunk.length) keep(chunk.subarray(from));
    if (batch.length > 0) yield batch;
  }
  if ((state as string) !== 'end') throw malformed('The array is cut off before its end.');
}

function malformed(message: string): BullaError {
  return new BullaError('CHAIN_SOURCE', message);
}
