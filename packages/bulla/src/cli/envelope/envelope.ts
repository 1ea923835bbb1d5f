import { type ExecProfile, execHash, parseEnvelope } from '@bulla/core/envelope';
import { readInput } from '../../os/index.ts';
import type { Command } from '../command.ts';
import { print } from '../terminal/io.ts';
import { defineAuthorize } from './authorize.ts';
import { defineNew } from './new.ts';
import { execProfileOption } from './options.ts';
import { definePolicy } from './policy.ts';
import { defineToolCall } from './tool-call.ts';
import { defineExplain, defineVerify } from './verify.ts';

export function define(command: Command): void {
  defineNew(command);
  defineToolCall(command);
  command
    .subcommand('hash', 'Print the exec_hash of an envelope, and nothing else.')
    .argument('<envelope>', 'the envelope; - is standard input')
    .addOption(execProfileOption())
    .run(hash);
  defineAuthorize(command);
  defineExplain(command);
  defineVerify(command);
  definePolicy(command);
}

async function hash(file: string, options: { profile: ExecProfile }): Promise<void> {
  await print(`${execHash(parseEnvelope(readInput(file, 'document')), options.profile)}\n`);
}
