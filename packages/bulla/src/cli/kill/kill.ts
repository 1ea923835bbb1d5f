import { BullaError } from '@bulla/core/error';
import { visible } from '@bulla/core/text';
import { Option } from 'commander';
import { changeKill } from '../../app/index.ts';
import type { Command } from '../command.ts';
import { openFor, type StoreOptions, sealOptions } from '../store.ts';
import { capsuleNames, colors, type ReportOptions, report, reportOptions, say } from '../terminal/io.ts';

interface KillOptions extends StoreOptions, ReportOptions {
  agent?: string;
  reason?: string;
  lift?: boolean;
  list?: boolean;
}

export function define(command: Command): void {
  command
    .use(sealOptions)
    .option('--agent <id>', 'stop only this agent (default: all agents)')
    .option('--reason <text>', 'why; required, except with --list; it goes into the record')
    .option('--lift', 'lift the kill switch instead; this is recorded too')
    .addOption(
      new Option('--list', 'list the kill switches that are set').conflicts(['agent', 'reason', 'lift']),
    )
    .use(reportOptions)
    .helpText(`
While a kill switch is set, calls that use the same store are refused. It is in force when this command exits with 0.

Examples:
  $ bulla kill --agent research-bot --reason "it deletes files"
  $ bulla kill --list
  $ bulla kill --lift --agent research-bot --reason "the bug is fixed"`)
    .run((options: KillOptions) => (options.list ? list(options) : change(options)));
}

async function change(options: KillOptions): Promise<void> {
  const { agent: agentId = null, reason, lift = false } = options;
  if (!reason) throw new BullaError('USAGE', '--reason is required: say why, for the record.');
  await using at = await openFor(options, 'write');
  const { summary, capsule, isKnown } = await changeKill(at, { agentId, reason, lift });
  await report(options, { ok: true, lifted: lift, agent: agentId, ...capsuleNames(capsule) }, () => [
    `${summary}, sealed as ${capsule.hash}`,
  ]);
  if (isKnown === false && !options.quiet)
    say(
      `${colors.yellow('note')}  there is no record or manifest of this agent so far; is ${visible(agentId!)} its name?`,
    );
}

async function list(options: KillOptions): Promise<void> {
  await using at = await openFor(options, 'read');
  const kills = await at.store.kills();
  const standing = kills.map(({ agentId, reason, capsuleId }) => ({
    ...{ agent: agentId, reason, capsule_id: capsuleId },
  }));
  await report(options, { ok: true, standing }, () =>
    kills.length === 0
      ? ['No kill switch stands.']
      : kills.map(
          (kill) =>
            `${colors.red(kill.agentId ?? 'everything')}  ${kill.reason} ${colors.dim(kill.capsuleId)}`,
        ),
  );
}
