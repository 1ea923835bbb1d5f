import { type JsonObject, parse, textAt } from '@bulla/core/json';
import { createHistory, type History, storyOf } from '@bulla/core/verify';
import { type Chain, toolsOf } from '../store/index.ts';

/** How often each name occurs in the records of a chain; without a prototype, because others chose the names. */
interface ChainStats {
  readonly records: number;
  readonly counts: Readonly<Record<'type' | 'status' | 'tool' | 'agent', Readonly<Record<string, number>>>>;
  readonly history: History;
}

/** Counts the records of a chain by type, status, agent, and every tool that they name. */
export async function chainStats(chain: Chain): Promise<ChainStats> {
  const empty = (): Record<string, number> => Object.create(null);
  const counts = { type: empty(), status: empty(), tool: empty(), agent: empty() };
  const history = createHistory();
  const add = (kind: keyof typeof counts, name: string | null) => {
    if (name) counts[kind][name] = (counts[kind][name] ?? 0) + 1;
  };
  let records = 0;
  for await (const row of chain.records()) {
    const record = parse(row.data, { allow: ['non-finite', 'lone-surrogates'] }) as JsonObject;
    history.add(storyOf(record), records);
    records++;
    add('type', textAt(record, ['type']));
    add('status', textAt(record, ['outcome', 'status']));
    add('agent', textAt(record, ['context', 'agent_id']));
    for (const tool of toolsOf(record)) add('tool', tool);
  }
  return { records, counts, history: history.finish() };
}
