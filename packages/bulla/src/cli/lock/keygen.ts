import { makeLockKeys } from '../../app/index.ts';
import type { Command } from '../command.ts';
import { colors, type ReportOptions, report, reportOptions } from '../terminal/io.ts';

interface KeygenOptions extends ReportOptions {
  private: string;
  public: string;
}

export function define(command: Command): void {
  command
    .option('--private <file>', 'where to write the private key', 'private.key')
    .option('--public <file>', 'where to write the public key', 'public.key')
    .use(reportOptions)
    .helpText(`
Ed25519, in the format of the released lock program. The private key is for its owner alone (mode 0600); nothing is
ever overwritten. 'bulla keys' makes keys that rotate, and keys in tokens; 'bulla sign --keys' signs with those.`)
    .run(keygen);
}

async function keygen(options: KeygenOptions): Promise<void> {
  const id = makeLockKeys(options.private, options.public);
  const document = { ok: true, private: options.private, public: options.public, key_id: id };
  await report(options, document, () => [
    `${colors.green('made')}  ${options.private} (keep it secret) and ${options.public} (hand it on)`,
    `  ${colors.dim(`key id ${id}`)}`,
  ]);
}
