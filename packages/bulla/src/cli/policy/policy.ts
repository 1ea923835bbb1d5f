import { toUtf8 } from '@bulla/core/crypto';
import { stringify } from '@bulla/core/json';
import { explainDocument, explainMarkdown, PRESET_NAMES, verdictText } from '@bulla/core/policy';
import { visible } from '@bulla/core/text';
import { Option } from 'commander';
import {
  checkPolicy,
  isMet,
  type LoadedPolicy,
  type LockTrust,
  loadPolicy,
  type PolicyChoice,
  type TestedInput,
  testPolicy,
} from '../../app/index.ts';
import { readInput, replaceFile } from '../../os/index.ts';
import type { Command } from '../command.ts';
import { lockfileAlias, requireOptions } from '../lock/options.ts';
import { accessOf, SERVER_HELP, type ServerOptions, scanning, serverOptions } from '../lock/server.ts';
import { note, recorded, recordOptions } from '../receipt.ts';
import { EXIT, type Exit, printExact, type ReportOptions, report, reportOptions } from '../terminal/io.ts';

interface CheckOptions extends ServerOptions, LockTrust, PolicyChoice, ReportOptions {
  lock?: string;
  saveInput?: string;
}

interface ExplainOptions extends PolicyChoice {
  format?: 'markdown' | 'json';
  json?: boolean;
  output?: string;
}

function policyOptions(command: Command): void {
  command
    .option('-P, --policy <file>', 'the policy, in YAML')
    .addOption(new Option('--preset <name>', 'a policy that comes with this program').choices(PRESET_NAMES));
}

export function define(command: Command): void {
  command
    .subcommand('check', 'Ask the rules of a policy about what a server offers now.')
    .argument('[server...]', 'the server, after --; without it what the lock stores, or its server')
    .use(serverOptions, policyOptions)
    .option('-l, --lock <file>', 'a lock: rules may then speak of the artifact and of drift')
    .use(lockfileAlias, requireOptions, reportOptions, recordOptions)
    .option('--save-input <file>', 'record what the rules were asked about, for "policy test"')
    .helpText(`${SERVER_HELP}
Without --policy and --preset the preset baseline is asked. Rules of phase call and result are listed as not asked:
"guard --rules" asks them about each call, "policy test" about recorded inputs.
Exits with 0 when the policy passes, 1 when it does not, 2 when it cannot be read, 3 when the server cannot be
scanned or no rule was asked.

Examples:
  $ bulla policy check --preset strict -l mcp-lock.json -- npx -y some-server
  $ bulla policy check --policy policy.yaml -l mcp-lock.json`)
    .run(recorded('policy check', check));

  command
    .subcommand('explain', 'Show the rules of a policy.')
    .use(policyOptions)
    .addOption(new Option('--format <format>', 'how to print it').choices(['markdown', 'json']))
    .option('--json', 'the same as --format json')
    .option('-o, --output <file>', 'write it there')
    .helpText(`
Without --policy and --preset it is the preset baseline.

Examples:
  $ bulla policy explain --preset strict
  $ bulla policy explain --policy policy.yaml --json`)
    .run(explain);

  command
    .subcommand('test', 'Ask the rules of a policy about recorded inputs, and compare the answers.')
    .argument('<input...>', 'files with {"shape", "input", "expect"}')
    .use(policyOptions, reportOptions)
    .helpText(`
An input is a JSON object: "shape" is policy-check, check, tool, call or result; "input" is what the rules are asked
about; "expect" holds rules by name with true or false. Without "expect" the policy must pass.
Exits with 0 when every answer is the expected one, 1 when one is not.

Examples:
  $ bulla policy check --save-input input.json -- npx -y some-server
  $ bulla policy test --policy policy.yaml input.json`)
    .run(test);
}

async function check(words: string[], options: CheckOptions): Promise<Exit> {
  const { lock: lockfile, saveInput } = options;
  const { loaded, command, isScanned, verdict, notAsked } = await checkPolicy({
    ...options,
    ...{ server: words, lockfile },
    ...accessOf(options),
    ...scanning(!options.quiet),
    onFacts: note,
    onInput(recorded) {
      if (saveInput !== undefined) replaceFile(saveInput, toUtf8(`${stringify(recorded)}\n`));
    },
  });
  const { outcome, errors, warnings, rules, mode, digest } = verdict;
  const document = {
    policy: { ...loaded.source, title: loaded.policy.name, mode, digest },
    ...{ server: command, scanned: isScanned, ...(lockfile !== undefined && { lockfile }) },
    ...{ outcome: outcome.toUpperCase(), errors, warnings, rules },
    not_asked: notAsked.map(({ name, phase }) => ({ name, phase })),
  };
  await report(options, document, () => [
    heading(loaded, isScanned),
    ...verdictText(verdict).split('\n'),
    ...notAsked.map(({ name, phase }) => `not asked  ${visible(name)} (phase ${phase})`),
  ]);
  return outcome === 'pass' ? EXIT.good : EXIT.bad;
}

function heading({ policy, source, isDefault }: LoadedPolicy, isScanned: boolean): string {
  const why = isDefault ? ', because none was named' : '';
  const about = isScanned ? '' : ', about what the lock stores; no server was asked';
  return `policy ${visible(source.name)} (${source.type}${why}), mode ${policy.mode}${about}`;
}

async function explain(options: ExplainOptions): Promise<void> {
  const { policy, source } = loadPolicy(options);
  const text =
    options.json || options.format === 'json'
      ? `${JSON.stringify(explainDocument(policy, source, new Date()), null, 2)}\n`
      : explainMarkdown(policy, source);
  if (options.output === undefined) await printExact(text);
  else replaceFile(options.output, toUtf8(text));
}

async function test(files: string[], options: PolicyChoice & ReportOptions): Promise<Exit> {
  const { policy, source } = loadPolicy(options);
  const inputs = files.map((file) => testPolicy(policy, readInput(file, 'document'), file));
  const failed = inputs.filter(({ passed }) => !passed).length;
  const document = { policy: { ...source, digest: policy.digest }, passed: failed === 0, inputs };
  await report(options, document, () => {
    const last = failed === 0 ? 'PASS: every answer is as expected' : 'FAIL: not as expected';
    return [...inputs.flatMap(table), `${last} (${inputs.length - failed} of ${inputs.length} inputs).`];
  });
  return failed === 0 ? EXIT.good : EXIT.bad;
}

function table({ file, shape, passed, outcome, demands, rules }: TestedInput): string[] {
  const width = rules.reduce((most, { name }) => Math.max(most, visible(name).length), 0);
  const lines = rules.map((rule) => {
    const word = rule.expected === null ? '-   ' : isMet(rule) ? 'ok  ' : 'FAIL';
    const answer = rule.asked ? String(rule.passed) : 'none';
    const wanted = isMet(rule) ? '' : `, expected ${rule.expected}`;
    const why = rule.message === '' ? '' : `  ${visible(rule.message)}`;
    return `  ${word}  ${visible(rule.name).padEnd(width)}  ${answer}${wanted}${why}`;
  });
  const mark = passed ? 'ok  ' : 'FAIL';
  return [
    `${mark} ${visible(file)} (${shape}, the policy says ${[outcome, ...demands].join(' ')})`,
    ...lines,
  ];
}
