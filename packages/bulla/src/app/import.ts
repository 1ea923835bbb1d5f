import type { StoredRecord } from '@bulla/core/capsule';
import { BullaError } from '@bulla/core/error';
import { type JsonObject, parse, stringify, toPlain } from '@bulla/core/json';
import { counted } from '@bulla/core/text';
import type { VerifyChainOptions } from '@bulla/core/verify';
import { openSource, verifyChain } from '../chain/index.ts';
import { snapshot } from '../os/index.ts';
import type { Chain, Row } from '../store/index.ts';

/** A chain of a file that was verified and can be stored; what is stored is what was verified. */
interface VerifiedImport extends Disposable {
  readonly count: number;
  /**
   * Stores it behind what the chain has, which must be its beginning; gives the number of new records. Throws
   * `IMPORT_DIFFERS`, `CHAIN_SOURCE`, and what `adopt` throws.
   */
  into(chain: Chain): Promise<number>;
}

/**
 * Verifies a chain to import, in any format that can be verified. Throws `IMPORT_NOT_VERIFIED`, of the kind `unavailable` where
 * only keys are missing; then `missing` says which in words.
 */
export async function verifyImport(
  file: string,
  options: Pick<VerifyChainOptions, 'keys' | 'pqKeys' | 'facts' | 'revoked' | 'requirePq' | 'allowNonFinite'>,
  missing: (keys: Awaited<ReturnType<typeof verifyChain>>['missingKeys']) => string,
): Promise<VerifiedImport> {
  // Read once: whatever becomes of the file meanwhile.
  const { path, remove } = snapshot(file);
  try {
    const verified = await verifyChain(openSource(path), options);
    const refuse = (why: string) =>
      new BullaError('IMPORT_NOT_VERIFIED', `The chain is not imported: ${why}`);
    if (verified.outcome === 'undecided')
      throw new BullaError(
        'IMPORT_NOT_VERIFIED',
        `The chain is not imported. ${missing(verified.missingKeys)}`,
        { kind: 'unavailable' },
      );
    if (!verified.ok) throw refuse(verified.failures[0]?.error ?? 'it is empty');
    // The next checkpoint would make it our word that the key signed which they name.
    const misnamed = verified.warnings.signed_by_mismatch ?? 0;
    if (misnamed > 0)
      throw refuse(
        `the signed_by of ${counted(misnamed, 'record')} names another key than the one that signed.`,
      );
    const { count } = verified;
    return {
      count,
      into: (chain) => adoptAll(chain, path, count, options.allowNonFinite ?? false),
      [Symbol.dispose]: remove,
    };
  } catch (error) {
    remove();
    throw error;
  }
}

const BATCH = 500;

async function adoptAll(chain: Chain, path: string, count: number, allowNonFinite: boolean): Promise<number> {
  const { length } = await chain.head();
  // Every link was verified, so one equal hash means that everything before it is equal too.
  const common = Math.min(length, count) - 1;
  const stored = common < 0 ? undefined : (await chain.records(common).next()).value;
  let imported = 0;
  let rows: Row[] = [];
  for await (const record of openSource(path).records()) {
    const row = rowOf(record, allowNonFinite);
    if (row.sequence === common && row.hash !== stored?.hash)
      throw new BullaError('IMPORT_DIFFERS', `The chain ${chain.name} is another one than that in the file.`);
    if (row.sequence < length) continue;
    rows.push(row);
    imported++;
    if (rows.length === BATCH) {
      await chain.adopt(rows);
      rows = [];
    }
  }
  await chain.adopt(rows);
  return imported;
}

function rowOf(record: StoredRecord, allowNonFinite: boolean): Row {
  if (typeof record === 'object' && 'canonical' in record) {
    throw new BullaError(
      'CHAIN_SOURCE',
      'Records that store a canonical text are verified, but not imported.',
    );
  }
  const capsule = parse(record, allowNonFinite ? { allow: ['non-finite'] } : {}) as JsonObject;
  return {
    sequence: toPlain(capsule.get('sequence')!) as number,
    hash: capsule.get('hash') as string,
    data: stringify(capsule),
  };
}
