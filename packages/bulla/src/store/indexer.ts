import { JsonObject, type JsonValue, parse } from '@bulla/core/json';
import type { Driver, IndexEntry, Row } from './driver.ts';

const PAGE = 500;

/** Brings the search tables of a chain up to its head; how many records were added. */
export async function catchUp(driver: Driver, chain: string): Promise<number> {
  let added = 0;
  for (;;) {
    const from = await driver.indexed(chain);
    const rows = await driver.read(chain, from, PAGE);
    if (rows.length === 0) return added;
    // False means that another process indexed the same rows; the next round begins behind them.
    if (await driver.addToIndex(chain, from, rows.map(indexEntry))) added += rows.length;
  }
}

/** What a record is found by. A field of another type than it should be, in a foreign record, is not found by it. */
export function indexEntry(row: Row): IndexEntry {
  const capsule = parse(row.data, { allow: ['non-finite', 'lone-surrogates'] });
  const text = (...path: string[]) => textAt(capsule, path) ?? '';
  const calls = at(capsule, ['execution', 'tool_calls']);
  return {
    sequence: row.sequence,
    hash: row.hash,
    id: text('id'),
    type: text('type'),
    domain: text('domain'),
    parentId: textAt(capsule, ['parent_id']),
    agentId: text('context', 'agent_id'),
    sessionId: textAt(capsule, ['context', 'session_id']),
    correlationId: textAt(capsule, ['trigger', 'correlation_id']),
    timestamp: text('trigger', 'timestamp'),
    status: text('outcome', 'status'),
    summary: text('outcome', 'summary'),
    tools: [
      ...new Set(
        (Array.isArray(calls) ? calls : [])
          .map((call) => textAt(call, ['tool']))
          .filter((tool) => tool !== null),
      ),
    ],
  };
}

function at(value: JsonValue | undefined, path: readonly string[]): JsonValue | undefined {
  let found = value;
  for (const key of path) found = found instanceof JsonObject ? found.get(key) : undefined;
  return found;
}

function textAt(value: JsonValue | undefined, path: readonly string[]): string | null {
  const found = at(value, path);
  return typeof found === 'string' ? found.toWellFormed() : null;
}
