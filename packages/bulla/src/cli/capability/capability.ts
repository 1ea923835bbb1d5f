import type { Command } from '../command.ts';
import { defineDiff } from './diff.ts';
import { defineHash } from './hash.ts';
import { defineVerify } from './verify.ts';

export function define(command: Command): void {
  defineHash(command);
  defineDiff(command);
  defineVerify(command);
}
