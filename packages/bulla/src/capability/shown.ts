import {
  captureAgentSnapshotEnvelope,
  createRegisteredAgent,
  type StandardSchema,
  tool,
  toolkit,
} from '@bulla/core/capability';
import { BullaError } from '@bulla/core/error';
import type { Evidence } from '@bulla/core/evidence';
import { type JsonObject, toPlain } from '@bulla/core/json';
import { hashedLink } from './hashed.ts';
import type { Registry } from './registry.ts';

/** A tool as a host was shown it. */
export interface ShownTool {
  readonly definition: JsonObject;
  /** Of the whole definition, as a lock would pin it; null where it has none. */
  readonly digest: string | null;
}

/** What a host could call, in hashes. */
export interface ShownLink {
  readonly capability: NonNullable<Evidence['capability']>;
  /** By the name of each tool its hash in the link. */
  readonly fingerprints: ReadonlyMap<string, string>;
}

/**
 * Makes the link of the tools that a host was shown, and keeps its envelope in the registry, so that an auditor can have
 * it. All hashes are of these tools and of nothing else: the runtime hash covers their whole definitions. Rejects with
 * `CAPABILITY_…`, `REGISTRY_ENVELOPE` and `VALUE_…` for definitions that have no hash, and with a `STORE_…` code.
 */
export async function linkOfShown(
  registry: Registry,
  { agentId, server }: { readonly agentId: string; readonly server: string },
  shown: readonly ShownTool[],
): Promise<ShownLink> {
  const augments: Record<string, string> = Object.create(null);
  const members = new Map<string, ShownTool>();
  for (const one of shown) {
    const name = one.definition.get('name') as string;
    const before = members.get(name);
    if (before !== undefined && (one.digest === null || before.digest !== one.digest)) {
      const why = `The tool ${JSON.stringify(name)} was shown with two definitions.`;
      throw new BullaError('CAPABILITY_NAME_COLLISION', why);
    }
    members.set(name, one);
    if (one.digest !== null) augments[name] = `mcp-lock:${one.digest}`;
  }
  const rootComposable = toolkit(
    [...members].map(([name, { definition }]) => shownTool(name, definition)),
    {
      name: server,
    },
  );
  const agent = createRegisteredAgent({ agentId, name: server, rootComposable });
  const { envelope, link } = await captureAgentSnapshotEnvelope({
    ...{ agent, ctx: { env: {} }, runtimeToolAugments: augments },
  });
  const { hash } = await registry.putEnvelope(envelope);
  const { staticHash, runtimeHash, toolRefs } = link;
  const hashes = { static: staticHash, runtime: runtimeHash, link: hashedLink(link).hash };
  return {
    capability: { ...hashes, envelope: hash },
    fingerprints: new Map(toolRefs.map(({ toolKey, toolHash }) => [toolKey, toolHash])),
  };
}

/** It is only hashed: nothing validates or runs by it. */
function shownTool(name: string, definition: JsonObject) {
  const description = definition.get('description');
  const schema = toPlain(definition.get('inputSchema') ?? null);
  const inputSchema: StandardSchema & { toJSONSchema(): unknown } = {
    '~standard': { version: 1, vendor: 'mcp', validate: (value) => ({ value }) },
    toJSONSchema: () => schema,
  };
  return tool({
    name,
    description: typeof description === 'string' ? description : null,
    inputSchema,
    handler: () => undefined,
  });
}
