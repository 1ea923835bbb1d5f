import type { Code } from '@bulla/core/codes';
import { BullaError } from '@bulla/core/error';
import { JsonObject, type JsonValue } from '@bulla/core/json';
import type { ListKind } from '@bulla/core/lock';
import type { Connection } from './connection.ts';
import { caseTwin } from './frame.ts';
import { type Page, type PageLimits, pageOf, type RefuseList, readPages } from './pages.ts';
import { quote, RpcError } from './transport.ts';

/** How a list is asked for, and what an item of it must be. */
interface List {
  readonly method: string;
  /** The capability under which a server offers it. */
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

export const LISTS: Readonly<Record<ListKind, List>> = {
  tools: {
    method: 'tools/list',
    capability: 'tools',
    changed: 'notifications/tools/list_changed',
    key: 'name',
    members: [...COMMON, 'inputSchema', 'outputSchema', 'execution'],
  },
  prompts: {
    method: 'prompts/list',
    capability: 'prompts',
    changed: 'notifications/prompts/list_changed',
    key: 'name',
    members: [...COMMON, 'arguments'],
  },
  resources: {
    method: 'resources/list',
    capability: 'resources',
    changed: 'notifications/resources/list_changed',
    key: 'uri',
    members: [...COMMON, 'uri', 'mimeType', 'size'],
  },
  resourceTemplates: {
    method: 'resources/templates/list',
    capability: 'resources',
    changed: 'notifications/resources/list_changed',
    key: 'uriTemplate',
    members: [...COMMON, 'uriTemplate', 'mimeType'],
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
  connection: Connection,
  name: ListKind,
  limits: PageLimits = {},
): Promise<JsonObject[]> {
  const list = LISTS[name];
  const refuse: RefuseList = (code, reason) => bad(code, list, reason);
  const items: JsonObject[] = [];
  const keys = new Set<string>();
  const ask = async (cursor: string | null): Promise<Page> => {
    try {
      return pageOf(name, await connection.ask(list.method, cursor === null ? {} : { cursor }), refuse);
    } catch (error) {
      const isMissing = error instanceof RpcError && error.rpc.code === METHOD_NOT_FOUND;
      if (isMissing && list.optional && cursor === null) return { items: [], nextCursor: null, size: 0 };
      throw error;
    }
  };
  for await (const page of readPages(ask, limits, refuse)) {
    for (const item of page.items) items.push(checkItem(item, list, name, items.length, keys));
  }
  return items;
}

function checkItem(
  item: JsonValue,
  list: List,
  name: ListKind,
  index: number,
  keys: Set<string>,
): JsonObject {
  const path = `/${name}/${index}`;
  if (!(item instanceof JsonObject)) throw bad('MCP_LIST_SHAPE', list, 'an item is not an object', path);
  const twin = caseTwin(item, list.members);
  if (twin !== null) {
    throw bad(
      'MCP_LIST_SHAPE',
      list,
      `the member ${quote(twin)} differs from a known one only in case`,
      path,
    );
  }
  for (const member of new Set(['name', list.key])) {
    const value = item.get(member);
    if (typeof value !== 'string' || value === '')
      throw bad('MCP_LIST_SHAPE', list, `an item has no ${member}`, path);
  }
  if (name === 'tools' && !(item.get('inputSchema') instanceof JsonObject)) {
    throw bad('MCP_LIST_SHAPE', list, 'an item has no inputSchema', path);
  }
  const key = item.get(list.key) as string;
  if (keys.has(key)) throw bad('MCP_LIST_SHAPE', list, `${quote(key)} stands in it twice`, path);
  keys.add(key);
  return item;
}

function bad(code: Code, list: List, what: string, path?: string): BullaError {
  return new BullaError(code, `The server's ${list.method} cannot be relied on: ${what}.`, {
    ...(path === undefined ? {} : { path }),
  });
}
