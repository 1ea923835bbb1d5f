import { BullaError } from '@bulla/core/error';
import type { Path } from '@bulla/core/json';
import { parsePointer, quoted } from '@bulla/core/json';
import { mappingOf } from './mapping.ts';
import { similar } from './similar.ts';
import type { Config } from './table.ts';

// What no schema can see: members that contradict each other.

type Report = (at: Path, sentence: string) => void;
type Server = Config['servers'] extends ReadonlyMap<string, infer Value> ? Value : never;

/** Reports every contradiction of a configuration whose form is right. */
export function checkSound(config: Config, report: Report): void {
  const { listen, servers, agents, envelopes } = config;
  checkPrefixes(servers, report);
  for (const [name, server] of servers) checkCredentials(server, ['servers', name], report);
  for (const [name, server] of servers) checkTools(config, server, ['servers', name, 'tools'], report);
  checkAgents(config, report);
  if (listen !== undefined && !isLoopback(listen.host) && agents === undefined) {
    report(
      ['listen'],
      'An address beyond this machine needs "agents": without their tokens, anybody there could call the tools.',
    );
  }
  if (envelopes?.skew !== undefined && envelopes.skew % 1000 !== 0)
    report(['envelopes', 'skew'], 'Clocks of envelopes count whole seconds.');
}

/** Of IPv6 only the usual spelling; another one counts as an address beyond this machine. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host.startsWith('127.') || host === '::1';
}

const MAX_PREFIX = 23;

/**
 * With several servers, a name of a tool must lead to one of them for every reader, also one that does not mind case: no
 * prefix is another one, or begins with another one and an underscore.
 */
function checkPrefixes(servers: Config['servers'], report: Report): void {
  if (servers.size < 2) return;
  const known: { name: string; folded: string }[] = [];
  for (const [name, { prefix = name }] of servers) {
    if (prefix.length > MAX_PREFIX) {
      report(
        ['servers', name],
        `The name of the server is longer than the ${MAX_PREFIX} characters that go before the names of its tools; give it a "prefix".`,
      );
    }
    const folded = `${prefix.toLowerCase()}_`;
    const rival = known.find((one) => one.folded.startsWith(folded) || folded.startsWith(one.folded));
    if (rival !== undefined) {
      report(
        servers.get(name)!.prefix === undefined ? ['servers', name] : ['servers', name, 'prefix'],
        `The names of its tools could be taken for those of ${quoted(rival.name)}: no prefix may be another one, in any case, or begin with another one and an underscore.`,
      );
    }
    known.push({ name, folded });
  }
}

function checkCredentials(server: Server, at: Path, report: Report): void {
  if (server.url === undefined) return;
  const { headers = new Map(), token, tokens, oauth = false } = server;
  if (tokens !== undefined && (token !== undefined || oauth !== false))
    report(
      [...at, 'tokens'],
      'Each user has a token of their own: keep one of "tokens", "token" and "oauth".',
    );
  if (token !== undefined && oauth !== false)
    report([...at, 'oauth'], 'With a token, nobody needs to sign in: keep one of "token" and "oauth".');
  const seen = new Set<string>();
  for (const name of headers.keys()) {
    const folded = name.toLowerCase();
    if (seen.has(folded)) report([...at, 'headers', name], 'This header is there already, in another case.');
    seen.add(folded);
    if (folded === 'authorization' && (token !== undefined || tokens !== undefined || oauth !== false))
      report([...at, 'headers', name], 'The token or the sign-in makes this header.');
  }
}

/** What needs an approval that nobody can give could never be called. */
function checkTools({ envelopes }: Config, { tools = new Map() }: Server, at: Path, report: Report): void {
  for (const [tool, { irreversible = false, envelope }] of tools as NonNullable<Server['tools']>) {
    const member = irreversible ? 'irreversible' : 'envelope';
    if (envelopes === undefined && (irreversible || envelope !== undefined))
      report([...at, tool, member], 'This needs "envelopes", which says who approves its calls.');
    if (envelope === undefined) continue;
    try {
      mappingOf(envelope);
    } catch (error) {
      if (!(error instanceof BullaError)) throw error;
      report([...at, tool, 'envelope', ...(parsePointer(error.path ?? '') ?? [])], error.message);
    }
  }
}

function checkAgents({ servers, agents = new Map() }: Config, report: Report): void {
  const known = [...servers.keys()];
  const tokens = new Map<string, string>();
  for (const [name, agent] of agents as NonNullable<Config['agents']>) {
    for (const [i, server] of (agent.servers ?? []).entries()) {
      if (servers.has(server)) continue;
      const near = similar(server, known);
      const meant = near === undefined ? '' : ` Did you mean ${quoted(near)}?`;
      report(['agents', name, 'servers', i], `There is no server ${quoted(server)} in "servers".${meant}`);
    }
    if (agent.bindings !== undefined && agent.manifest === undefined)
      report(['agents', name, 'bindings'], 'Bindings are of the tools of a "manifest", and there is none.');
    const member = agent.token === undefined ? 'tokenHash' : 'token';
    const token = JSON.stringify(agent[member]);
    const other = tokens.get(token);
    if (other !== undefined)
      report(['agents', name, member], `The agent ${quoted(other)} has the same token; each needs its own.`);
    tokens.set(token, name);
  }
}
