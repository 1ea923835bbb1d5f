import { sha256Hex, toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { type Lock, narrowed } from '@bulla/core/lock';
import type { Policy } from '@bulla/core/policy';
import { checkIdentity } from '../locks/index.ts';
import type { Confinement, HttpOptions, StdioTarget, Target } from '../mcp/index.ts';
import { naming, resolveSecret, type SecretRef } from '../os/index.ts';
import type { LoadedConfig } from './config/config.ts';
import type { Setting } from './config/values.ts';
import { type ToolEnvelopes, toolEnvelopes } from './envelopes.ts';
import { type LockTrust, openLock } from './locked.ts';
import type { Observer } from './observer.ts';
import type { Notices } from './open.ts';
import { pathsOf } from './paths.ts';
import { pinnedServer, tellOpenFolder } from './pinned.ts';
import { callPolicies } from './policy.ts';
import { checkRights, confineWith, type Header, rightsFor } from './server.ts';

/** A server of a configuration, ready to be guarded: its lock is read, its secrets are fetched, nothing is started. */
interface PreparedServer extends Disposable {
  readonly key: string;
  /** What stands before its names where there are several servers. */
  readonly prefix: string;
  readonly lock: Lock;
  readonly server: Target;
  readonly start: Pick<StdioTarget, 'command' | 'args'> | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly confine: Confinement | undefined;
  readonly http: Pick<HttpOptions, 'headers' | 'secretHeaders' | 'authorizer'> | undefined;
  readonly mode: 'enforce' | 'filter' | 'audit' | undefined;
  readonly features: readonly ('roots' | 'sampling' | 'elicitation')[] | undefined;
  readonly uris: ServerConfig['uris'];
  readonly escapes: boolean | undefined;
  /** Rules for single tools. */
  readonly tools: ServerConfig['tools'];
  /** Rules about its calls. */
  readonly rules: readonly Policy[];
  /** Which of its calls need an envelope. */
  readonly approved: ToolEnvelopes;
  readonly restart: boolean | undefined;
  readonly timeoutMs: number | undefined;
  readonly recheckMs: number | undefined;
  /** A digest of the values with which it is reached, secrets too: when it differs, it must be reached anew. */
  readonly reach: string;
  /**
   * How it is reached for a user, where each has credentials of their own; then `http` has none. Throws
   * `GATEWAY_NO_USER_TOKEN` for a user who has none, and for nobody: nobody gets those of another one.
   */
  readonly asUser?: ((user: string | undefined) => Pick<PreparedServer, 'http' | 'reach'>) | undefined;
}

type ServerConfig = LoadedConfig['servers'] extends ReadonlyMap<string, infer Server> ? Server : never;

interface PrepareOptions extends Observer, Pick<Notices, 'onLoose'> {
  /** The file of the configuration. */
  readonly file: string;
  /** Shows a person the page where to sign in; absent where nobody can. */
  readonly openBrowser?: ((page: URL) => void) | undefined;
}

/**
 * Prepares a server of a configuration. Rejects with the codes of its lock, of rules, of secrets and of pinned programs, with `CONFIG_UNSOUND` for tools that
 * the lock does not hold, and with
 * `GATEWAY_OTHER_SERVER` and `GATEWAY_OTHER_RIGHTS` where the lock is of another server, or was made with other rights.
 */
export async function prepareServer(
  config: LoadedConfig,
  key: string,
  options: PrepareOptions,
): Promise<PreparedServer> {
  const server = config.servers.get(key)!;
  const { lock: whole } = openLock(server.lock, trustOf(config));
  const lock = server.only === undefined ? whole : narrowed(whole, server.only);
  const common = {
    key,
    lock,
    prefix: server.prefix ?? key,
    cwd: config.folder,
    mode: server.mode,
    features: server.pass,
    uris: server.uris,
    escapes: server.escapes,
    tools: server.tools,
    rules: callPolicies([...(config.rules ?? []), ...(server.rules ?? [])]),
    approved: toolEnvelopes(key, server, whole),
    timeoutMs: server.timeout,
    recheckMs: server.recheck,
  };
  const text = (ref: SecretRef) =>
    resolveSecret(ref, { environment: process.env, base: config.folder }).then((secret) => secret.reveal());
  const settings = (given: ReadonlyMap<string, Setting> = new Map()) =>
    Promise.all(
      [...given].map(async ([name, value]) => {
        const isSecret = !(typeof value === 'object' && 'value' in value);
        return { name, value: isSecret ? await text(value) : value.value, isSecret };
      }),
    );
  if (server.url !== undefined) {
    const target: Target = { kind: 'http', url: server.url };
    const headers = await settings(server.headers);
    const pick = (isSecret: boolean): Header[] => headers.filter((header) => header.isSecret === isSecret);
    const { oauth = false } = server;
    const { openBrowser } = options;
    const rightsWith = (ref: SecretRef | undefined, token: string | undefined) =>
      rightsFor(target, {
        headers: pick(false),
        secretHeaders: pick(true),
        onLoose: options.onLoose,
        ...(token !== undefined && { token, readToken: () => text(ref!) }),
        ...(oauth !== false &&
          openBrowser && {
            signIn: {
              isAsked: true,
              ...(oauth === true
                ? { stepUp: false }
                : {
                    privateOrigins: oauth.privateOrigins,
                    signInMs: oauth.signIn,
                    stepUp: oauth.stepUp ?? false,
                  }),
              openBrowser,
            },
          }),
      });
    /** With these rights the server is used, if they are of the kind with which it was locked. */
    const reachedBy = async (ref: SecretRef | undefined) => {
      const token = ref === undefined ? undefined : await text(ref);
      const rights = rightsWith(ref, token);
      naming(server.lock, () => {
        checkIdentity(lock, target);
        checkRights(lock, rights);
      });
      return { http: rights.http ?? undefined, reach: reachOf({ headers, token: token ?? null, oauth }) };
    };
    // It may end a session when it likes.
    const none = { start: undefined, confine: undefined, restart: true, environment: process.env };
    const fixed = { ...common, ...none, server: target, [Symbol.dispose]() {} };
    if (server.tokens === undefined) return { ...fixed, ...(await reachedBy(server.token)) };
    const users = new Map(
      await Promise.all([...server.tokens].map(async ([user, ref]) => [user, await reachedBy(ref)] as const)),
    );
    const asUser = (user: string | undefined) => userOf(users, user, key);
    return { ...fixed, http: undefined, reach: '', asUser };
  }
  const variables = await settings(server.env);
  const target: StdioTarget = {
    kind: 'stdio',
    command: server.command,
    args: server.args ?? [],
    env: variables.map(({ name }) => name).sort(),
  };
  naming(server.lock, () => checkIdentity(lock, target));
  const pinned = server.pinned ? await pinnedServer(lock, target, options) : null;
  if (pinned?.installed) tellOpenFolder(pinned.installed.folder, options);
  return {
    ...common,
    server: target,
    start: pinned?.target,
    environment: {
      ...process.env,
      ...Object.fromEntries(variables.map(({ name, value }) => [name, value])),
    },
    confine: confineWith(confinementIn(config, server, options.file), pinned),
    http: undefined,
    restart: server.restart,
    reach: reachOf({ variables, restart: server.restart ?? false }),
    [Symbol.dispose]() {
      pinned?.[Symbol.dispose]();
    },
  };
}

function userOf<Reached>(
  users: ReadonlyMap<string, Reached>,
  user: string | undefined,
  key: string,
): Reached {
  const found = user === undefined ? undefined : users.get(user);
  if (found !== undefined) return found;
  const who = user === undefined ? 'An agent without a "user"' : `The user ${JSON.stringify(user)}`;
  throw new BullaError(
    'GATEWAY_NO_USER_TOKEN',
    `${who} has no token for the server ${JSON.stringify(key)}, which has one for each user.`,
  );
}

/** Only compared with others in this process, never shown. */
function reachOf(values: object): string {
  return sha256Hex(toUtf8(JSON.stringify(values)));
}

function trustOf({ trust = {} }: LoadedConfig): LockTrust {
  return { requireSignature: trust.requireSignature, key: trust.keys, keyring: trust.keyring };
}

/** The server sees neither our data nor the keyring, and cannot write its own lock and configuration. */
function confinementIn(config: LoadedConfig, server: ServerConfig, file: string): Confinement | undefined {
  const { confine = false } = server.url === undefined ? server : {};
  if (confine === false) return undefined;
  const url = config.store?.url;
  const store = url !== undefined && 'file' in url ? url.file : undefined;
  const paths = pathsOf(undefined, { store, keys: config.store?.keys });
  const files = url !== undefined && 'secret' in url ? [] : [paths.store, `${paths.store}.checkpoints`];
  return {
    ...(confine === true ? {} : confine),
    hidden: [...files, paths.keys],
    fixed: [server.lock, file],
  };
}
