import type { Command } from 'commander';
import type { LockTrust } from '../../app/index.ts';
import { collect } from '../terminal/io.ts';

/** Whose signatures on a lock count. */
export interface KeyOptions {
  key: string[];
  keyring?: string;
}

/** How a command that uses a lock is told to trust it. */
export interface RequireOptions extends KeyOptions {
  requireSignature?: boolean;
  signature?: string;
}

export function keyOptions(command: Command): Command {
  return command
    .option('-k, --key <file|hex>', 'a public key to trust; may be repeated', collect, [])
    .option(
      '--keyring <path>',
      'a keyring (its folder or its keyring.json) whose keys to trust when verifying',
    );
}

export function requireOptions(command: Command): Command {
  return keyOptions(
    command.option('--require-signature', 'use the lock only if a trusted key signed it'),
  ).option('-s, --signature <file>', 'the signature (default: what lies beside the lock)');
}

/** How a lock is to be trusted, of all the options of a command. */
export function trustOf({ key, keyring, requireSignature, signature }: RequireOptions): LockTrust {
  return { key, keyring, requireSignature, signature };
}
