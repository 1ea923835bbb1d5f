import { randomUUID } from 'node:crypto';
import { BullaError } from '@bulla/core/error';
import type { Lock } from '@bulla/core/lock';
import { counted } from '@bulla/core/text';
import { Option } from 'commander';
import type { Approvals, LoadedConfig, OpenApprovals, Opened } from '../../app/index.ts';
import {
  CLIENT_FEATURES,
  type GuardedServer,
  type Listening,
  listen,
  pinsOf,
  type Servers,
  serversOf,
  serveStreams,
} from '../../gateway/index.ts';
import { resolveSecret } from '../../os/index.ts';
import { watchOrphans } from '../../record/index.ts';
import type { Command } from '../command.ts';
import { COMPAT } from '../lock/compat.ts';
import { confineOptions } from '../lock/confine.ts';
import { failOnOption, lockOption, requireOptions, severityOf } from '../lock/options.ts';
import { reachOptions } from '../lock/server.ts';
import { tellLines } from '../lock/server-lines.ts';
import { fetchOptions } from '../run/options.ts';
import { openFor, type StoreOptions, sealOptions, strictOption } from '../store.ts';
import { escaped } from '../terminal/indented.ts';
import { durationOption } from '../terminal/input.ts';
import { complain, EXIT, type Exit, exitOf, print, say } from '../terminal/io.ts';
import { createRepeats } from '../terminal/repeats.ts';
import { type Address, addressOf } from './address.ts';
import { type Asked, createAsked } from './consent.ts';
import { type Findings, tellFindings } from './findings.ts';
import { configDigest, type Generation, type GenerationOptions, readGeneration } from './generation.ts';
import { checkRestart, type ReloadOptions, reloading } from './reload.ts';
import { lockOf } from './server.ts';

interface GuardOptions extends GenerationOptions {
  listen?: Address | true;
  /** False with `--no-record`. */
  record: boolean;
  printEffectiveAllowlist?: boolean;
}

/** Also what the released program calls `proxy`. */
export function define(command: Command): void {
  const server = command.argument('[server...]', 'the server, after --; without it the one of the lock');
  server
    .option('--config <file>', 'guard the servers of a configuration (bulla.json) instead of one server')
    .option('--server <name...>', 'of the configuration only these servers')
    .option(
      '--listen [address]',
      'serve hosts over Streamable HTTP at this address, such as 127.0.0.1:8484',
      addressOf,
    )
    .option('--no-token', 'with --listen on a loopback address: whoever reaches it is the agent of --agent')
    .use(sealOptions, strictOption, fetchOptions, confineOptions, requireOptions, lockOption)
    .option('--pinned', 'start the program that the lock pins, not whatever the command would start now')
    .option('--only <name...>', 'of the locked tools pass these alone; * stands for any text')
    .option('--rules <policy...>', 'ask these policies about every call: files, or names of presets')
    .option('--agent <id>', 'the agent that the host runs, for records and kill switches', 'default')
    .option('--manifest <file>', 'what the agent declares: people are asked about its calls')
    .option('--bindings <file>', 'which tools of the server the tools of the manifest are')
    .option('--user <name>', 'for whom the agent acts, and who is asked (default: you)')
    .addOption(
      durationOption('--park', 'let a question outlive its call: the same call gets the answer until then'),
    )
    .option('--name <name>', 'what records call the server (default: its name in the lock)')
    .use(reachOptions)
    .addOption(
      new Option('--pass <feature...>', 'what the server may ask of the host (default: nothing)')
        .choices(CLIENT_FEATURES)
        .default([], 'none'),
    )
    .addOption(durationOption('-t, --timeout', 'how long the server may take to answer (default: 10m)'))
    .addOption(
      durationOption('--recheck', 'how long a list counts before it is read again (default: 1m)', {
        least: '0s',
      }),
    )
    .addOption(failOnOption('let nothing pass if the server differs from its lock by this or worse'))
    .option(
      '-P, --policy <file|preset>',
      'rules that must hold for the server, its tools and each call: a policy, or baseline or strict',
    )
    .option(
      '--allow-static-resources',
      'with a lock that pins no resources: pass those that are listed first',
    )
    .option('--restart', 'start a server that ended again when it is needed, and check it again')
    .option('--allow-private-uris', 'let URIs in arguments lead to this machine and to private addresses')
    .option('--allow-escapes', 'let results hold sequences that a terminal would obey')
    .option('--filter-only', 'remove from lists what is not locked, but let it be called')
    .option('--audit-only', 'record what would be blocked, but block and remove nothing')
    .option('--no-record', 'record nothing and ask no kill switch: enforce the lock alone')
    .option('--allow-other-command', 'start a server that is not the one that the lock names')
    .option('--telemetry', 'tell OpenTelemetry of calls; the SDK is loaded with NODE_OPTIONS=--import')
    .option('--print-effective-allowlist', 'print what the lock permits, and end')
    .option('--quiet', 'say nothing on standard error but errors')
    .helpText(`
Stands between a host and a server. The host is on standard input and output: put the command before the server's own
in the configuration of the host. With --listen, hosts connect over Streamable HTTP. The server is a command that is
started here, or an address (https://…). Standard output carries messages only; what people should know goes to
standard error, where each line of the server has [server] before it.

What is not in the lock, or is not offered exactly as it was locked, is removed from every list, and calls to it are
denied. Each call is sealed in the chain before it is forwarded, and its outcome after; what cannot be recorded is
not called. With --rules, rules in CEL decide about each call too, and about its result. In every mode, kill switches
hold, unknown methods do not pass, and calls and denials are recorded. With --no-record nothing is recorded, and no kill switch is asked.

With --manifest (in a configuration: "manifest" of an agent), a call passes only where a person granted the scope of its
tool, and is asked about where the tool is medium or high: bulla consent pending shows it, bulla consent allow answers.

With --fail-on and --policy, the server that was started is itself read whole before the first list or call passes;
where it fails, nothing passes, and the exit code is 1, or 3 when it cannot be told.

The configuration, the locks and the rules are read again when they change, and on SIGHUP. What is good is used at
once; what is not leaves everything as it was, and is told on standard error. SIGTERM and SIGINT end it.

Examples:
  $ bulla guard --lock mcp-lock.json -- npx -y @modelcontextprotocol/server-filesystem /data
  $ bulla guard --lock mcp-lock.json --rules rules.yaml no-secrets-out -- npx -y some-server
  $ bulla guard --require-signature --key public.key --agent claude
  $ bulla guard --fail-on moderate --policy strict
  $ bulla guard --agent claude --manifest claude.json --bindings bindings.json -- npx -y some-server
  $ bulla guard --lock remote.json --bearer-env TOKEN -- https://tools.example/mcp
  $ bulla guard --listen 127.0.0.1:8484 --config bulla.json`)
    .run(act);
}

async function act(given: string[], options: GuardOptions): Promise<Exit> {
  checkTogether(given, options);
  if (!options.record) checkUnrecorded(options);
  if (options.printEffectiveAllowlist) {
    await printAllowlist(options.lock, lockOf(options));
    return EXIT.good;
  }
  const repeats = createRepeats((line) => say([`bulla: ${line}`]));
  const log = options.quiet ? undefined : repeats.tell;
  const read = () => readGeneration(given, options, log);
  using first = await read();
  if (!options.record)
    say('bulla: warning: --no-record: calls are not recorded, and kill switches do not hold');
  await using at = options.record ? await openFor(await storeOf(first.config, options), 'write') : null;
  await using _ = at && watchOrphans(at.record, orphanNotices);
  // The released program always compares.
  const failOn = options.failOn ?? (COMPAT ? 'critical' : undefined);
  const findings = tellFindings(options.quiet === true);
  const words = new Map<string, ReturnType<typeof tellLines>>();
  const linesOf = (key: string) => {
    if (!words.has(key)) words.set(key, tellLines(key));
    return words.get(key)!;
  };
  const guarded = (generation: Generation, agent: string): GuardedServer[] => {
    const { config, servers, policies, telemetry, approvals } = generation;
    const opened = approvals && openApprovals(approvals, at);
    const { servers: named, user } = config?.agents?.get(agent) ?? {};
    return servers
      .filter(({ key }) => named?.includes(key) ?? true)
      .map(({ asUser, ...server }) => ({
        ...server,
        ...asUser?.(user),
        envelopes: opened ? { ...opened, ...server.approved } : undefined,
        ...{ policies, released: COMPAT, onPreflight: (found) => findings.take(found, server) },
        failOn: failOn && severityOf(failOn),
        record: options.record,
        store: at?.store,
        chain: config?.store?.chain ?? options.chain,
        telemetry,
        onStderr: (chunk) => linesOf(server.key).take(chunk),
        log: servers.length === 1 ? log : (line) => log?.(`${server.key}: ${line}`),
      }));
  };
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  for (const name of SIGNALS) process.on(name, onSignal);
  const flushing = setInterval(repeats.flush, 60_000).unref();
  const tell = (line: string): void => say([`bulla: ${line}`]);
  const digest = () => configDigest(options);
  const record = at?.record ?? null;
  if (first.approvals && !(await openApprovals(first.approvals, at).hasPolicy()))
    tell(
      'no policy of envelopes is in effect here, so that nothing can be approved: bulla envelope policy publish',
    );
  let isLoopback = false;
  const asked = createAsked({
    at,
    chain: first.config?.store?.chain ?? options.chain,
    transport: options.listen === undefined ? 'stdio' : 'http',
    parkMs: options.park,
    // Under another name it is reached through something that may stand before it for others.
    isLocal: ({ config }) => isLoopback && (config?.hosts ?? []).length === 0,
    log: options.quiet ? () => {} : tell,
  });
  const live: Live = {
    ...{ first, guarded, asked, read, digest, tell, log, options, signal: stop.signal, record },
    listens(listening) {
      isLoopback = listening.isLoopback;
    },
  };
  try {
    await asked.open(first);
    await asked.adopt(first);
    return options.listen === undefined ? await serveHost(live, findings) : await serveHttp(live);
  } finally {
    await asked[Symbol.asyncDispose]();
    for (const lines of words.values()) lines.end();
    clearInterval(flushing);
    repeats.flush();
    for (const name of SIGNALS) process.off(name, onSignal);
  }
}

/** Throws `USAGE` where nothing is recorded: an envelope is consumed with the record of its call. */
function openApprovals(approvals: Approvals, at: Opened | null): OpenApprovals {
  if (at === null)
    throw new BullaError('USAGE', 'Envelopes need a record of each call; leave out --no-record.');
  return approvals.open(at);
}

/** Throws `USAGE` for options that say how to record. */
function checkUnrecorded({
  store,
  tenant,
  chain,
  keys,
  strictInterop,
  auditOnly,
  manifest,
}: GuardOptions): void {
  const given = {
    '--store': store,
    '--tenant': tenant,
    '--chain': chain === 'default' ? undefined : chain,
    '--keys': keys,
    '--strict-interop': strictInterop,
    '--audit-only': auditOnly,
    '--manifest': manifest,
  };
  for (const [option, value] of Object.entries(given)) {
    if (value !== undefined)
      throw new BullaError(
        'USAGE',
        `${option} needs a record, and --no-record says that nothing is recorded.`,
      );
  }
}

/** What the operator is told of calls whose process ended. */
const orphanNotices: Parameters<typeof watchOrphans>[1] = {
  onMarked(marked) {
    const [verb, first] = [marked.length === 1 ? 'has' : 'have', marked[0]!.intent];
    say([
      `bulla: ${counted(marked.length, 'call')} of a process that ended ${verb} no outcome and may or may not have been made; marked, the first is ${first}`,
    ]);
  },
  onError(error) {
    const why = error instanceof BullaError ? ` [${error.code}]` : '';
    say([`bulla: warning: calls of processes that ended cannot be looked for now${why}`]);
  },
};

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

function checkTogether(given: readonly string[], options: GuardOptions): void {
  const refuse = (message: string) => {
    throw new BullaError('USAGE', message);
  };
  if (options.config !== undefined && given.length > 0)
    refuse('The servers stand in the configuration; leave out what is after --, or --config.');
  if (options.config !== undefined && options.allowStaticResources)
    refuse('--allow-static-resources is for one server; leave it out, or --config.');
  if (options.config === undefined && options.server !== undefined)
    refuse('--server chooses among the servers of --config.');
  const { manifest, bindings, user, park } = options;
  const isDeclared = options.config !== undefined || manifest !== undefined;
  if (options.config !== undefined && (manifest ?? bindings ?? user) !== undefined)
    refuse('The manifest, the bindings and the person of an agent stand in the configuration ("agents").');
  if (!isDeclared && (bindings ?? user ?? park) !== undefined)
    refuse('--bindings, --user and --park are for --manifest.');
  if (options.listen === undefined && !options.token) refuse('--no-token is for --listen.');
  if (options.listen === true && options.config === undefined)
    refuse('Without --config, --listen needs an address, such as 127.0.0.1:8484.');
  if (options.listen !== undefined && options.token && options.config === undefined)
    refuse('Tokens stand in the configuration (--config); on a loopback address --no-token does without.');
}

/** Where records go: as the options say, else as the configuration does. */
async function storeOf(config: LoadedConfig | null, options: GuardOptions): Promise<StoreOptions> {
  if (config === null) return options;
  const { url, tenant, keys, chain, strictInterop } = config.store ?? {};
  const store = options.store ?? (url && (await addressOfStore(url, config.folder)));
  return {
    store,
    tenant: options.tenant ?? tenant,
    keys: options.keys ?? keys,
    chain: chain ?? options.chain,
    strictInterop: options.strictInterop ?? strictInterop,
  };
}

async function addressOfStore(
  url: NonNullable<NonNullable<LoadedConfig['store']>['url']>,
  base: string,
): Promise<string> {
  if ('file' in url) return url.file;
  return (await resolveSecret(url.secret, { environment: process.env, base })).reveal();
}

/** What is served, and how it is read again. */
interface Live extends Omit<ReloadOptions, 'prepare'> {
  readonly first: Generation;
  readonly options: GuardOptions;
  readonly signal: AbortSignal;
  readonly asked: Asked;
  /** The servers that an agent may use. Throws where its user has no credentials for one of them. */
  guarded(generation: Generation, agent: string): GuardedServer[];
  listens(listening: Pick<Listening, 'isLoopback'>): void;
}

/** The servers that an agent may use, with what decides about its calls. */
function serversFor({ guarded, asked }: Live, generation: Generation, agent: string): GuardedServer[] {
  const servers = guarded(generation, agent);
  const consent = asked.consentFor(generation, agent);
  return consent === undefined ? servers : servers.map((server) => ({ ...server, consent }));
}

/** Watches the files of a generation, and SIGHUP, until it is disposed of. */
function keepUp(live: Live, prepare: (next: Generation) => () => void): Disposable {
  const isListening = live.options.listen === true;
  const reloads = reloading(live.first, {
    ...live,
    log: live.options.quiet ? undefined : live.tell,
    async prepare(next) {
      checkRestart(live.first, next, isListening);
      await live.asked.open(next);
      const apply = prepare(next);
      await live.asked.adopt(next);
      return apply;
    },
  });
  const onHangUp = (): void => void reloads.reload('signal');
  process.on('SIGHUP', onHangUp);
  return {
    [Symbol.dispose]() {
      process.off('SIGHUP', onHangUp);
      reloads[Symbol.dispose]();
    },
  };
}

/** Serves one host on standard input and output. */
async function serveHost(live: Live, findings: Findings): Promise<Exit> {
  const { first, options, signal, log } = live;
  const servers = serversFor(live, first, options.agent);
  if (servers.length === 0)
    throw new BullaError('USAGE', 'The agent may use none of the servers that --server names.');
  const all = serversOf(servers, log);
  using _ = keepUp(live, (next) => all.replacement(serversFor(live, next, options.agent)));
  const exit = await serveStreams(
    { input: process.stdin, output: process.stdout },
    (host) => all.open(options.agent, host, live.asked.sessionFor(first, options.agent, randomUUID())),
    { signal },
  );
  if (exit.error === null) return EXIT.good;
  const { released } = findings;
  if (released === null) complain(exit.error);
  else say([`Error: ${released}`]);
  return exit.ended === 'gateway' ? exitOf(exit.error) : EXIT.undecided;
}

/** Serves hosts over HTTP until a signal ends it. */
async function serveHttp(live: Live): Promise<Exit> {
  const { first, options, signal, log } = live;
  const address = options.listen === true ? first.config!.listen : options.listen;
  if (address === undefined)
    throw new BullaError('USAGE', 'The configuration has no "listen"; give --listen an address.');
  const own = (generation: Generation): Map<string, GuardedServer[]> => {
    const { agents } = generation;
    const ids = 'id' in agents ? [agents.id] : agents.map(({ id }) => id);
    return new Map(ids.map((id) => [id, serversFor(live, generation, id)]));
  };
  let now = first;
  let byAgent = new Map([...own(first)].map(([id, servers]) => [id, serversOf(servers, log)]));
  const listening = await listen({
    address,
    agents: first.agents,
    origins: first.config?.origins,
    hosts: first.config?.hosts,
    open({ id }, host, drawn, isShared) {
      // Requests that share a link are of no session.
      const sessionId = isShared ? drawn : live.asked.sessionFor(now, id, drawn);
      return byAgent.get(id)!.open(id, host, sessionId, isShared);
    },
    expectedHeaders: (frame, id) => byAgent.get(id)!.expectedHeaders(frame),
    recorder: live.record ?? undefined,
    log,
  });
  live.listens(listening);
  using _ = keepUp(live, (next) => {
    const after = new Map<string, Servers>();
    const replacements: (() => void)[] = [];
    for (const [id, servers] of own(next)) {
      const known = byAgent.get(id);
      if (known === undefined) after.set(id, serversOf(servers, log));
      else {
        replacements.push(known.replacement(servers));
        after.set(id, known);
      }
    }
    const { agents, config } = next;
    const door = { agents, origins: config?.origins, hosts: config?.hosts };
    listening.check(door);
    return () => {
      now = next;
      byAgent = after;
      listening.admit(door);
      for (const replace of replacements) replace();
    };
  });
  say([`bulla: listening on ${listening.url}`]);
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
  await listening.close();
  return EXIT.good;
}

async function printAllowlist(lockfile: string, lock: Lock): Promise<void> {
  const pins = pinsOf(lock);
  const list = (kind: Parameters<typeof pins.keys>[0]) => [...pins.keys(kind)].sort();
  const document = {
    lockfile,
    prompts: list('prompts'),
    resources: list('resources'),
    templates: list('resourceTemplates'),
    tools: list('tools'),
  };
  await print(`${escaped(JSON.stringify(document, null, 2))}\n`);
}
