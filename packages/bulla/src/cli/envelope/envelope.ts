import { type ExecProfile, execHash, parseEnvelope } from '@bulla/core/envelope';
import type { Command } from 'commander';
import { readInput } from '../../os/index.ts';
import type { Run } from '../commands.ts';
import { EXIT, type Exit, print } from '../terminal/io.ts';
import { defineAuthorize } from './authorize.ts';
import { defineNew } from './new.ts';
import { execProfileOption } from './options.ts';
import { definePolicy } from './policy.ts';
import { defineExplain, defineVerify } from './verify.ts';

export function define(command: Command, run: Run): void {
  defineNew(command, run);
  command
    .command('hash')
    .description('Print the exec_hash of an envelope, and nothing else.')
    .argument('<envelope>', 'the envelope; - is standard input')
    .addOption(execProfileOption())
    .action(run(hash));
  defineAuthorize(command, run);
  defineExplain(command, run);
  defineVerify(command, run);
  definePolicy(command, run);
}

async function hash(file: string, options: { profile: ExecProfile }): Promise<Exit> {
  await print(`${execHash(parseEnvelope(readInput(file, 'document')), options.profile)}\n`);
  return EXIT.good;
}
