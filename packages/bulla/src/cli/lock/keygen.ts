import type { Command } from 'commander';
import { makeLockKeys } from '../../app/index.ts';
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
  const id = makeLockKeys(options.private, options.public);
  const document = { ok: true, private: options.private, public: options.public, key_id: id };
  await report(options, document, () =>
    [
      `${colors.green('made')}  ${options.private} (keep it secret) and ${options.public} (hand it on)`,
      `  ${colors.dim(`key id ${id}`)}`,
    ].join('\n'),
  );
  return EXIT.good;
}
