import { BullaError } from '@bulla/core/error';

/** Data for a session, or a function that makes it of what there is so far. */
export type ContextSource =
  | Readonly<Record<string, unknown>>
  | ((soFar: Readonly<Record<string, unknown>>) => ContextData | Promise<ContextData>);
type ContextData = Readonly<Record<string, unknown>>;

/**
 * The contexts as one object; a later one wins. Throws `SESSION_CONTEXT` for one that is no object, and what the
 * functions throw.
 */
export async function mergeContexts(sources: readonly (ContextSource | undefined)[]): Promise<ContextData> {
  let merged: ContextData = {};
  for (const source of sources) {
    if (source === undefined) continue;
    const data: unknown = typeof source === 'function' ? await source(merged) : source;
    if (typeof data !== 'object' || data === null || Array.isArray(data))
      throw new BullaError('SESSION_CONTEXT', 'The context of a session is an object.');
    merged = { ...merged, ...data };
  }
  return Object.freeze(merged);
}
