import { BullaError } from '@bulla/core/error';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { tooLarge } from './frame.ts';
import { Gatherer } from './gather.ts';

/**
 * Reads a body as server-sent events and gives each to `take`, waiting for it. Returns at the end of the body.
 * Throws `MCP_FRAME_TOO_LARGE` for an event over the limit, with all of its lines, `MCP_FRAME_JSON` for bytes that are
 * not UTF-8, and what reading the body or `take` throws.
 */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  maxBytes: number,
  take: (event: EventSourceMessage) => void | Promise<void>,
): Promise<void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const waiting: EventSourceMessage[] = [];
  let overlong = false;
  // What came since the last event, without comments, which keep a stream alive. Empty lines of data cost the parser
  // far more memory than the text that they add up to.
  let pending = 0;
  const parser = createParser({
    maxBufferSize: maxBytes,
    onEvent: (event) => waiting.push(event),
    onComment: (comment) => {
      pending -= comment.length + 2;
    },
    onError: (error) => {
      overlong ||= error.type === 'max-buffer-size-exceeded';
    },
  });
  for await (const chunk of body) {
    let text: string;
    try {
      text = decoder.decode(chunk, { stream: true });
    } catch (cause) {
      throw new BullaError('MCP_FRAME_JSON', 'The stream of events is not valid UTF-8.', { cause });
    }
    pending += text.length;
    parser.feed(text);
    if (waiting.length > 0) pending = 0;
    for (const event of waiting.splice(0)) {
      const taken = take(event);
      if (taken) await taken;
    }
    if (overlong || pending > maxBytes) throw tooLarge(maxBytes);
  }
}

/** Reads a body whole. Throws `MCP_FRAME_TOO_LARGE` over the limit, and what reading the body throws. */
export async function readBody(response: Response, maxBytes: number): Promise<Uint8Array> {
  const gatherer = new Gatherer(maxBytes);
  for await (const chunk of response.body ?? []) {
    gatherer.add(chunk);
    if (gatherer.isOver) throw tooLarge(maxBytes);
  }
  return gatherer.take()!;
}
