import { toUtf8 } from '@bulla/core/crypto';
import {
  type Envelope,
  execHash,
  type PolicyBinding,
  parsePolicy,
  type ReplayScope,
  writeEnvelope,
} from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import { Option } from 'commander';
import { createEnvelope, currentPolicy, unixTime } from '../../envelope/index.ts';
import { readInput, replaceFile } from '../../os/index.ts';
import type { Command } from '../command.ts';
import { openFor, type StoreOptions, storeOptions } from '../store.ts';
import { durationOption, nonNegative } from '../terminal/input.ts';
import { print, printExact, type ReportOptions } from '../terminal/io.ts';
import { envelopeText } from './text.ts';

/** What every envelope says, whatever the action. */
export interface CommonOptions extends ReportOptions, StoreOptions {
  caller: string;
  role?: string;
  tenantId: string;
  ttl: number;
  nonce?: number;
  scope: ReplayScope;
  policy?: string;
  policyId?: string;
  intentId?: string;
  executionId?: string;
  output?: string;
}

interface NewOptions extends CommonOptions {
  action: string;
  to: string;
  amount: string;
  asset: string;
  assetClass?: number;
  decimals: number;
  rail: string;
  network: string;
  chainId?: number;
  contract?: string;
}

export function commonOptions(command: Command): Command {
  return command
    .requiredOption('--caller <name>', 'who will act')
    .option('--role <name>', 'as what')
    .requiredOption('--tenant-id <name>', 'for whom')
    .addOption(durationOption('--ttl', 'how long it holds', { unit: 's', initial: '10m' }))
    .option('--nonce <n>', 'the number that is used once (default: a random one)', nonNegative)
    .addOption(
      new Option('--scope <scope>', 'within what the number is used once')
        .choices(['caller', 'tenant', 'global'])
        .default('caller'),
    )
    .option('--policy <file>', 'the policy that it is bound to, from a file')
    .option('--policy-id <id>', 'the same from the store, as it is published now')
    .option('--intent-id <id>', 'the id of the intent (default: a new one)')
    .option('--execution-id <id>', 'the id of this execution (default: a new one)');
}

export function defineNew(command: Command): void {
  command
    .subcommand('new', 'Write an envelope: one action with all its parameters.')
    .use(storeOptions)
    .requiredOption('--action <type>', 'what is done, such as TRANSFER')
    .requiredOption('--to <destination>', 'where it goes')
    .requiredOption('--amount <digits>', "the amount in the asset's smallest unit, without leading zeros")
    .requiredOption('--asset <name>', 'what is moved')
    .option('--asset-class <n>', 'the class of the asset', nonNegative)
    .requiredOption('--decimals <n>', 'how many of the digits are behind the point', nonNegative)
    .requiredOption('--rail <type>', 'the kind of rail, such as EVM')
    .requiredOption('--network <name>', 'the network on that rail')
    .option('--chain-id <n>', 'the chain; an EVM rail needs it', nonNegative)
    .option('--contract <address>', 'the contract')
    .use(commonOptions)
    .option('-o, --output <file>', 'where to write it (default: standard output)')
    .option('--quiet', 'do not tell what it says')
    .helpText(`
Example:
  $ bulla envelope new --action TRANSFER --to acct-7 --amount 1250 --asset EUR --decimals 2 --rail BANK \\
      --network sepa --caller agent-1 --tenant-id acme --policy treasury.json -o envelope.json`)
    .run(newEnvelope);
}

async function newEnvelope(options: NewOptions): Promise<void> {
  const now = unixTime();
  const envelope = createEnvelope(
    {
      ...(await commonFields(options, now)),
      action_type: options.action,
      rail: {
        type: options.rail,
        network: options.network,
        chain_id: options.chainId ?? null,
        contract: options.contract ?? null,
      },
      target: {
        to: options.to,
        asset: options.asset,
        asset_class: options.assetClass ?? null,
        amount: options.amount,
        decimals: options.decimals,
      },
    },
    { now },
  );
  await writeOut(envelope, options);
}

/** What the options say of any action. */
export async function commonFields(options: CommonOptions, now: number) {
  const { nonce, intentId, executionId } = options;
  return {
    tenant_id: options.tenantId,
    actor: { caller: options.caller, role: options.role ?? null },
    policy: await bindingOf(options),
    constraints: {
      ttl: now + options.ttl,
      replay_scope: options.scope,
      ...(nonce !== undefined && { nonce }),
    },
    ...(intentId !== undefined && { intent_id: intentId }),
    ...(executionId !== undefined && { execution_id: executionId }),
  };
}

async function bindingOf(options: CommonOptions): Promise<PolicyBinding> {
  const { policy, policyId } = options;
  if (policy !== undefined && policyId === undefined) return parsePolicy(readInput(policy, 'policy'));
  if (policy === undefined && policyId !== undefined) {
    await using at = await openFor(options, 'read');
    const current = await currentPolicy(at.store, policyId);
    if (current !== null) return current;
    throw new BullaError('ENVELOPE_POLICY_MISSING', `No policy ${policyId} is in effect in this store.`);
  }
  throw new BullaError('USAGE', 'Name the policy: --policy with a file, or --policy-id.');
}

export async function writeOut(envelope: Envelope, { output, quiet }: CommonOptions): Promise<void> {
  const text = `${writeEnvelope(envelope)}\n`;
  if (output === undefined) return printExact(text);
  replaceFile(output, toUtf8(text));
  if (!quiet) await print(`${[`written  ${output}`, ...envelopeText(envelope)].join('\n')}\n`);
  else await print(`${execHash(envelope)}\n`);
}
