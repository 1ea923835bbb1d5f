import { userInfo } from 'node:os';
import type { SealedCapsule } from '@bulla/core/capsule';
import type { Policy } from '@bulla/core/envelope';
import { publishPolicy } from '../envelope/index.ts';
import { createRecorder } from '../record/index.ts';
import type { Chain, Store } from '../store/index.ts';

/** Publishes a version of a policy of envelopes as the user of this process. Rejects as `publishPolicy` does. */
export function publishEnvelopePolicy(
  { store, chain }: { readonly store: Store; readonly chain: Chain },
  document: string,
): Promise<{ policy: Policy; capsule: SealedCapsule }> {
  return publishPolicy(store, document, { record: createRecorder(chain), by: userInfo().username });
}
