import { BullaError } from '@bulla/core/error';
import { commitmentsOf, readEvidence } from '@bulla/core/evidence';
import { type JsonValue, memberAt, parse, textAt } from '@bulla/core/json';
import type { Driver, IndexEntry, Row } from './driver.ts';
import { indexKey, indexText } from './index-key.ts';

const PAGE = 500;

/** Brings the search tables of a chain up to its head; how many records were added. */
export async function catchUp(driver: Driver, chain: string): Promise<number> {
  let added = 0;
  for (;;) {
    const from = await driver.indexed(chain);
    const rows = await driver.read(chain, from, PAGE);
    if (rows.length === 0) return added;
    added += await addPage(driver, chain, from, rows);
  }
}

/** Adds a page of records; one that the database does not take must not keep the others from being found. */
async function addPage(driver: Driver, chain: string, from: number, rows: readonly Row[]): Promise<number> {
  const refused: [sequence: number, error: BullaError][] = [];
  const entries = rows.map((row) => {
    try {
      return indexEntry(row);
    } catch (error) {
      if (!(error instanceof BullaError)) throw error;
      refused.push([row.sequence, error]);
      return bareEntry(row);
    }
  });
  try {
    // False means that another process indexed the same rows; the next round begins behind them.
    if (!(await driver.addToIndex(chain, from, entries))) return 0;
    for (const [sequence, error] of refused) warn(chain, sequence, error);
    return rows.length;
  } catch (error) {
    // A store that is full or away takes none of them now.
    if (!(error instanceof BullaError) || error.code !== 'STORE_FAILED') throw error;
    const [row] = rows as [Row];
    if (rows.length > 1) {
      const middle = rows.length >> 1;
      return (
        (await addPage(driver, chain, from, rows.slice(0, middle))) +
        (await addPage(driver, chain, rows[middle - 1]!.sequence + 1, rows.slice(middle)))
      );
    }
    if (!(await driver.addToIndex(chain, from, [bareEntry(row)]))) return 0;
    warn(chain, row.sequence, error);
    return 1;
  }
}

function warn(chain: string, sequence: number, { code }: BullaError): void {
  process.emitWarning(`Record ${sequence} of the chain ${chain} can be found by its hash only (${code}).`, {
    code: 'STORE_UNSEARCHABLE',
  });
}

/** What a record is found by. A field of another type than it should be, in a foreign record, is not found by it. */
export function indexEntry(row: Row): IndexEntry {
  const capsule = parse(row.data, { allow: ['non-finite', 'lone-surrogates'] });
  const key = (...path: string[]) => keyAt(capsule, path) ?? '';
  const summary = memberAt(capsule, ['outcome', 'summary']);
  return {
    sequence: row.sequence,
    hash: indexKey(row.hash),
    id: key('id'),
    type: key('type'),
    domain: key('domain'),
    parentId: keyAt(capsule, ['parent_id']),
    agentId: key('context', 'agent_id'),
    sessionId: keyAt(capsule, ['context', 'session_id']),
    correlationId: keyAt(capsule, ['trigger', 'correlation_id']),
    timestamp: key('trigger', 'timestamp'),
    status: key('outcome', 'status'),
    summary: typeof summary === 'string' ? indexText(summary) : '',
    tools: toolsOf(capsule).map(indexKey),
    commitments: Object.entries(readable(() => commitmentsOf(capsule)) ?? {}).map(
      ([kind, { commitment }]) => ({ kind, commitment: indexKey(commitment) }),
    ),
  };
}

/** The tools that a record names, each once: those that it says were called, and the one that it is about. */
export function toolsOf(capsule: JsonValue): string[] {
  const calls = memberAt(capsule, ['execution', 'tool_calls']);
  const called = (Array.isArray(calls) ? calls : []).map((call) => textAt(call, ['tool']));
  const about = readable(() => readEvidence(capsule)?.tool?.name);
  return [...new Set([...called, about])].filter((tool) => typeof tool === 'string');
}

/** Anybody's chain can be imported, with evidence that we cannot read: undefined for such. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof BullaError) return undefined;
    throw error;
  }
}

function bareEntry({ sequence, hash }: Row): IndexEntry {
  const none = { id: '', type: '', domain: '', agentId: '', timestamp: '', status: '', summary: '' };
  const nulls = { parentId: null, sessionId: null, correlationId: null };
  return { ...none, ...nulls, sequence, hash: indexKey(hash), tools: [], commitments: [] };
}

function keyAt(value: JsonValue | undefined, path: readonly string[]): string | null {
  const found = textAt(value, path);
  return found === null ? null : indexKey(found);
}
