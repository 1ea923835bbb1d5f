import { userInfo } from 'node:os';
import { visible } from '@bulla/core/text';
import { type BindResult, bindTools, readEdits } from '../../app/index.ts';
import type { Command } from '../command.ts';
import { openFor, type StoreOptions, sealOptions } from '../store.ts';
import { capsuleNames, colors, type ReportOptions, report, reportOptions } from '../terminal/io.ts';
import { endedLines, reboundLines } from './push.ts';

export function defineBind(command: Command): void {
  command
    .subcommand('bind', 'Say which tools of servers the tools of an agent are, and seal that.')
    .argument('<agent>', 'the agent')
    .argument('<binding...>', 'TOOL=SERVER/TOOL for each; TOOL= for one that is called without a server')
    .use(sealOptions, reportOptions)
    .helpText(`
The other tools stay what they were, and the version of the manifest does too. A tool that was bound before and is bound
to another one, or to none, lets what people granted rest until they have reviewed it.

Example:
  $ bulla manifest bind desk read_file=files/read_text_file`)
    .run(bind);
}

async function bind(agent: string, texts: string[], options: StoreOptions & ReportOptions): Promise<void> {
  const edits = readEdits(texts);
  await using at = await openFor(options, 'extend');
  const by = userInfo().username;
  const result = await bindTools(at.store, { agent, edits, by, chain: options.chain });
  await report(options, documentOf(result), () => textOf(result));
}

function documentOf({ bound, ended }: BindResult) {
  const { agent, version, hash, bindings, breaking, rebound, capsule } = bound;
  return {
    agent_id: agent,
    capability_manifest_version: version,
    capability_manifest_hash: hash,
    ...{ ok: true, bindings: bindings.digest, tools: Object.fromEntries(bindings.tools) },
    ...{ breaking, rebound, ended: ended.map(({ id }) => id), ...capsuleNames(capsule) },
  };
}

function textOf({ bound, ended }: BindResult): string {
  const { agent, version, bindings, rebound, capsule } = bound;
  return [
    `${colors.green('bound')}  ${visible(agent)} version ${version}`,
    ...[...bindings.tools].map(
      ([name, { server, tool }]) => `  ${name} = ${visible(server)}/${visible(tool)}`,
    ),
    `  ${colors.dim(`sealed as ${capsule.hash}`)}`,
    ...reboundLines(rebound),
    ...endedLines(ended),
  ].join('\n');
}
