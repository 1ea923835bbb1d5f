import type { Command } from 'commander';
import type { Run } from '../commands.ts';
import { defineDiff } from './diff.ts';
import { defineHash } from './hash.ts';
import { defineVerify } from './verify.ts';

export function define(command: Command, run: Run): void {
  defineHash(command, run);
  defineDiff(command, run);
  defineVerify(command, run);
}
