import type { Bound, Decision } from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { createConsent } from '../consent/index.ts';
import { createManifests, type Pushed, type Rebound } from '../manifest/index.ts';
import { createRecorder } from '../record/index.ts';
import type { Store } from '../store/index.ts';

/** Whose manifest changes, by whom, and where that is recorded. */
interface ManifestChange {
  readonly agent: string;
  readonly by: string;
  readonly chain: string;
}

interface PushRequest extends ManifestChange {
  readonly manifest: Uint8Array;
  /** Which tools of servers its tools are. Default: what they were. */
  readonly bindings?: Uint8Array | undefined;
  readonly idempotencyKey?: string | undefined;
}

interface BindRequest extends ManifestChange {
  /** What each tool is from now on; null for one that is called without a server. */
  readonly edits: ReadonlyMap<string, Bound | null>;
}

/** The questions and calls that a change ended. */
interface Ended {
  readonly ended: readonly Decision[];
}

export interface BindResult extends Ended {
  readonly bound: Rebound;
}

/**
 * Makes a manifest the next version of an agent's, and ends what does not hold under it. Rejects as `Manifests.push`
 * does.
 */
export async function pushManifest(
  store: Store,
  { agent, manifest, chain, ...options }: PushRequest,
): Promise<Ended & { readonly pushed: Pushed }> {
  const record = createRecorder(store.chain(chain));
  const pushed = await createManifests(store).push(agent, manifest, { ...options, record });
  return { pushed, ended: pushed.repeated ? [] : await createConsent(store, { chain, record }).sweep() };
}

/** Says anew which tools of servers an agent's tools are, and ends what rested on others. Rejects as `Manifests.bind`. */
export async function bindTools(store: Store, { agent, edits, by, chain }: BindRequest): Promise<BindResult> {
  const record = createRecorder(store.chain(chain));
  const bound = await createManifests(store).bind(agent, edits, { by, record });
  return { bound, ended: await createConsent(store, { chain, record }).sweep() };
}

/**
 * Reads edits such as `read_file=files/read_text_file`, or `read_file=` for none. A tool's name may hold slashes, a
 * server's may not. Throws `MANIFEST_BINDING` for anything else, and for a tool that stands there twice.
 */
export function readEdits(texts: readonly string[]): ReadonlyMap<string, Bound | null> {
  const edits = new Map<string, Bound | null>();
  for (const text of texts) {
    const [, name, server, tool] = /^([^=/]+)=(?:([^/]+)\/(.+))?$/s.exec(text) ?? [];
    if (name === undefined || edits.has(name))
      throw new BullaError(
        'MANIFEST_BINDING',
        'A binding is TOOL=SERVER/TOOL, or TOOL= for none, and each tool stands here once.',
      );
    edits.set(name, server === undefined ? null : { server, tool: tool! });
  }
  return edits;
}
