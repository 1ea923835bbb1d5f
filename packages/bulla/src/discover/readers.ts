import type { Value, ValueMap } from './document.ts';
import { asMap, isMap, type Path, readTexts } from './entry.ts';

/** A server as it stands in a file. */
interface FoundEntry {
  readonly name: string;
  readonly value: Value;
  readonly path: Path;
  /** The project that it is for, where one file holds servers of many. */
  readonly project?: string;
  readonly disabled?: boolean;
}

export interface Reading {
  readonly servers: readonly FoundEntry[];
  /** Servers of `.mcp.json` that are switched off here: in all projects, or in one. */
  readonly off?: readonly { readonly project: string | null; readonly names: readonly string[] }[];
}

/** Finds the servers in a document. Throws `DISCOVER_SHAPE`. */
export type Reader = (document: Value) => Reading;

/** The servers of an object that lies under these keys; what is not there holds none. */
export function under(...keys: readonly string[]): Reader {
  return (document) => ({ servers: entriesAt(asMap(document, []), keys) });
}

function entriesAt(document: ValueMap, keys: readonly string[], before: Path = []): FoundEntry[] {
  let map = document;
  const path = [...before];
  for (const key of keys) {
    path.push(key);
    const next = map.get(key) ?? null;
    if (next === null) return [];
    map = asMap(next, path);
  }
  return [...map].map(([name, value]) => ({ name, value, path: [...path, name] }));
}

/** `~/.claude.json`: servers for every project, and for each project by its path those that are its own. */
export const claudeCode: Reader = (document) => {
  const map = asMap(document, []);
  const servers = entriesAt(map, ['mcpServers']);
  const off: { project: string; names: string[] }[] = [];
  const projects = map.get('projects') ?? null;
  if (projects === null) return { servers };
  for (const [project, value] of asMap(projects, ['projects'])) {
    const path = ['projects', project];
    const settings = asMap(value, path);
    const disabled = new Set(readTexts(settings.get('disabledMcpServers'), [...path, 'disabledMcpServers']));
    for (const entry of entriesAt(settings, ['mcpServers'], path))
      servers.push({ ...entry, project, disabled: disabled.has(entry.name) });
    const names = readTexts(settings.get('disabledMcpjsonServers'), [...path, 'disabledMcpjsonServers']);
    off.push({ project, names: [...names, ...disabled] });
  }
  return { servers, off };
};

/** Claude Code's settings hold no servers, but which of `.mcp.json` are switched off. */
export const claudeSettings: Reader = (document) => {
  const names = readTexts(asMap(document, []).get('disabledMcpjsonServers'), ['disabledMcpjsonServers']);
  return { servers: [], off: [{ project: null, names }] };
};

/** A list, each with its name in it. */
export const continueList: Reader = (document) => {
  const list = asMap(document, []).get('mcpServers') ?? null;
  if (list === null) return { servers: [] };
  if (!Array.isArray(list)) return { servers: entriesAt(asMap(document, []), ['mcpServers']) };
  return {
    servers: list.map((value: Value, i) => {
      const name = isMap(value) ? value.get('name') : undefined;
      return { name: typeof name === 'string' ? name : `#${i + 1}`, value, path: ['mcpServers', i] };
    }),
  };
};

/** `mcp.allowed` and `mcp.excluded` say which of the servers are used. */
export const gemini: Reader = (document) => {
  const map = asMap(document, []);
  const rules = isMap(map.get('mcp')) ? asMap(map.get('mcp'), ['mcp']) : new Map<string, Value>();
  const allowed = rules.has('allowed') ? readTexts(rules.get('allowed'), ['mcp', 'allowed']) : null;
  const excluded = readTexts(rules.get('excluded'), ['mcp', 'excluded']);
  return {
    servers: entriesAt(map, ['mcpServers']).map((entry) => ({
      ...entry,
      disabled: excluded.includes(entry.name) || (allowed !== null && !allowed.includes(entry.name)),
    })),
  };
};

/** Servers stand under `mcp`, and since the second version under `mcp.servers`. */
export const opencode: Reader = (document) => {
  const map = asMap(document, []);
  const mcp = map.get('mcp') ?? null;
  if (mcp === null) return { servers: [] };
  const servers = asMap(mcp, ['mcp']).get('servers');
  const isSecond = isMap(servers) && !servers.has('type') && !servers.has('command');
  return { servers: entriesAt(map, isSecond ? ['mcp', 'servers'] : ['mcp']) };
};
