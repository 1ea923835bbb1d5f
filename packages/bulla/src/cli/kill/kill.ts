import { BullaError } from '@bulla/core/error';
import { visible } from '@bulla/core/text';
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
    .option('--agent <id>', 'only this agent (default: everything)')
    .option('--reason <text>', 'why; it goes into the record')
    .option('--lift', 'end it; that is recorded too')
    .option('--list', 'show what stands')
    .use(reportOptions)
    .helpText(
      '\nWhile a kill switch stands, nothing that asks the store may act. It stands when this command has ended well.',
    )
    .run((options: KillOptions) => (options.list ? list(options) : change(options)));
}

async function change(options: KillOptions): Promise<void> {
  const { agent: agentId = null, reason, lift = false } = options;
  if (!reason) throw new BullaError('USAGE', 'Say why, with --reason.');
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
