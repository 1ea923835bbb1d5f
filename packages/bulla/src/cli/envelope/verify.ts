import { kindOf } from '@bulla/core/codes';
import {
  type ExecProfile,
  explain,
  explainEnvelope,
  NOT_PROVEN,
  parseEnvelope,
  type Verdict,
} from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import { visible } from '@bulla/core/text';
import {
  type Access,
  approverKeys,
  executeEnvelope,
  explainSteps,
  type LedgerInput,
} from '../../app/index.ts';
import type { Decision } from '../../envelope/index.ts';
import { readInput } from '../../os/index.ts';
import type { Command } from '../command.ts';
import { openFor, type StoreOptions, sealOptions } from '../store.ts';
import {
  capsuleNames,
  colors,
  EXIT,
  type Exit,
  type ReportOptions,
  report,
  reportOptions,
} from '../terminal/io.ts';
import { type ApproverOptions, approverOption, execProfileOption } from './options.ts';
import { envelopeText } from './text.ts';

interface CheckOptions extends ReportOptions, StoreOptions, ApproverOptions {
  authorization?: string;
  audience?: string;
  tenantId?: string;
  expect?: string;
  profile: ExecProfile;
}

function checking(command: Command): Command {
  return command
    .use(sealOptions, approverOption)
    .argument('<envelope>', 'the envelope; - is standard input')
    .option('--authorization <file>', 'the authorization that people signed')
    .option('--audience <name>', 'the name of this ledger')
    .option('--tenant-id <name>', 'the tenant whose envelopes it executes (default: that of --tenant)')
    .option('--expect <hash>', 'the exec_hash that it must have, such as the one that was shown')
    .addOption(execProfileOption())
    .use(reportOptions);
}

export function defineVerify(command: Command): void {
  checking(
    command.subcommand(
      'verify',
      'Run the whole checklist, use the envelope up, and run a command exactly once.',
    ),
  )
    .argument(
      '[command...]',
      'what is executed when every step passed, after --; it gets the envelope on its input',
    )
    .helpText(`
The nonce, the limits and a sealed record are made durable in one transaction before the command starts; the command
is never started twice for one envelope. What is refused is sealed too. Exits with 0 when the command succeeded, 1 when
the envelope was refused or the command failed, 3 when the ledger could not be asked.

Example:
  $ bulla envelope verify envelope.json --authorization authorization.json --approver alice=alice.pub \\
      --audience ledger-1 --tenant-id acme -- ./pay.sh`)
    .run(verify);
}

export function defineExplain(command: Command): void {
  checking(
    command.subcommand(
      'explain',
      'Tell what an envelope says and how each step of the checklist would go; nothing is used up.',
    ),
  ).run(explainOne);
}

async function withLedger<T>(
  file: string,
  options: CheckOptions,
  access: Access,
  use: (input: LedgerInput) => Promise<T>,
): Promise<T> {
  const envelope = readInput(file, 'document');
  const authorization =
    options.authorization === undefined ? null : readInput(options.authorization, 'document');
  const { audience, profile, tenantId = options.tenant, expect: expected } = options;
  // Before a store is opened, or made.
  if (audience === undefined)
    throw new BullaError('USAGE', 'Name this ledger, as the authorization names it: --audience.');
  if (tenantId === undefined)
    throw new BullaError('USAGE', 'Name the tenant whose envelopes are executed here: --tenant-id.');
  const keys = approverKeys(options.approver, options.keys);
  await using at = await openFor(options, access);
  const { store, chain } = at;
  return await use({
    ...{ store, chain, audience, tenantId, keys, profile },
    ...{ envelope, authorization, expected },
  });
}

async function explainOne(file: string, options: CheckOptions): Promise<Exit> {
  const { verdict, envelope } = await withLedger(file, options, 'read', async (input) => ({
    verdict: await explainSteps(input),
    envelope: input.envelope,
  }));
  const problems = explainEnvelope(envelope);
  await report(options, { ...documentOf(verdict), problems }, () => [
    ...(problems.length === 0 ? envelopeText(parseEnvelope(envelope), options.profile) : []),
    ...(problems.length === 0 ? [''] : []),
    ...stepsText(verdict),
    ...problems.slice(1).map(({ code, path, message }) => `  also: ${message} (${code} at ${path ?? ''})`),
  ]);
  return exitOfVerdict(verdict, verdict.permit !== null);
}

async function verify(file: string, words: readonly string[], options: CheckOptions): Promise<Exit> {
  const [program, ...args] = words;
  if (program === undefined)
    throw new BullaError(
      'USAGE',
      'Name what is to be executed, after --; "bulla envelope explain" looks without using anything up.',
    );
  const decision = await withLedger(file, options, 'write', (input) =>
    executeEnvelope({ ...input, command: [program, ...args] }),
  );
  await report(options, decisionDocument(decision), () => decisionText(decision));
  return exitOfVerdict(decision.verdict, decision.status === 'success');
}

/** A ledger that cannot be asked decides nothing; everything else that fails is a refusal. */
function exitOfVerdict(verdict: Verdict, isGood: boolean): Exit {
  if (isGood) return EXIT.good;
  return verdict.code !== null && kindOf(verdict.code) === 'unavailable' ? EXIT.undecided : EXIT.bad;
}

function documentOf({ code, path, message, exec_hash, steps, violations }: Verdict): Record<string, unknown> {
  return { code, path, message, exec_hash, steps, violations };
}

function decisionDocument(decision: Decision<number>): Record<string, unknown> {
  const { status, verdict } = decision;
  const document = { ok: status === 'success', status, ...documentOf(verdict) };
  if (decision.status === 'blocked') return { ...document, ...capsuleNames(decision.capsule) };
  const { intent, outcome } = decision;
  return { ...document, intent: intent.hash, outcome: outcome?.hash ?? null };
}

function stepsText(verdict: Verdict): string[] {
  return explain(verdict).map((line, i) => {
    const { status } = verdict.steps[i]!;
    const paint = status === 'passed' ? colors.green : status === 'failed' ? colors.red : colors.dim;
    return paint(line);
  });
}

function decisionText(decision: Decision<number>): string[] {
  const lines = stepsText(decision.verdict);
  if (decision.status === 'blocked')
    return [...lines, '', `${colors.red('refused')}  ${sealedAs(decision.capsule)}`];
  const { intent, outcome } = decision;
  const [word, paint] = decision.status === 'success' ? ['executed', colors.green] : ['failed', colors.red];
  const ended =
    decision.status === 'failure'
      ? [
          ...(decision.error instanceof BullaError ? [visible(decision.error.message)] : []),
          decision.released
            ? 'It surely had no effect; its limits are free again.'
            : 'It may have had an effect, and counts.',
        ]
      : [];
  return [
    ...lines,
    '',
    `${paint(word!)}  sealed before as ${intent.hash}, afterwards as ${outcome?.hash ?? 'nothing: the store failed'}`,
    ...ended,
    ...NOT_PROVEN.map((line) => colors.dim(`  not proven: ${line}`)),
  ];
}

function sealedAs(capsule: { hash: string } | null): string {
  return capsule === null ? 'not sealed: the store failed' : `sealed as ${capsule.hash}`;
}
