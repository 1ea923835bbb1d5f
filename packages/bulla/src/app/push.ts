import type { Decision } from '@bulla/core/consent';
import { createConsent } from '../consent/index.ts';
import { createManifests, type Pushed } from '../manifest/index.ts';
import { createRecorder } from '../record/index.ts';
import type { Store } from '../store/index.ts';

interface PushRequest {
  readonly agent: string;
  readonly manifest: Uint8Array;
  /** Which tools of servers its tools are. Default: what they were. */
  readonly bindings?: Uint8Array | undefined;
  readonly idempotencyKey?: string | undefined;
  /** Who pushes. */
  readonly by: string;
  readonly chain: string;
}

interface PushResult {
  readonly pushed: Pushed;
  /** The questions and calls that it ended. */
  readonly ended: readonly Decision[];
}

/**
 * Makes a manifest the next version of an agent's, and ends what does not hold under it. Rejects as `Manifests.push`
 * does.
 */
export async function pushManifest(store: Store, request: PushRequest): Promise<PushResult> {
  const { agent, manifest, chain, by, bindings, idempotencyKey } = request;
  const record = createRecorder(store.chain(chain));
  const options = { by, record, idempotencyKey, bindings };
  const pushed = await createManifests(store).push(agent, manifest, options);
  const ended = pushed.repeated ? [] : await createConsent(store, { chain, record }).sweep();
  return { pushed, ended };
}
