import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { checkName, openKeys } from './keys.ts';
import { createWitness, type Witness, type WitnessOptions } from './server.ts';
import { openState } from './state.ts';

export interface OpenWitnessOptions extends Omit<WitnessOptions, 'state' | 'cosigners'> {
  readonly name: string;
  /** The file of what it remembers; its keys lie beside it, as `witness.key` and `witness-ml-dsa.key`. */
  readonly state: string;
  /** Whether it also cosigns with ML-DSA-44. */
  readonly mlDsa?: boolean;
}

export interface OpenedWitness extends Witness {
  close(): Promise<void>;
}

/**
 * Opens a witness, and makes its keys and its state the first time. A key whose state is gone is refused with
 * `WITNESS_STATE_LOST`: it has cosigned what nobody here remembers, and would cosign something else. Throws as
 * `openState`, `openKeys` and `createWitness` do.
 */
export function openWitness({
  name,
  state: file,
  mlDsa = false,
  ...options
}: OpenWitnessOptions): OpenedWitness {
  checkName(name);
  const keyFile = join(dirname(file), 'witness.key');
  const mlDsaFile = join(dirname(file), 'witness-ml-dsa.key');
  const lost = [keyFile, mlDsaFile].find((key) => existsSync(key));
  if (lost !== undefined && !existsSync(file)) {
    throw new BullaError(
      'WITNESS_STATE_LOST',
      `There is the key ${lost}, but not ${file}, which says what it cosigned. Without that it must not go on: begin as another witness, with another name and key.`,
    );
  }
  // The state first: a crash in between leaves one without a key, which is no danger.
  const state = openState(file, { name, create: true });
  try {
    const cosigners = openKeys({ name, file: keyFile, ...(mlDsa && { mlDsaFile }) });
    return { ...createWitness({ ...options, state, cosigners }), close: () => state.close() };
  } catch (error) {
    void state.close();
    throw error;
  }
}
