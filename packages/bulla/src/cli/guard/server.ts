import { BullaError } from '@bulla/core/error';
import { type Lock, narrowed } from '@bulla/core/lock';
import {
  callPolicies,
  checkRights,
  confineWith,
  type LockTrust,
  openLock,
  pinnedServer,
  rightsFor,
  type ToolEnvelopes,
  targetFor,
  tellOpenFolder,
} from '../../app/index.ts';
import type { ClientFeature, GuardedServer, Mode } from '../../gateway/index.ts';
import { checkIdentity } from '../../locks/index.ts';
import { type ConfineOptions, confinementOf } from '../lock/confine.ts';
import type { FailOn } from '../lock/options.ts';
import { type ReachOptions, reachOf } from '../lock/server.ts';
import { type FetchOptions, observing } from '../run/options.ts';
import type { StoreOptions } from '../store.ts';
import { refusing } from '../terminal/io.ts';
import { relockCommand, unseenNames } from './env.ts';
import { typed } from './host-config.ts';

/** The options by which one server is guarded. */
export interface ServerOptions extends StoreOptions, LockTrust, FetchOptions, ReachOptions, ConfineOptions {
  lock: string;
  pinned?: boolean;
  only?: string[];
  rules?: string[];
  name?: string;
  pass: ClientFeature[];
  timeout?: number;
  recheck?: number;
  failOn?: FailOn;
  policy?: string;
  allowStaticResources?: boolean;
  restart?: boolean;
  allowPrivateUris?: boolean;
  allowEscapes?: boolean;
  auditOnly?: boolean;
  filterOnly?: boolean;
  allowOtherCommand?: boolean;
  quiet?: boolean;
}

/** What is said of one server, without where it is recorded. */
export type Ready = Omit<GuardedServer, 'store' | 'chain'> &
  Disposable & {
    readonly approved?: ToolEnvelopes;
    /** How it is reached for a user, where each has credentials of their own. Throws for one who has none. */
    readonly asUser?: ((user: string | undefined) => Pick<GuardedServer, 'http' | 'reach'>) | undefined;
  };

/** The lock that the options name, with the tools that they choose. */
export function lockOf(options: ServerOptions): Lock {
  const { lock } = openLock(options.lock, options);
  return options.only === undefined ? lock : narrowed(lock, options.only);
}

/** The one server that the words after `--` and the options say; nothing is started yet. */
export async function readyServer(
  words: readonly string[],
  options: ServerOptions,
  log: ((line: string) => void) | undefined,
): Promise<Ready> {
  const lock = lockOf(options);
  const server = targetFor({ server: words, env: options.env }, lock);
  const confine = confinementOf(options, [options.lock]);
  const reach = reachOf(options, false);
  // Whoever starts a session grants what the lock was made with, and no more.
  const signIn = reach.signIn && { ...reach.signIn, stepUp: false };
  const rights = rightsFor(server, { ...reach, signIn, confine });
  if (!options.allowOtherCommand) {
    const identity = lock.native?.identity;
    const isMore =
      identity?.transport === 'stdio' && options.env.some((name) => !identity.env.includes(name));
    if (isMore && server.kind === 'stdio')
      log?.(`to lock it with these variables, ${relockCommand(options.lock, server, [])}`);
    refusing('Nothing was started', () => {
      checkIdentity(lock, server);
      checkRights(lock, rights);
    });
  }
  const unseen = server.kind === 'stdio' ? unseenNames(process.env, server.env) : [];
  if (server.kind === 'stdio' && unseen.length > 0) {
    const how = relockCommand(options.lock, server, unseen);
    log?.(`the server does not see ${unseen.join(', ')}, which the lock does not name; to let it, ${how}`);
  }
  if (lock.native === null)
    log?.(`${options.lock} holds some hashes only; '${typed(['lock'])}' pins whole definitions`);
  if (options.allowStaticResources && lock.native !== null)
    log?.(`--allow-static-resources changes nothing: ${options.lock} pins the resources themselves`);
  if (options.pinned && server.kind !== 'stdio')
    throw new BullaError('USAGE', 'A server at an address is not started here: --pinned is for a command.');
  const observer = observing(options);
  const { allowPrivateRegistry } = options;
  const pinned = options.pinned
    ? await pinnedServer(lock, server, { allowPrivateRegistry, ...observer })
    : null;
  if (pinned?.installed) tellOpenFolder(pinned.installed.folder, observer);
  return {
    key: 'server',
    prefix: 'server',
    lock,
    server,
    start: pinned?.target,
    http: rights.http ?? undefined,
    confine: confineWith(confine, pinned),
    name: options.name,
    mode: modeOf(options),
    features: options.pass,
    authorization: options.allowOtherCommand ? undefined : rights.authorization,
    staticResources: options.allowStaticResources && lock.native === null,
    // A server at an address may end a session when it likes.
    restart: options.restart ?? server.kind === 'http',
    uris: { private: options.allowPrivateUris },
    escapes: options.allowEscapes,
    rules: callPolicies(options.rules ?? []),
    allowOtherServer: options.allowOtherCommand,
    timeoutMs: options.timeout,
    recheckMs: options.recheck,
    [Symbol.dispose]() {
      pinned?.[Symbol.dispose]();
    },
  };
}

function modeOf({ auditOnly, filterOnly }: ServerOptions): Mode {
  if (auditOnly) return 'audit';
  return filterOnly ? 'filter' : 'enforce';
}
