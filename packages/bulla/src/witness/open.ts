import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Disk } from '../os/index.ts';
import { bindKeys, checkName, finishKeys, openKeys } from './keys.ts';
import { lost } from './mark.ts';
import { createWitness, type Witness, type WitnessOptions } from './server.ts';
import { openState } from './state.ts';

interface OpenWitnessOptions extends Omit<WitnessOptions, 'state' | 'cosigners'> {
  readonly name: string;
  /**
   * The file of what it remembers; its keys lie beside it, as `witness.key` and `witness-ml-dsa.key`, and
   * its mark, as `witness.mark`.
   */
  readonly state: string;
  /** Whether it also cosigns with ML-DSA-44. */
  readonly mlDsa?: boolean;
  readonly disk?: Disk;
}

export interface OpenedWitness extends Witness {
  close(): Promise<void>;
}

/**
 * Opens a witness, and makes its keys and its state the first time. A key whose state is gone, emptied, older or
 * damaged is refused with `WITNESS_STATE_LOST`: it has cosigned what nobody here remembers, and would cosign something
 * else. Throws as `openState`, `openKeys`, `bindKeys` and `createWitness` do.
 */
export function openWitness({
  name,
  state: file,
  mlDsa = false,
  disk,
  ...options
}: OpenWitnessOptions): OpenedWitness {
  checkName(name);
  const folder = dirname(file);
  const [keyFile, mlDsaFile] = [join(folder, 'witness.key'), join(folder, 'witness-ml-dsa.key')];
  const remains = [keyFile, mlDsaFile].find((path) => existsSync(path));
  if (remains !== undefined && !existsSync(file)) {
    throw lost(`There is the key ${remains}, but not ${file}, which says what it cosigned.`);
  }
  const keys = { name, file: keyFile, ...(mlDsa && { mlDsaFile }), ...(disk && { disk }) };
  const bind = (known: readonly string[]) => bindKeys(file, keys, known);
  const state = openState(file, { name, bind, ...(disk && { disk }) });
  try {
    finishKeys(keys);
    return { ...createWitness({ ...options, state, cosigners: openKeys(keys) }), close: () => state.close() };
  } catch (error) {
    void state.close();
    throw error;
  }
}
