import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { keyId, privateKey, writePrivateKey, writePublicKey } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import type { Command } from 'commander';
import { writeKeyFile } from '../../keys/index.ts';
import type { Run } from '../commands.ts';
import { colors, EXIT, type Exit, type ReportOptions, report } from '../terminal/io.ts';

interface KeygenOptions extends ReportOptions {
  private: string;
  public: string;
}

export function define(command: Command, run: Run): void {
  command
    .option('--private <file>', 'where to write the private key', 'private.key')
    .option('--public <file>', 'where to write the public key', 'public.key')
    .option('--json', 'print one JSON document')
    .option('--quiet', 'print nothing; the exit code tells')
    .addHelpText(
      'after',
      `
Ed25519, in the format of the released lock program. The private key is for its owner alone (mode 0600); nothing is
ever overwritten. 'bulla keys' makes keys that rotate, and keys in tokens; 'bulla sign --keyring' signs with those.`,
    )
    .action(run(keygen));
}

async function keygen(options: KeygenOptions): Promise<Exit> {
  const files = [options.private, options.public];
  const there = files.find((file) => existsSync(file));
  if (there !== undefined)
    throw new BullaError('FILE_EXISTS', `${there} exists already; it is never overwritten.`);
  if (options.private === options.public)
    throw new BullaError('FILE_EXISTS', 'The two keys need a file each.');
  const key = privateKey('Ed25519', new Uint8Array(randomBytes(32)));
  writeKeyFile(options.private, writePrivateKey(key, 'lock-pem'), 'private');
  try {
    writeKeyFile(options.public, writePublicKey(key.publicKey, 'lock-pem'), 'public');
  } catch (error) {
    rmSync(options.private, { force: true });
    throw error;
  }
  const id = keyId(key.publicKey);
  const document = { ok: true, private: options.private, public: options.public, key_id: id };
  await report(options, document, () =>
    [
      `${colors.green('made')}  ${options.private} (keep it secret) and ${options.public} (hand it on)`,
      `  ${colors.dim(`key id ${id}`)}`,
    ].join('\n'),
  );
  return EXIT.good;
}
