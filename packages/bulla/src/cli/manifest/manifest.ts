import { readManifest } from '@bulla/core/manifest';
import type { Command } from 'commander';
import { readInput } from '../../os/index.ts';
import type { Run } from '../commands.ts';
import { EXIT, type Exit, print } from '../terminal/io.ts';
import { defineBind } from './bind.ts';
import { defineDiff } from './diff.ts';
import { defineInit } from './init.ts';
import { definePush } from './push.ts';
import { defineShow } from './show.ts';
import { defineValidate } from './validate.ts';

export function define(command: Command, run: Run): void {
  defineValidate(command, run);
  command
    .command('hash')
    .description('Print the hash of a manifest (SHA-256 of its RFC 8785 form), and nothing else.')
    .argument('<file>', 'the manifest; - is standard input')
    .addHelpText(
      'after',
      `
An invalid manifest has no hash: the command ends with 2.

Example:
  $ bulla manifest hash manifest.json`,
    )
    .action(run(hash));
  defineDiff(command, run);
  defineInit(command, run);
  definePush(command, run);
  defineBind(command, run);
  defineShow(command, run);
}

async function hash(file: string): Promise<Exit> {
  await print(`${readManifest(readInput(file, 'document')).hash}\n`);
  return EXIT.good;
}
