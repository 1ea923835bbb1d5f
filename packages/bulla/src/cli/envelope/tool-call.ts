import { randomBytes } from 'node:crypto';
import { SALT_BYTES } from '@bulla/core/canon';
import { toHex, toUtf8 } from '@bulla/core/crypto';
import { toolCallOf } from '../../app/index.ts';
import { unixTime } from '../../envelope/index.ts';
import { createPrivateFile, readInput, replaceFile } from '../../os/index.ts';
import type { Command } from '../command.ts';
import { storeOptions } from '../store.ts';
import { type CommonOptions, commonFields, commonOptions, writeOut } from './new.ts';

interface ToolCallOptions extends CommonOptions {
  lock: string;
  server: string;
  tool: string;
  arguments: string;
  output: string;
}

export function defineToolCall(command: Command): void {
  command
    .subcommand('tool-call', 'Write the envelope of one call of a locked tool, with exactly these arguments.')
    .use(storeOptions)
    .requiredOption('--lock <file>', 'the lock that the server is guarded with')
    .requiredOption('--server <name>', 'the server, as the configuration of the guard names it')
    .requiredOption('--tool <name>', 'the tool, as the server names it')
    .requiredOption('--arguments <file>', 'the arguments, a JSON object; - is standard input')
    .use(commonOptions)
    .requiredOption(
      '-o, --output <file>',
      'where to write it; its salt goes beside it, with .salt at the end',
    )
    .option('--quiet', 'do not tell what it says')
    .helpText(`
The envelope holds the arguments as a commitment under a fresh salt: neither it nor any record tells them. Who approves
it needs the arguments and the salt to see what they sign (envelope authorize --arguments), and the host needs the salt
to call. In the call the host puts, as strings, the texts of the files into _meta:
  "bulla/envelope": {"envelope": "…", "authorization": "…", "salt": "…"}

Example:
  $ bulla envelope tool-call --lock mcp-lock.json --server files --tool write_file --arguments call.json \\
      --caller claude --tenant-id acme --policy-id desk -o envelope.json`)
    .run(toolCall);
}

async function toolCall(options: ToolCallOptions): Promise<void> {
  const { lock, server, tool, output } = options;
  const salt = new Uint8Array(randomBytes(SALT_BYTES));
  const envelope = toolCallOf({
    ...{ lock, server, tool, salt },
    args: readInput(options.arguments, 'document'),
    draft: await commonFields(options, unixTime()),
  });
  // Whoever has the salt can try out arguments.
  createPrivateFile(`${output}.salt`);
  replaceFile(`${output}.salt`, toUtf8(`${toHex(salt)}\n`));
  await writeOut(envelope, options);
}
