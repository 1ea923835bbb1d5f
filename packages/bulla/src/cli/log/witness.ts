import { dirname, join } from 'node:path';
import { BullaError } from '@bulla/core/error';
import { counted } from '@bulla/core/text';
import { InvalidArgumentError, Option } from 'commander';
import { defaultHome, pathsOf, type SeenByWitness, tellLoose, witnessedChain } from '../../app/index.ts';
import {
  addWitness,
  createJournal,
  type Evidence,
  type Journal,
  loadPolicy,
  openWitness,
  printable,
  type Quorum,
  type RequestLine,
  readLogs,
  serveWitness,
} from '../../witness/index.ts';
import type { Command } from '../command.ts';
import { NOTICES, openFor, type StoreOptions, storeOptions } from '../store.ts';
import {
  colors,
  complain,
  EXIT,
  type Exit,
  type ReportOptions,
  report,
  reportOptions,
  say,
} from '../terminal/io.ts';

interface ServeOptions extends ReportOptions {
  name: string;
  listen: { host: string; port: number };
  prefix?: string;
  state?: string;
  log: string[];
  mlDsa?: boolean;
}
interface AddOptions extends ReportOptions {
  policy?: string;
  quorum?: Quorum;
}
interface StatusOptions extends StoreOptions, ReportOptions {
  policy?: string;
}

export function define(command: Command): void {
  command
    .subcommand('serve', 'Run a witness, which cosigns the checkpoints of logs.')
    .use(reportOptions)
    .requiredOption('--name <name>', 'its name: a URL without a scheme, such as witness.example/w1')
    .addOption(
      new Option('--listen <host:port>', 'where it takes requests')
        .argParser(address)
        .default({ host: '127.0.0.1', port: 7380 }, '127.0.0.1:7380'),
    )
    .option('--prefix <path>', 'the path before /add-checkpoint, such as /witness')
    .option(
      '--state <file>',
      'what it remembers; its keys lie beside it (default: BULLA_HOME/witness/state.db)',
    )
    .requiredOption(
      '--log <vkey|file>',
      'a log that it knows, or a file with the verifier key of one on each line; may be given again',
      (source: string, before: string[] = []) => [...before, source],
    )
    .option('--ml-dsa', 'cosign with ML-DSA-44 too')
    .helpText(`
The keys are made at the first start. The state must never be put back to an older copy, and a witness whose state is
lost must not go on under its name and key: it could cosign two histories of one log. SIGHUP reads the logs anew;
SIGTERM and SIGINT end it. Requests are lines on standard error: every new cosignature and every new piece of
evidence, and of all else the first ones of each kind and then one a minute, with a count.

Example:
  $ bulla witness serve --name witness.example/w1 --log logs.txt`)
    .run(serve);

  command
    .subcommand('add', 'Add a witness to the policy, by which checkpoints are shown to it from then on.')
    .argument('<name>', 'what the policy calls it')
    .argument('<vkey>', 'its verifier key')
    .argument('<url>', 'its address: what stands before /add-checkpoint')
    .use(reportOptions)
    .option(
      '--quorum <rule>',
      'how many witnesses are enough: any, all or a number (default: more than half)',
      rule,
    )
    .option('--policy <file>', 'the policy (default: BULLA_HOME/witnesses.policy)')
    .run(add);

  command
    .subcommand(
      'status',
      'Tell what each witness has cosigned of a chain, and how far that is behind its end.',
    )
    .use(storeOptions, reportOptions)
    .option('--policy <file>', 'the policy (default: BULLA_HOME/witnesses.policy)')
    .helpText(
      '\nExits with 0 if enough witnesses cosigned the newest checkpoint, 1 if not, 3 if there is no policy or no checkpoint.',
    )
    .run(status);
}

function address(value: string): ServeOptions['listen'] {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+):(\d{1,5})$/.exec(value);
  const port = Number(match?.[2]);
  if (match === null || port > 65_535) throw new InvalidArgumentError('It is a host and a port.');
  return { host: match[1]!.replace(/^\[|\]$/g, ''), port };
}

function rule(value: string): Quorum {
  if (value === 'any' || value === 'all') return value;
  if (/^[1-9][0-9]{0,3}$/.test(value)) return Number(value);
  throw new InvalidArgumentError('It is any, all or a number.');
}

async function serve(options: ServeOptions): Promise<void> {
  let logs = readLogs(options.log);
  if (logs.size === 0) throw new BullaError('WITNESS_LOGS', 'There is no log that the witness would know.');
  const tell = (line: string) => say(`${new Date().toISOString()} ${line}`);
  const journal = createJournal({ write: tell, now: () => performance.now() });
  const flushing = setInterval(() => journal.flush(), 60_000).unref();
  const state = options.state ?? join(defaultHome(), 'witness', 'state.db');
  tellLoose([dirname(state), state, `${state}-journal`], NOTICES);
  const witness = openWitness({
    name: options.name,
    state,
    mlDsa: options.mlDsa ?? false,
    logs: () => logs,
    now: () => new Date(),
    onEvidence: (evidence, isKept) => {
      if (isKept) journal.keep(evidenceLine(evidence, 'it is kept in the state'));
      else journal.note('EVIDENCE', evidenceLine(evidence, 'it is not kept, there is too much of its kind'));
    },
    onError: (error) => noteError(journal, error),
  });
  const reload = () => {
    try {
      logs = readLogs(options.log);
      tell(`knows ${counted(logs.size, 'log')}`);
    } catch (error) {
      complain(error); // the logs that were known stay known
    }
  };
  try {
    const served = await serveWitness({
      witness,
      ...options.listen,
      ...(options.prefix !== undefined && { prefix: options.prefix }),
      onRequest: (line) => noteRequest(journal, line),
    });
    const stopped = stopSignal();
    process.on('SIGHUP', reload);
    const { url } = served;
    const { vkeys, name } = witness;
    await report(options, { ok: true, name, url, vkeys, state, logs: [...logs.keys()] }, () =>
      [['witness', name], ...vkeys.map((vkey) => ['vkey', vkey]), ['url', url]].map(
        ([key, value]) => `${colors.dim(key!.padEnd(9))}${value}`,
      ),
    );
    await stopped;
    process.off('SIGHUP', reload);
    await served.close();
  } finally {
    clearInterval(flushing);
    journal.flush();
    await witness.close();
  }
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      for (const signal of ['SIGTERM', 'SIGINT']) process.off(signal, stop);
      resolve();
    };
    for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, stop);
  });
}

// Paths and origins come from outside, so they are shown in printable characters alone.
function noteRequest(journal: Journal, { method, path, answer }: RequestLine): void {
  const { status, origin, size } = answer;
  const what = origin === undefined ? '' : ` ${printable(origin)} ${size}`;
  const line = `${method} ${printable(path)} ${status}${what}`;
  // With these answers the log is a known one; else anybody could name any number of them.
  const isKnown = [200, 409, 422].includes(status) && origin !== undefined;
  if (answer.isNew) journal.keep(line);
  else journal.note(isKnown ? `${status} ${printable(origin)}` : String(status), line);
}

function noteError(journal: Journal, error: unknown): void {
  const code = error instanceof BullaError ? error.code : 'defect';
  const text = error instanceof BullaError ? error.message : error instanceof Error ? error.stack : error;
  journal.note(code, `ERROR ${text} [${code}]`);
}

function evidenceLine({ kind, origin, size, root }: Evidence, kept: string): string {
  return `EVIDENCE ${kind}: ${printable(origin)} signed size ${size} with root ${Buffer.from(root).toString('base64')}; ${kept}`;
}

async function add(name: string, vkey: string, url: string, options: AddOptions): Promise<void> {
  const file = options.policy ?? pathsOf().witnesses;
  const policy = addWitness(file, { name, vkey, url, quorum: options.quorum });
  const { threshold, members } = policy.groups[0]!;
  const document = { ok: true, policy: file, witnesses: members, enough: threshold };
  await report(options, document, () => `${file}: ${threshold} of ${members.length} witnesses are enough`);
}

async function status(options: StatusOptions): Promise<Exit> {
  const file = options.policy ?? pathsOf().witnesses;
  const policy = loadPolicy(file);
  if (policy === null || policy.witnesses.length === 0) {
    const message = `There is no witness in ${file}; add one with "bulla witness add".`;
    await report(options, { ok: false, code: 'WITNESS_QUORUM', message }, () => message);
    return EXIT.undecided;
  }
  await using at = await openFor(options, 'read');
  const { records, checkpoint, quorum, witnesses } = await witnessedChain(at.chain, policy);
  await report(options, { ok: quorum, chain: options.chain, records, checkpoint, quorum, witnesses }, () => [
    checkpoint === null
      ? `${colors.yellow('undecided')}  the chain ${options.chain} has no checkpoint`
      : `${quorum ? colors.green('witnessed') : colors.red('not witnessed')}  the newest checkpoint covers ${checkpoint} of ${records} records`,
    ...witnesses.map(seenLine),
  ]);
  if (checkpoint === null) return EXIT.undecided;
  return quorum ? EXIT.good : EXIT.bad;
}

function seenLine({ name, size, time, behind }: SeenByWitness): string {
  const what =
    size === null ? colors.red('has cosigned nothing') : `cosigned ${counted(size, 'record')} at ${time}`;
  return `  ${name.padEnd(20)} ${what}${behind === 0 ? '' : colors.dim(`, ${behind} behind the end`)}`;
}
