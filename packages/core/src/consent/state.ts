import { BullaError } from '../error.ts';
import { checkRow, TABLE_NAMES } from './check-row.ts';
import type { Bound, Change, DeclaredTool, Rows, Silence, Table, Tables } from './rows.ts';
import type { Sensitivity } from './sensitivity.ts';

/** The rows of one person and one agent, found by their keys. It does not change; a step says what to write. */
export interface ConsentState {
  readonly user: string;
  readonly agent: string;
  readonly rows: { readonly [T in Table]: ReadonlyMap<string, Tables[T]> };
  /** Of the manifest, by name. */
  readonly tools: ReadonlyMap<string, DeclaredTool>;
  /** Those of them that are tools of servers, by `boundKey`. */
  readonly bound: ReadonlyMap<string, DeclaredTool>;
  readonly scopes: ReadonlyMap<string, Sensitivity>;
}

/** The key of a row among those of one person and one agent. */
export const keyOf: { readonly [T in Table]: (row: Tables[T]) => string } = {
  manifests: (row) => row.agent,
  disclosures: (row) => row.digest,
  grants: (row) => row.scope,
  silences: silenceKey,
  prompts: (row) => row.id,
  decisions: (row) => row.id,
  approvals: (row) => row.tool,
};

/** The key of a window. */
export function silenceKey({
  scope,
  device,
  session,
  server,
}: Pick<Silence, 'scope' | 'device' | 'session' | 'server'>): string {
  const names = server === null ? [scope, device, session] : [scope, device, session, server];
  return keyed(names);
}

/** The key of a tool of a server. */
export function boundKey({ server, tool }: Bound): string {
  return keyed([server, tool]);
}

/** Each name comes with its length, so that no two lists share a key. */
function keyed(names: readonly string[]): string {
  return names.map((name) => `${name.length}.${name}`).join('');
}

/** Of a person who does not know the agent yet. */
export function emptyState(user: string, agent: string): ConsentState {
  const none = Object.fromEntries(TABLE_NAMES.map((table) => [table, []]));
  return stateOf({ user, agent, ...none } as unknown as Rows);
}

/**
 * The state that rows hold, such as those that a database returned. Decisions that ended need not be among them, but
 * for the one whose id an event names. Throws `CONSENT_STATE` with the path for a row that is not exactly one, that
 * belongs to others, or that is there twice: a store that was altered decides nothing. A manifest may be long; from a
 * state that was read before, of whatever person, it is taken over where it is the same row object. Of the same person
 * the other rows that are the same objects are not checked again, so that nobody may change them.
 */
export function stateOf(rows: Rows, before?: ConsentState): ConsentState {
  const known = before?.rows.manifests.get(rows.agent);
  const same = known !== undefined && rows.manifests.length === 1 && rows.manifests[0] === known;
  const maps = {} as { [T in Table]: ReadonlyMap<string, Tables[T]> };
  for (const table of TABLE_NAMES) {
    if (table === 'manifests' && same) maps.manifests = before!.rows.manifests;
    else read(table, rows, maps, isOf(before, rows) ? before : undefined);
  }
  return same ? { ...before!, user: rows.user, rows: maps } : indexed(rows.user, rows.agent, maps);
}

function isOf(state: ConsentState | undefined, { user, agent }: Rows): boolean {
  return state?.user === user && state.agent === agent;
}

function read<T extends Table>(
  table: T,
  rows: Rows,
  maps: { [T in Table]: ReadonlyMap<string, Tables[T]> },
  before: ConsentState | undefined,
): void {
  const checked = new Set<unknown>(before?.rows[table].values());
  const found = new Map<string, Tables[T]>();
  const list = rows[table] as readonly Tables[T][];
  if (!Array.isArray(list)) throw corrupt('This must be a list of rows.', `/${table}`);
  for (const [i, row] of list.entries()) {
    const at = `/${table}/${i}`;
    if (!checked.has(row)) {
      checkRow(table, row, [table, i]);
      const { agent, user } = row as { agent?: unknown; user?: unknown };
      if ((agent !== undefined && agent !== rows.agent) || (user !== undefined && user !== rows.user))
        throw corrupt('The row belongs to others.', at);
    }
    const key = keyOf[table](row);
    if (found.has(key)) throw corrupt('The row is there twice.', at);
    found.set(key, row);
  }
  (maps as Record<Table, unknown>)[table] = found;
}

function corrupt(sentence: string, path: string): BullaError {
  return new BullaError('CONSENT_STATE', sentence, { path });
}

function indexed(user: string, agent: string, rows: ConsentState['rows']): ConsentState {
  const manifest = rows.manifests.get(agent);
  return {
    user,
    agent,
    rows,
    tools: new Map(manifest?.tools.map((tool) => [tool.name, tool])),
    bound: new Map(
      manifest?.tools.flatMap((tool) => (tool.bound === null ? [] : [[boundKey(tool.bound), tool] as const])),
    ),
    scopes: new Map(manifest?.scopes.map(({ id, sensitivity }) => [id, sensitivity])),
  };
}

/** The rows of a state, to be written as JSON or compared. */
export function rowsOf({ user, agent, rows }: ConsentState): Rows {
  const lists = Object.fromEntries(TABLE_NAMES.map((table) => [table, [...rows[table].values()]]));
  return { user, agent, ...lists } as Rows;
}

/**
 * The state after changes: all of them, or none. Throws `CONSENT_CONFLICT` when a row is no longer the one that the
 * engine saw; whoever called decides again from the state as it is now.
 */
export function applyChanges(state: ConsentState, changes: readonly Change[]): ConsentState {
  if (changes.length === 0) return state;
  const maps: Record<Table, Map<string, unknown>> = {
    ...(state.rows as unknown as Record<Table, Map<string, unknown>>),
  };
  for (const table of new Set(changes.map((change) => change.table))) maps[table] = new Map(maps[table]);
  for (const { table, key, rev, row } of changes) {
    const there = maps[table].get(key) as { rev: number } | undefined;
    if ((there?.rev ?? null) !== rev)
      throw new BullaError('CONSENT_CONFLICT', `Somebody else wrote this row of ${table} meanwhile.`);
    if (row === null) maps[table].delete(key);
    else maps[table].set(key, row);
  }
  const rows = maps as unknown as ConsentState['rows'];
  return rows.manifests === state.rows.manifests
    ? { ...state, rows }
    : indexed(state.user, state.agent, rows);
}

/** The change that writes a row over the one that is there, if any, and counts its revision. */
export function put<T extends Table>(state: ConsentState, table: T, row: Omit<Tables[T], 'rev'>): Change {
  const key = keyOf[table](row as Tables[T]);
  const rev = state.rows[table].get(key)?.rev ?? null;
  return { table, key, rev, row: { ...row, rev: (rev ?? 0) + 1 } } as unknown as Change;
}

/** The change that writes a row where none is. */
export function insert<T extends Table>(table: T, row: Tables[T]): Change {
  return { table, key: keyOf[table](row), rev: null, row } as unknown as Change;
}

export function remove<T extends Table>(table: T, row: Tables[T]): Change {
  return { table, key: keyOf[table](row), rev: row.rev, row: null } as unknown as Change;
}
