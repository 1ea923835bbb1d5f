import { shownKeyId } from '@bulla/core/crypto';
import { Option } from 'commander';
import { type SignInput, sign } from '../../app/index.ts';
import { SIGNATURE_KINDS } from '../../locks/index.ts';
import type { Command } from '../command.ts';
import { colors, type ReportOptions, report, reportOptions } from '../terminal/io.ts';
import { COMPAT } from './compat.ts';
import { lockfileAlias, lockOption } from './options.ts';

export function define(command: Command): void {
  command
    .use(lockOption, lockfileAlias)
    .option('-k, --key <file>', 'the private key (default: private.key)')
    .option('--keys <folder>', 'sign with the active key of a keyring instead')
    .option('-o, --output <file>', 'where to write the signature (default: beside the lockfile)')
    .addOption(
      new Option('--canonicalization <version>', 'what the signature is over')
        .choices(['v1', 'v2'])
        .default('v1'),
    )
    .addOption(
      new Option('--format <format>', 'sig (of the released lock program), note (C2SP) or dsse (in-toto)')
        .choices(Object.keys(SIGNATURE_KINDS))
        .default('sig'),
    )
    .option('--name <name>', 'the name of the key in a note', 'bulla-lock')
    .use(reportOptions)
    .helpText(`
Nothing is signed that cannot be read: the lockfile is read strictly first.

Example:
  $ bulla sign -l mcp-lock.json -k private.key && bulla verify -l mcp-lock.json -k public.key`)
    .run(act);
}

async function act(options: Omit<SignInput, 'lockfile'> & ReportOptions & { lock: string }): Promise<void> {
  const { lock: lockfile } = options;
  const { signature, format, keyId: id, vkey } = await sign({ ...options, lockfile });
  const document = { ok: true, lockfile, signature, format, key_id: id, ...(vkey && { vkey }) };
  await report(options, document, () => [
    ...(COMPAT ? [`✓ Signature created: ${signature}`] : []),
    `${colors.green('signed')}  ${lockfile} in ${signature}`,
    `  ${colors.dim(`key id ${shownKeyId(id)}`)}`,
    ...(vkey === null ? [] : [`  ${colors.dim(`vkey ${vkey}`)}`]),
  ]);
}
