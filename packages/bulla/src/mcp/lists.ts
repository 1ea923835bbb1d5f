import type { Code } from '@bulla/core/codes';
import { BullaError } from '@bulla/core/error';
import { JsonObject, type JsonValue } from '@bulla/core/json';
import type { ListKind } from '@bulla/core/lock';
import type { Connection } from './connection.ts';
import { caseTwin } from './frame.ts';
import { type Page, type PageLimits, pageOf, readPages } from './pages.ts';
import { quote, RpcError } from './transport.ts';

/** How a list is asked for, and what an item of it must be. */
interface List {
  readonly method: string;
  readonly capability: string;
  /** The notification that tells of its change. */
  readonly changed: string;
  /** The member that tells items apart. */
  readonly key: string;
  /** The members that the specification knows. */
  readonly members: readonly string[];
  /** Whether a server that has the capability may lack the method. */
  readonly optional?: boolean;
}

const COMMON = ['name', 'title', 'description', 'icons', 'annotations', '_meta'];

function list(capability: string, key: string, members: readonly string[]): List {
  return {
    method: `${capability}/list`,
    capability,
    changed: `notifications/${capability}/list_changed`,
    key,
    members: [...COMMON, ...members],
  };
}

export const LISTS: Readonly<Record<ListKind, List>> = {
  tools: list('tools', 'name', ['inputSchema', 'outputSchema', 'execution']),
  prompts: list('prompts', 'name', ['arguments']),
  resources: list('resources', 'uri', ['uri', 'mimeType', 'size']),
  resourceTemplates: {
    ...list('resources', 'uriTemplate', ['uriTemplate', 'mimeType']),
    method: 'resources/templates/list',
    optional: true,
  },
};

const METHOD_NOT_FOUND = -32601;

/**
 * Reads a list to its end: all of it, or an error. Rejects with `MCP_LIST_SHAPE` for a page that is no list, an item
 * without what it must have, two items of one name, and a page or an item with a member that a reader of any case would
 * confuse with a known one; and with the codes of {@link readPages} and `Connection.ask`.
 */
export async function readList(
  connection: Pick<Connection, 'ask'>,
  name: ListKind,
  limits: PageLimits = {},
): Promise<JsonObject[]> {
  const { method, key, members, optional } = LISTS[name];
  const refuse = (code: Code, what: string, path?: string) =>
    new BullaError(code, `The server's ${method} cannot be relied on: ${what}.`, {
      ...(path !== undefined && { path }),
    });
  const ask = async (cursor: string | null): Promise<Page> => {
    try {
      return pageOf(name, await connection.ask(method, cursor === null ? {} : { cursor }), refuse);
    } catch (error) {
      const isMissing = error instanceof RpcError && error.rpc.code === METHOD_NOT_FOUND;
      if (isMissing && optional && cursor === null) return { items: [], nextCursor: null, size: 0 };
      throw error;
    }
  };
  const items = new Map<string, JsonObject>();
  const take = (item: JsonValue): void => {
    const bad = (what: string) => refuse('MCP_LIST_SHAPE', what, `/${name}/${items.size}`);
    if (!(item instanceof JsonObject)) throw bad('an item is not an object');
    const twin = caseTwin(item, members);
    if (twin !== null) throw bad(`the member ${quote(twin)} differs from a known one only in case`);
    for (const member of new Set(['name', key])) {
      const value = item.get(member);
      if (typeof value !== 'string' || value === '') throw bad(`an item has no ${member}`);
    }
    if (name === 'tools' && !(item.get('inputSchema') instanceof JsonObject)) {
      throw bad('an item has no inputSchema');
    }
    const own = item.get(key) as string;
    if (items.has(own)) throw bad(`${quote(own)} stands in it twice`);
    items.set(own, item);
  };
  for await (const page of readPages(ask, limits, refuse)) {
    for (const item of page.items) take(item);
  }
  return [...items.values()];
}
