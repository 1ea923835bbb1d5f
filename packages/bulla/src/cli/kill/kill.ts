import { randomUUID } from 'node:crypto';
import { userInfo } from 'node:os';
import { BullaError } from '@bulla/core/error';
import { visible } from '@bulla/core/text';
import type { Command } from 'commander';
import { createManifests } from '../../manifest/index.ts';
import { liftKill, type Store, setKill } from '../../store/index.ts';
import type { Run } from '../commands.ts';
import { openToRead, openToWrite, type PlaceOptions, placeOptions } from '../place.ts';
import { colors, EXIT, type Exit, type ReportOptions, report, say } from '../terminal/io.ts';

interface KillOptions extends PlaceOptions, ReportOptions {
  agent?: string;
  reason?: string;
  lift?: boolean;
  list?: boolean;
}

export function define(command: Command, run: Run): void {
  placeOptions(command)
    .option('--agent <id>', 'only this agent (default: everything)')
    .option('--reason <text>', 'why; it goes into the record')
    .option('--lift', 'end it; that is recorded too')
    .option('--list', 'show what stands')
    .option('--keys <folder>', 'the keyring to seal with (default: BULLA_HOME/keys)')
    .option('--json', 'print one JSON document')
    .option('--quiet', 'print nothing')
    .addHelpText(
      'after',
      '\nWhile a kill switch stands, nothing that asks the store may act. It stands when this command has ended well.',
    )
    .action(run((options: KillOptions) => (options.list ? list(options) : change(options))));
}

async function change(options: KillOptions): Promise<Exit> {
  if (!options.reason) throw new BullaError('USAGE', 'Say why, with --reason.');
  const agentId = options.agent ?? null;
  const whom = agentId === null ? 'everything' : `agent ${agentId}`;
  const store = await openToWrite(options);
  try {
    const stands = (await store.kills()).some((kill) => kill.agentId === agentId);
    if (options.lift && !stands)
      throw new BullaError('KILL_NOT_STANDING', `No kill switch stands for ${whom}.`);
    const id = randomUUID();
    const summary = options.lift ? `Kill switch lifted for ${whom}` : `Kill switch for ${whom}`;
    const capsule = await store.chain(options.chain).append(
      {
        type: 'kill',
        domain: 'kill',
        trigger: { type: 'user_request', source: userInfo().username, request: summary },
        context: { agent_id: agentId ?? '', environment: { bulla: { v: 1 } } },
        outcome: {
          status: options.lift ? 'success' : 'blocked',
          summary,
          result: { reason: options.reason },
        },
      },
      {
        id,
        effect: options.lift
          ? liftKill(agentId)
          : setKill({ agentId, reason: options.reason, capsuleId: id }),
      },
    );
    await report(
      options,
      { ok: true, lifted: options.lift ?? false, agent: agentId, capsule: capsule.hash },
      () => [`${summary}, sealed as ${capsule.hash}`],
    );
    if (agentId !== null && !options.lift && !options.quiet && !(await isKnown(store, agentId)))
      say(
        `${colors.yellow('note')}  there is no record or manifest of this agent so far; is ${visible(agentId)} its name?`,
      );
    return EXIT.good;
  } finally {
    await store.close();
  }
}

/** Whether anything but kill switches tells of the agent. The switch stands already, whatever fails here. */
async function isKnown(store: Store, agentId: string): Promise<boolean> {
  try {
    if ((await createManifests(store).agents()).includes(agentId)) return true;
    const all = await store.find({ agentId, limit: 1000 });
    return all.length > (await store.find({ agentId, type: 'kill', limit: 1000 })).length;
  } catch {
    return true;
  }
}

async function list(options: KillOptions): Promise<Exit> {
  const store = await openToRead(options);
  try {
    const kills = await store.kills();
    await report(options, { ok: true, standing: kills }, () =>
      kills.length === 0
        ? ['No kill switch stands.']
        : kills.map(
            (kill) =>
              `${colors.red(kill.agentId ?? 'everything')}  ${kill.reason} ${colors.dim(kill.capsuleId)}`,
          ),
    );
    return EXIT.good;
  } finally {
    await store.close();
  }
}
