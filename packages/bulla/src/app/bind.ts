import type { Bound, Decision } from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { createConsent } from '../consent/index.ts';
import { createManifests, type Rebound } from '../manifest/index.ts';
import { createRecorder } from '../record/index.ts';
import type { Store } from '../store/index.ts';

interface BindRequest {
  readonly agent: string;
  /** What each tool is from now on; null for one that is called without a server. */
  readonly edits: ReadonlyMap<string, Bound | null>;
  /** Who binds. */
  readonly by: string;
  readonly chain: string;
}

export interface BindResult {
  readonly bound: Rebound;
  /** The questions and calls that it ended. */
  readonly ended: readonly Decision[];
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
