import { JsonNumber, type JsonValue, memberAt } from '@bulla/core/json';
import type { Id } from '../../mcp/index.ts';

/** Where a notification says to which subscription it belongs (2026-07-28, Subscriptions). */
export const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';

/** Where a result says which server it is of (2026-07-28, Basic, `_meta` of results). */
export const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';

/** Where a request says from which level on it wants log messages (2026-07-28, Logging). */
export const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';

/** The longest progress token. They are kept while requests are open. */
const MAX_TOKEN = 1024;

/** Whether a value can be a progress token. */
export function isToken(token: JsonValue): boolean {
  const text = token instanceof JsonNumber ? token.lexeme : token;
  return typeof text === 'string' && text.length <= MAX_TOKEN;
}

/** The id of a request that a notification speaks of; null for what is none. */
export function idOf(holder: JsonValue | undefined, key: string): Id | null {
  const id = memberAt(holder, [key]);
  return typeof id === 'string' || id instanceof JsonNumber ? id : null;
}
