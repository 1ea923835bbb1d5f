import { JsonNumber, type JsonValue, memberAt } from '@bulla/core/json';
import { type Id, idKey } from '../../mcp/index.ts';

/** Where a notification says to which subscription it belongs (2026-07-28, Subscriptions). */
export const SUBSCRIPTION_ID = 'io.modelcontextprotocol/subscriptionId';

/** Where a result says which server it is of (2026-07-28, Basic, `_meta` of results). */
export const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';

/** The longest progress token. They are kept while requests are open. */
const MAX_TOKEN = 1024;

/** A progress token as a key: its type counts, and a number its digits. Null for what is none, or is too long. */
export function tokenOf(holder: JsonValue | undefined, key: string): string | null {
  const token = memberAt(holder, [key]);
  const text = token instanceof JsonNumber ? token.lexeme : token;
  if (typeof text !== 'string' || text.length > MAX_TOKEN) return null;
  return idKey(token as string | JsonNumber);
}

/** The id of a request that a notification speaks of; null for what is none. */
export function idOf(holder: JsonValue | undefined, key: string): Id | null {
  const id = memberAt(holder, [key]);
  return typeof id === 'string' || id instanceof JsonNumber ? id : null;
}
