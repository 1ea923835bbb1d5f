import { BullaError } from '@bulla/core/error';
import { type Lock, narrowed } from '@bulla/core/lock';
import { Option } from 'commander';
import { type LockTrust, openLock, pinnedServer, targetFor, tellOpenFolder } from '../../app/index.ts';
import { CLIENT_FEATURES, type ClientFeature, guard, type Mode, pinsOf } from '../../gateway/index.ts';
import { checkIdentity } from '../../locks/index.ts';
import type { Command } from '../command.ts';
import { lockOption, requireOptions } from '../lock/options.ts';
import { tellLines } from '../lock/server-lines.ts';
import { type FetchOptions, fetchOptions, observing } from '../run/options.ts';
import { openFor, type StoreOptions, sealOptions, strictOption } from '../store.ts';
import { escaped } from '../terminal/indented.ts';
import { durationOption } from '../terminal/input.ts';
import { collect, complain, EXIT, type Exit, print, refusing, say } from '../terminal/io.ts';
import { createRepeats } from '../terminal/repeats.ts';
import { relockCommand, unseenNames } from './env.ts';
import { typed } from './host-config.ts';

interface GuardOptions extends StoreOptions, LockTrust, FetchOptions {
  lock: string;
  pinned?: boolean;
  only?: string[];
  agent: string;
  name?: string;
  env: string[];
  pass: ClientFeature[];
  timeout?: number;
  recheck?: number;
  auditOnly?: boolean;
  filterOnly?: boolean;
  allowOtherCommand?: boolean;
  printEffectiveAllowlist?: boolean;
  quiet?: boolean;
}

/** Also what the released program calls `proxy`. */
export function define(command: Command): void {
  const server = command.argument('[server...]', 'the server, after --; without it the one of the lock');
  server
    .use(sealOptions, strictOption, fetchOptions, requireOptions, lockOption)
    .option('--pinned', 'start the program that the lock pins, not whatever the command would start now')
    .option('--only <name...>', 'of the locked tools pass these alone; * stands for any text')
    .option('--agent <id>', 'the agent that the host runs, for records and kill switches', 'default')
    .option('--name <name>', 'what records call the server (default: its name in the lock)')
    .option('--env <name>', 'a variable of the environment that the server may see', collect, [])
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
    .option('--filter-only', 'remove from lists what is not locked, but let it be called')
    .option('--audit-only', 'record what would be blocked, but block and remove nothing')
    .option('--allow-other-command', 'start a server that is not the one that the lock names')
    .option('--print-effective-allowlist', 'print what the lock permits, and end')
    .option('--quiet', 'say nothing on standard error but errors')
    .helpText(`
Stands between a host and a server on standard input and output. Put it before the server's command in the
configuration of the host. Standard output carries messages only; what people should know goes to standard error,
where each line of the server has [server] before it.

What is not in the lock, or is not offered exactly as it was locked, is removed from every list, and calls to it are
denied. Each call is sealed in the chain before it is forwarded, and its outcome after; what cannot be recorded is
not called. In every mode, kill switches hold, unknown methods do not pass, and calls and denials are recorded.

Examples:
  $ bulla guard --lock mcp-lock.json -- npx -y @modelcontextprotocol/server-filesystem /data
  $ bulla guard --require-signature --key public.key --agent claude`)
    .run(act);
}

async function act(given: string[], options: GuardOptions): Promise<Exit> {
  const { lock: opened } = openLock(options.lock, options);
  const lock = options.only === undefined ? opened : narrowed(opened, options.only);
  if (options.printEffectiveAllowlist) {
    await printAllowlist(options.lock, lock);
    return EXIT.good;
  }
  const server = targetFor({ server: given, env: options.env }, lock);
  if (server.kind !== 'stdio') {
    throw new BullaError('USAGE', 'Only a server that is started here can be guarded yet.');
  }
  const repeats = createRepeats((line) => say([`bulla: ${line}`]));
  const log = options.quiet ? undefined : repeats.tell;
  if (!options.allowOtherCommand) {
    const identity = lock.native?.identity;
    const isMore =
      identity?.transport === 'stdio' && options.env.some((name) => !identity.env.includes(name));
    if (isMore) log?.(`to lock it with these variables, ${relockCommand(options.lock, server, [])}`);
    refusing('Nothing was started', () => checkIdentity(lock, server));
  }
  const unseen = unseenNames(process.env, server.env);
  if (unseen.length > 0) {
    const how = relockCommand(options.lock, server, unseen);
    log?.(`the server does not see ${unseen.join(', ')}, which the lock does not name; to let it, ${how}`);
  }
  if (lock.native === null)
    log?.(`${options.lock} holds some hashes only; '${typed(['lock'])}' pins whole definitions`);
  const observer = observing(options);
  const { allowPrivateRegistry } = options;
  using pinned = options.pinned
    ? await pinnedServer(lock, server, { allowPrivateRegistry, ...observer })
    : null;
  if (pinned?.installed) tellOpenFolder(pinned.installed.folder, observer);
  await using at = await openFor(options, 'write');
  const words = tellLines('server');
  const stop = new AbortController();
  const onSignal = (): void => stop.abort();
  for (const name of SIGNALS) process.on(name, onSignal);
  const flushing = setInterval(repeats.flush, 60_000).unref();
  try {
    const exit = await guard({
      lock,
      server,
      start: pinned?.target,
      host: { input: process.stdin, output: process.stdout },
      store: at.store,
      chain: options.chain,
      agentId: options.agent,
      name: options.name,
      mode: modeOf(options),
      features: options.pass,
      allowOtherServer: options.allowOtherCommand,
      timeoutMs: options.timeout,
      recheckMs: options.recheck,
      signal: stop.signal,
      onStderr: (chunk) => words.take(chunk),
      log,
    });
    words.end();
    repeats.flush();
    if (exit.error !== null) complain(exit.error);
    return exit.error === null ? EXIT.good : EXIT.undecided;
  } finally {
    words.end();
    clearInterval(flushing);
    repeats.flush();
    for (const name of SIGNALS) process.off(name, onSignal);
  }
}
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function modeOf({ auditOnly, filterOnly }: GuardOptions): Mode {
  if (auditOnly) return 'audit';
  return filterOnly ? 'filter' : 'enforce';
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
