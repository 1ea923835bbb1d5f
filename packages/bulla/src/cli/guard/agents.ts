import { BullaError } from '@bulla/core/error';
import {
  type BoundServers,
  checkBindings,
  type Declaration,
  type LoadedConfig,
  readDeclaration,
} from '../../app/index.ts';
import { serverName } from '../../locks/index.ts';
import type { Ready } from './server.ts';

/** The options that say which agent the host runs, and what it declares. */
export interface AgentOptions {
  agent: string;
  manifest?: string;
  bindings?: string;
  user?: string;
  park?: number;
}

/** An agent that has a manifest. */
export interface DeclaredAgent {
  readonly declaration: Declaration;
  /** For whom it acts, where the operator says so. */
  readonly user: string | undefined;
}

/**
 * Reads the manifests of the agents that are served: over HTTP with tokens all of the configuration's, else the one of
 * `--agent`. Throws as `readDeclaration` and `checkBindings`, and `USAGE` where a manifest of another agent would be
 * passed over in silence.
 */
export function declaredAgents(
  config: LoadedConfig | null,
  isTokened: boolean,
  servers: readonly Ready[],
  options: AgentOptions,
): ReadonlyMap<string, DeclaredAgent> {
  if (config === null) {
    const { agent, manifest, bindings, user } = options;
    return declared([[agent, { manifest, bindings, user }]], namedServers(servers), () => null);
  }
  const agents = [...(config.agents ?? [])];
  const own = isTokened ? agents : agents.filter(([id]) => id === options.agent);
  const others = agents
    .filter(([, { manifest }]) => manifest !== undefined)
    .map(([id]) => JSON.stringify(id));
  if (own.length === 0 && others.length > 0)
    throw new BullaError(
      'USAGE',
      `The configuration has manifests, and no agent ${JSON.stringify(options.agent)}; say which one the host runs, with --agent: ${others.join(', ')}.`,
    );
  const named = new Map([
    ...[...config.servers.keys()].map((key) => [key, null] as const),
    ...namedServers(servers),
  ]);
  return declared(own, named, (id) => ['agents', id, 'bindings']);
}

/** Where it is said what an agent declares, and for whom it acts. */
type Declares = { readonly [Member in 'manifest' | 'bindings' | 'user']?: string | undefined };

function declared(
  agents: Iterable<readonly [string, Declares]>,
  servers: BoundServers,
  at: (id: string) => readonly string[] | null,
): ReadonlyMap<string, DeclaredAgent> {
  const found = new Map<string, DeclaredAgent>();
  for (const [id, { manifest, bindings, user }] of agents) {
    if (manifest === undefined) continue;
    const declaration = readDeclaration(manifest, bindings);
    if (declaration.bindings !== null) checkBindings(declaration.bindings, servers, at(id));
    found.set(id, { declaration, user });
  }
  return found;
}

/** Servers by what records call them. */
function namedServers(servers: readonly Ready[]): BoundServers {
  return new Map(servers.map(({ name, lock, server }) => [name ?? serverName(lock, server), lock]));
}
