import { sha256Hex } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { lockDigest } from '@bulla/core/lock';
import {
  type Approvals,
  approvalsOf,
  callPolicies,
  type LoadedConfig,
  loadServerPolicy,
  operatorOf,
  pathsOf,
  policyFile,
  prepareServer,
  readConfig,
} from '../../app/index.ts';
import {
  type GuardedServer,
  type ListenOptions,
  openTelemetry,
  type Telemetry,
} from '../../gateway/index.ts';
import { SIGNATURE_KINDS } from '../../locks/index.ts';
import { type Digests, digestsOf, findInput, resolveSecret } from '../../os/index.ts';
import { tellSignIn } from '../lock/server.ts';
import { observing } from '../run/options.ts';
import { NOTICES } from '../store.ts';
import { type AgentOptions, type DeclaredAgent, declaredAgents } from './agents.ts';
import { type Ready, readyServer, type ServerOptions } from './server.ts';
import { refuseUnapplied } from './unapplied.ts';

/** The options from which it follows what is guarded, and for whom. */
export interface GenerationOptions extends ServerOptions, AgentOptions {
  config?: string;
  server?: string[];
  listen?: { readonly host: string; readonly port: number } | true;
  /** False with `--no-token`. */
  token: boolean;
  telemetry?: boolean;
}

/** What the configuration, the locks and the rules said at one time: checked, ready to be used, and nothing of it started. */
export interface Generation extends Disposable {
  readonly config: LoadedConfig | null;
  readonly servers: readonly Ready[];
  /** What must hold for every server, before anything of it passes. */
  readonly policies: NonNullable<GuardedServer['policies']>;
  /** Who may connect over HTTP. */
  readonly agents: ListenOptions['agents'];
  /** The agents that have a manifest. */
  readonly declared: ReadonlyMap<string, DeclaredAgent>;
  /** What is decided about consent to what they declare; null where none does. */
  readonly operator: ReturnType<typeof operatorOf> | null;
  readonly telemetry: Telemetry | undefined;
  /** Who approves calls that need an envelope; null where none do. */
  readonly approvals: Approvals | null;
  /** The files that it was read from, as they were before. */
  readonly files: Digests;
  /** The digests of what was read, for records. */
  readonly digests: {
    readonly config: string | null;
    readonly locks: Readonly<Record<string, string>>;
    /** Of the policies that are asked about each server, where there are any. */
    readonly rules?: Readonly<Record<string, readonly string[]>>;
    /** Of the manifests, by their agents, where there are any. */
    readonly manifests?: Readonly<Record<string, string>>;
  };
}

type Log = ((line: string) => void) | undefined;

/** Reads the configuration, or what the command line says of one server, and everything that it names. */
export async function readGeneration(
  given: readonly string[],
  options: GenerationOptions,
  log: Log,
): Promise<Generation> {
  const config = options.config === undefined ? null : readConfig(options.config);
  if (config !== null) refuseUnapplied(config);
  const approvals = config === null ? null : approvalsOf(config, options.keys);
  const files = digestsOf([...filesOf(config, options), ...(approvals?.files ?? [])]);
  const servers: Ready[] = [];
  const owned = new DisposableStack();
  try {
    const policies = options.policy === undefined ? [] : [await loadServerPolicy(options.policy)];
    if (config === null) servers.push(owned.use(await readyServer(given, options, log)));
    else {
      const rules = callPolicies(options.rules ?? []);
      for (const key of keysOf(config, options)) {
        const server = owned.use(await readyConfigured(config, key, options));
        servers.push({ ...server, rules: [...rules, ...(server.rules ?? [])] });
      }
    }
    const asked = Object.fromEntries(
      servers.map(({ key, rules = [] }) => [
        key,
        [...policies.map(({ policy }) => policy), ...rules].map(({ digest }) => digest),
      ]),
    );
    const hasRules = Object.values(asked).some((digests) => digests.length > 0);
    const isTokened = options.listen !== undefined && options.token;
    const declared = declaredAgents(config, isTokened, servers, options);
    const manifests = [...declared].map(([id, { declaration }]) => [id, declaration.manifest.hash]);
    return {
      config,
      servers,
      policies,
      agents: isTokened ? await agentsOf(config!) : { id: options.agent },
      declared,
      operator: declared.size === 0 ? null : operatorOf(pathsOf().home, config?.consent),
      telemetry: await telemetryOf(config, options, log),
      approvals,
      // A configuration that was exchanged since it was read has another digest.
      files:
        config === null
          ? files
          : new Map([...files, [options.config!, config.digest.slice('sha256:'.length)]]),
      digests: {
        config: config?.digest ?? null,
        locks: Object.fromEntries(servers.map(({ key, lock }) => [key, lockDigest(lock)])),
        ...(hasRules && { rules: asked }),
        ...(manifests.length > 0 && { manifests: Object.fromEntries(manifests) }),
      },
      [Symbol.dispose]: () => owned.dispose(),
    };
  } catch (error) {
    owned.dispose();
    throw error;
  }
}

/** The digest of the file of the configuration, whatever is in it; null where there is none. */
export function configDigest({ config }: Pick<GenerationOptions, 'config'>): string | null {
  const bytes = config === undefined ? null : findInput(config, 'document');
  return bytes === null ? null : `sha256:${sha256Hex(bytes)}`;
}

function keysOf(config: LoadedConfig, options: GenerationOptions): ReadonlySet<string> {
  const keys = options.server ?? [...config.servers.keys()];
  const unknown = keys.find((key) => !config.servers.has(key));
  if (unknown !== undefined)
    throw new BullaError('USAGE', `The configuration has no server ${JSON.stringify(unknown)}.`);
  return new Set(keys);
}

async function readyConfigured(
  config: LoadedConfig,
  key: string,
  options: GenerationOptions,
): Promise<Ready> {
  const { onLoose } = NOTICES;
  const file = options.config!;
  const server = await prepareServer(config, key, {
    ...observing(options),
    ...{ file, onLoose, openBrowser: tellSignIn },
  });
  return { ...server, name: key };
}

/** The agents of a configuration with the hashes of their tokens. */
async function agentsOf(config: LoadedConfig): Promise<ListenOptions['agents']> {
  const { agents = new Map(), folder } = config;
  if (agents.size === 0)
    throw new BullaError(
      'USAGE',
      'The configuration has no "agents"; on a loopback address --no-token does without.',
    );
  const { createHash } = await import('node:crypto');
  return Promise.all(
    [...agents].map(async ([id, { token, tokenHash }]) => {
      if (tokenHash !== undefined)
        return { id, tokenHash: Buffer.from(tokenHash.slice('sha256:'.length), 'hex') };
      const secret = await resolveSecret(token!, { environment: process.env, base: folder });
      const text = secret.reveal();
      // RFC 6750 §2.1: what follows `Bearer` in the header. With anything else the agent could never come in.
      if (!/^[\x21-\x7e]+$/.test(text))
        throw new BullaError(
          'CONFIG_UNSOUND',
          `The token of the agent ${JSON.stringify(id)} cannot stand in a header: it is empty, or has spaces or other characters than ASCII ones.`,
        );
      return { id, tokenHash: createHash('sha256').update(text, 'utf8').digest() };
    }),
  );
}

async function telemetryOf(
  config: LoadedConfig | null,
  options: GenerationOptions,
  log: Log,
): Promise<Telemetry | undefined> {
  const { enabled = false, recordNames } = config?.telemetry ?? {};
  if (!(options.telemetry ?? enabled)) return undefined;
  const telemetry = await openTelemetry({ recordNames });
  if (telemetry === null)
    log?.('telemetry is off: no OpenTelemetry SDK is loaded, as NODE_OPTIONS=--import does');
  return telemetry ?? undefined;
}

/** The configuration, the locks, the signatures beside them, whether they are there or not, the rules and manifests. */
function filesOf(config: LoadedConfig | null, options: GenerationOptions): string[] {
  const locks = config === null ? [options.lock] : [...config.servers.values()].map(({ lock }) => lock);
  const beside = (lock: string) => Object.values(SIGNATURE_KINDS).map((ending) => `${lock}${ending}`);
  const policies = [...(options.policy === undefined ? [] : [options.policy]), ...(options.rules ?? [])];
  const agents = config === null ? [options] : [...(config.agents?.values() ?? [])];
  const manifests = agents.flatMap(({ manifest, bindings }) => [manifest, bindings]);
  const isAsked = manifests.some((file) => file !== undefined);
  const configured = [...(config?.servers.values() ?? [])].flatMap(({ rules = [] }) => rules);
  return [
    ...(options.config === undefined ? [] : [options.config]),
    ...locks.filter((lock) => lock !== '-').flatMap((lock) => [lock, ...beside(lock)]),
    ...[...policies, ...configured]
      .map(policyFile)
      .flatMap((file) => (file === null || file === '-' ? [] : [file])),
    ...(config?.rules ?? []),
    ...manifests.filter((file) => file !== undefined),
    ...(isAsked ? [pathsOf().operator] : []),
  ];
}
