import { readManifest } from '@bulla/core/manifest';
import { readInput } from '../../os/index.ts';
import type { Command } from '../command.ts';
import { print } from '../terminal/io.ts';
import { defineBind } from './bind.ts';
import { defineDiff } from './diff.ts';
import { defineInit } from './init.ts';
import { definePush } from './push.ts';
import { defineShow } from './show.ts';
import { defineValidate } from './validate.ts';

export function define(command: Command): void {
  defineValidate(command);
  command
    .subcommand('hash', 'Print the hash of a manifest (SHA-256 of its RFC 8785 form), and nothing else.')
    .argument('<file>', 'the manifest; - is standard input')
    .helpText(`
An invalid manifest has no hash: the command ends with 2.

Example:
  $ bulla manifest hash manifest.json`)
    .run(hash);
  defineDiff(command);
  defineInit(command);
  definePush(command);
  defineBind(command);
  defineShow(command);
}

async function hash(file: string): Promise<void> {
  await print(`${readManifest(readInput(file, 'document')).hash}\n`);
}
