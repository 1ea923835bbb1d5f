import type { Command } from 'commander';
import { defineDiff } from './capability-diff.ts';
import { defineHash } from './capability-hash.ts';
import { defineVerify } from './capability-verify.ts';
import type { Run } from './commands.ts';

export function define(command: Command, run: Run): void {
  defineHash(command, run);
  defineDiff(command, run);
  defineVerify(command, run);
}
