import { userInfo } from 'node:os';
import { moment, parsePolicy } from '@bulla/core/envelope';
import { publishPolicy } from '../../envelope/index.ts';
import { readInput } from '../../os/index.ts';
import { createLedger } from '../../store/index.ts';
import type { Command } from '../command.ts';
import { openFor, type StoreOptions, sealOptions, storeOptions } from '../store.ts';
import { capsuleNames, colors, print, type ReportOptions, report, reportOptions } from '../terminal/io.ts';

type PolicyOptions = StoreOptions & ReportOptions;

export function definePolicy(command: Command): void {
  const policy = command.subcommand(
    'policy',
    'Publish, list and hash the policies that envelopes are bound to.',
  );

  policy
    .subcommand('publish', 'Publish a version of a policy; nothing changes it any more.')
    .argument('<file>', 'the policy; - is standard input')
    .use(sealOptions, reportOptions)
    .helpText(`
The version must be higher than all that were published under the same id. From its policy_effective_at on, envelopes
that are bound to an older version are refused (EE_POLICY_DRIFT). Who published it is sealed into the chain.`)
    .run(publish);

  policy
    .subcommand('list', 'List what was published, the newest version of each first.')
    .use(storeOptions, reportOptions)
    .run(list);

  policy
    .subcommand('hash', 'Print the policy_hash of a policy, and nothing else.')
    .argument('<file>', 'the policy; - is standard input')
    .run(hash);
}

async function publish(file: string, options: PolicyOptions): Promise<void> {
  const document = Buffer.from(readInput(file, 'policy')).toString('utf8');
  parsePolicy(document);
  await using at = await openFor(options, 'write');
  const by = { record: at.record, by: userInfo().username };
  const { policy, capsule } = await publishPolicy(at.store, document, by);
  const { policy_id, policy_version, policy_hash, policy_effective_at } = policy;
  await report(
    options,
    { ok: true, policy_id, policy_version, policy_hash, policy_effective_at, ...capsuleNames(capsule) },
    () => [
      `${colors.green('published')}  ${policy_id} version ${policy_version}, in effect from ${moment(policy_effective_at)}`,
      `  ${colors.dim(`policy_hash ${policy_hash}`)}`,
      `  ${colors.dim(`sealed as ${capsule.hash}`)}`,
    ],
  );
}

async function list(options: PolicyOptions): Promise<void> {
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
}

async function hash(file: string): Promise<void> {
  await print(`${parsePolicy(readInput(file, 'policy')).policy_hash}\n`);
}
