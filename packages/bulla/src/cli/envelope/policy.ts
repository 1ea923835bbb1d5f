import { moment, parsePolicy } from '@bulla/core/envelope';
import type { Command } from 'commander';
import { publishEnvelopePolicy } from '../../app/index.ts';
import { readInput } from '../../os/index.ts';
import { createLedger } from '../../store/index.ts';
import type { Run } from '../commands.ts';
import { openFor, type PlaceOptions, placeOptions } from '../place.ts';
import { colors, EXIT, type Exit, print, type ReportOptions, report } from '../terminal/io.ts';

type PolicyOptions = PlaceOptions & ReportOptions;

export function definePolicy(command: Command, run: Run): void {
  const policy = command
    .command('policy')
    .description('Publish, list and hash the policies that envelopes are bound to.');
  const placed = (sub: Command) =>
    placeOptions(sub)
      .option('--json', 'print one JSON document')
      .option('--quiet', 'print nothing; the exit code tells');

  placed(policy.command('publish').description('Publish a version of a policy; nothing changes it any more.'))
    .argument('<file>', 'the policy; - is standard input')
    .option('--keys <folder>', 'the keyring to seal with (default: BULLA_HOME/keys)')
    .addHelpText(
      'after',
      `
The version must be higher than all that were published under the same id. From its policy_effective_at on, envelopes
that are bound to an older version are refused (EE_POLICY_DRIFT). Who published it is sealed into the chain.`,
    )
    .action(run(publish));

  placed(
    policy.command('list').description('List what was published, the newest version of each first.'),
  ).action(run(list));

  policy
    .command('hash')
    .description('Print the policy_hash of a policy, and nothing else.')
    .argument('<file>', 'the policy; - is standard input')
    .action(run(hash));
}

async function publish(file: string, options: PolicyOptions): Promise<Exit> {
  const document = Buffer.from(readInput(file, 'policy')).toString('utf8');
  parsePolicy(document);
  await using at = await openFor(options, 'write');
  const { policy, capsule } = await publishEnvelopePolicy(at, document);
  const { policy_id, policy_version, policy_hash, policy_effective_at } = policy;
  await report(
    options,
    { ok: true, policy_id, policy_version, policy_hash, policy_effective_at, capsule: capsule.hash },
    () =>
      [
        `${colors.green('published')}  ${policy_id} version ${policy_version}, in effect from ${moment(policy_effective_at)}`,
        `  ${colors.dim(`policy_hash ${policy_hash}`)}`,
        `  ${colors.dim(`sealed as ${capsule.hash}`)}`,
      ].join('\n'),
  );
  return EXIT.good;
}

async function list(options: PolicyOptions): Promise<Exit> {
  await using at = await openFor(options, 'read');
  const policies = await createLedger(at.store).policies();
  await report(options, { ok: true, policies }, () =>
    policies.length === 0
      ? 'No policy was published.'
      : policies
          .map(
            ({ policy_id, policy_version, policy_hash, policy_effective_at }) =>
              `${policy_id}  version ${policy_version}  from ${moment(policy_effective_at)}  ${colors.dim(policy_hash)}`,
          )
          .join('\n'),
  );
  return EXIT.good;
}

async function hash(file: string): Promise<Exit> {
  await print(`${parsePolicy(readInput(file, 'policy')).policy_hash}\n`);
  return EXIT.good;
}
