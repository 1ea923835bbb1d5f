import { describe, expect, test } from 'vitest';
import { refusal } from '../../test/mcp.ts';
import { readEvents } from './events.ts';

const LIMIT = 1 << 20;

/** Sends a text over and over, at most so many times; tells how many bytes were asked for. */
function endless(text: string, times: number): { body: ReadableStream<Uint8Array>; sent: () => number } {
  const part = new TextEncoder().encode(text.repeat(Math.ceil(32_768 / text.length)));
  let count = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (count++ < times) controller.enqueue(part);
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { body, sent: () => count * part.length };
}

describe('a stream of events without an end', () => {
  test.each([
    ['one line', 'x'],
    ['empty lines of data', 'data:\n'],
    ['lines of data', 'data: a\n'],
    ['fields that mean nothing', 'x: y\n'],
    ['comments between lines of data', 'data:\n: c\n'],
  ])('of %s is cut off at the limit', async (_, text) => {
    const { body, sent } = endless(text, 1000);
    expect(await refusal(readEvents(body, LIMIT, () => {}))).toMatchObject({ code: 'MCP_FRAME_TOO_LARGE' });
    expect(sent()).toBeLessThan(3 * LIMIT);
  });

  test('of comments only is kept alive, and so is one of many small events', async () => {
    let events = 0;
    const count = () => void events++;
    await readEvents(endless(': still here\n\n', 100).body, LIMIT, count);
    expect(events).toBe(0);
    await readEvents(endless('data: {}\n\n', 100).body, LIMIT, count);
    expect(events).toBe(100 * Math.ceil(32_768 / 10));
  });
});
