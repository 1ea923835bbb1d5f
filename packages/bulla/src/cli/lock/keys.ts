import type { LockTrust } from '../../app/index.ts';
import type { Command } from '../command.ts';
import { collect } from '../terminal/io.ts';

export function keyOptions(command: Command): Command {
  return command
    .option('-k, --key <file|hex>', 'a public key to trust; may be repeated', collect, [])
    .option(
      '--keyring <path>',
      'a keyring (its folder or its keyring.json) whose keys to trust when verifying',
    );
}

export function requireOptions(command: Command): Command {
  return command
    .option('--require-signature', 'use the lock only if a trusted key signed it')
    .use(keyOptions)
    .option('-s, --signature <file>', 'the signature (default: what lies beside the lock)');
}

/** How a lock is to be trusted, of all the options of a command. */
export function trustOf({ key, keyring, requireSignature, signature }: LockTrust): LockTrust {
  return { key, keyring, requireSignature, signature };
}
