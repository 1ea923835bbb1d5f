import type { ChainSource } from '@bulla/core/verify';
import type { Chain } from '../store/index.ts';

/** A chain of the local store as a source, up to the head that it has now. */
export async function storeSource(chain: Chain): Promise<ChainSource> {
  const { length } = await chain.head();
  return {
    format: 'store',
    size: { unit: 'records', total: length },
    async *records(progress) {
      for await (const row of chain.records()) {
        if (row.sequence >= length) return;
        yield row.data;
        progress?.(row.sequence + 1);
      }
    },
  };
}
