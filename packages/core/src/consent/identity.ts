// What user, agent, device and session are, for each transport. MCP 2026-07-28 has no sessions, so nothing here is
// taken from what a peer says of itself: every fact is one that our end of the transport verified or made.

export type Transport = 'console' | 'relay' | 'stdio' | 'http';

/** Who calls, from where. Null is "not known", and then nothing rests on it. */
export interface Identity {
  readonly transport: Transport;
  readonly user: string | null;
  readonly agent: string | null;
  readonly device: string | null;
  readonly session: string | null;
  /** Between how many: null, not known, is denied as a group is. */
  readonly conversation: 'direct' | 'group' | null;
}

/** A person at the web console: the account, the credential that signed in, and that login. */
export interface ConsoleFacts {
  readonly transport: 'console';
  readonly agent: string | null;
  readonly account: string | null;
  readonly credential: string | null;
  readonly login: string | null;
}

/** An end-to-end encrypted conversation: the account and device whose key opened the message, and the conversation. */
export interface RelayFacts {
  readonly transport: 'relay';
  /** The agent whose signature on the message verified. */
  readonly agent: string | null;
  readonly account: string | null;
  readonly deviceKey: string | null;
  readonly conversation: string | null;
  readonly kind: 'direct' | 'group' | null;
}

/** A host that started the guard on standard streams. */
export interface StdioFacts {
  readonly transport: 'stdio';
  /** As the operator named it on the command line; never what the host calls itself. */
  readonly agent: string | null;
  readonly uid: number | null;
  /** The id of this installation, drawn once and kept with its keys. */
  readonly installation: string | null;
  /** An id drawn when this process of the guard started: one stream, one session. */
  readonly process: string | null;
  /** For whom the agent acts, where the operator named the person; never what a peer says. */
  readonly user?: string | null;
}

/** A host over Streamable HTTP. */
export interface HttpFacts {
  readonly transport: 'http';
  readonly agent: string | null;
  /** Of the verified access token. */
  readonly issuer: string | null;
  readonly subject: string | null;
  /** The thumbprint of the key that the token is bound to (RFC 9449); a bearer token has none. */
  readonly jkt: string | null;
  /** Of the protocol versions that have sessions: the id that we issued. Since 2026-07-28 there is none. */
  readonly sessionId: string | null;
  /** For whom the agent acts, where the operator named the person beside the token that our end gave to the agent. */
  readonly user?: string | null;
  /**
   * The id of this installation, only where our end listens on a loopback address: then the host runs on this machine.
   * What a token is bound to says more.
   */
  readonly installation?: string | null;
}

export type Facts = ConsoleFacts | RelayFacts | StdioFacts | HttpFacts;

/** By which the operator says that a principal, such as `os:…` or `token:…`, is a person who has another name too. */
export type People = ReadonlyMap<string, string>;

const MAX_LENGTH = 512;

/** Derives who calls. Never throws: what is missing, empty, too long or not Unicode is not known. */
export function identityOf(facts: Facts, people: People = new Map()): Identity {
  const { transport } = facts;
  const agent = named('', [facts.agent]);
  const person = (kind: string, parts: readonly (string | null)[]) => {
    const principal = named(kind, parts);
    return principal === null ? null : (people.get(principal) ?? principal);
  };
  /** Whoever the operator named, or what the transport knows. A name that is none is not replaced by another one. */
  const acting = (user: string | null | undefined, known: () => string | null) =>
    user === undefined || user === null ? known() : person('', [user]);
  switch (facts.transport) {
    case 'console':
      return {
        transport,
        user: person('account:', [facts.account]),
        agent,
        device: named('credential:', [facts.credential]),
        session: named('login:', [facts.login]),
        conversation: 'direct',
      };
    case 'relay':
      return {
        transport,
        user: person('account:', [facts.account]),
        agent,
        device: named('device:', [facts.deviceKey]),
        session: named('conversation:', [facts.conversation]),
        conversation: facts.kind === 'direct' || facts.kind === 'group' ? facts.kind : null,
      };
    case 'stdio': {
      const uid = Number.isSafeInteger(facts.uid) ? `${facts.uid}` : null;
      return {
        transport,
        user: acting(facts.user, () => person('os:', [facts.installation, uid])),
        agent,
        device: named('installation:', [facts.installation]),
        session: named('process:', [facts.process]),
        conversation: 'direct',
      };
    }
    case 'http': {
      // A session id is a bearer's word; it counts only beside whom the token names, and each of them has its own: the
      // subject of an issuer, or the agent that the operator gave the token to.
      const isNamed = facts.user !== undefined && facts.user !== null;
      const own = [...(isNamed ? [facts.agent] : [facts.issuer, facts.subject]), facts.sessionId];
      return {
        transport,
        user: acting(facts.user, () => person('token:', [facts.issuer, facts.subject])),
        agent,
        device: named('dpop:', [facts.jkt]) ?? named('installation:', [facts.installation ?? null]),
        session: named('http:', own),
        conversation: 'direct',
      };
    }
    default:
      return { transport, user: null, agent: null, device: null, session: null, conversation: null };
  }
}

/** A name that no other parts have: of several, each is encoded where it could be taken for a separator. */
function named(kind: string, parts: readonly (string | null)[]): string | null {
  const known = parts.filter(isKnown);
  if (known.length < parts.length) return null;
  const [only] = known;
  if (known.length === 1) return kind + only;
  return kind + known.map((part) => part.replaceAll('%', '%25').replaceAll('/', '%2F')).join('/');
}

function isKnown(part: string | null): part is string {
  return typeof part === 'string' && part !== '' && part.length <= MAX_LENGTH && part.isWellFormed();
}
