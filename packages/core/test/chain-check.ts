import {
  type ChainState,
  checkRecord,
  createChainVerifier,
  type StoredRecord,
  type VerifyOptions,
} from '../src/capsule/index.ts';
import { JsonObject, stringify } from '../src/json/index.ts';

export interface ChainCheckOptions extends VerifyOptions {
  readonly mode?: ChainState['mode'];
  readonly expectLength?: number;
  readonly expectHead?: string;
  readonly from?: ChainState;
}

/** A check of a chain that reads and verifies each record before it takes it. */
export function chainCheck({
  mode = 'cryptographic',
  expectLength,
  expectHead,
  from,
  ...how
}: ChainCheckOptions) {
  const { push, ...verifier } = createChainVerifier({ mode, expectLength, expectHead, from });
  return {
    ...verifier,
    push(record: StoredRecord | JsonObject): void {
      const { link, verdict } = checkRecord(
        record instanceof JsonObject ? stringify(record) : record,
        mode,
        how,
      );
      push(link, verdict);
    },
  };
}
