import { stringify } from '@bulla/core/json';

/** Results that came from a server as they are. */
const results = new WeakSet<object>();

/** Notes that this is what a server answered to a call, so that it can be passed on whole. */
export function noteCallResult<Result extends object>(result: Result): Result {
  results.add(result);
  return result;
}

export interface CallResult {
  [key: string]: unknown;
  content: { type: 'text'; text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

/**
 * The answer for what a tool gave: the text, or its JSON, which for an object is also the structured content; nothing
 * for nothing. What a server answered is passed on as it came. Throws `VALUE_…` for what JSON cannot hold.
 */
export function callResult(output: unknown): CallResult {
  if (output === undefined) return { content: [] };
  if (typeof output === 'string') return { content: [{ type: 'text', text: output }] };
  const isObject = typeof output === 'object' && output !== null && !Array.isArray(output);
  if (isObject && results.has(output)) return output as CallResult;
  const text = stringify(output);
  const content: CallResult['content'] = [{ type: 'text', text }];
  return isObject ? { content, structuredContent: JSON.parse(text) } : { content };
}
