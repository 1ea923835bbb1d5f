import { BullaError } from '@bulla/core/error';
import { verifyBundle, writeBundle } from '@bulla/core/lock';
import type { Command } from 'commander';
import { findInput, readInput, replaceFile } from '../../os/index.ts';
import type { Run } from '../commands.ts';
import { colors, EXIT, type Exit, type ReportOptions, report } from '../terminal/io.ts';
import { BUNDLE_NOT_PROVEN, bundleDetails, bundleText } from '../verify/artifact-bundle.ts';
import { VERSION } from '../version.ts';
import { COMPAT } from './compat.ts';
import { type KeyOptions, keyOptions, keysFrom, readLockFile } from './keys.ts';

interface ExportOptions extends ReportOptions {
  lockfile: string;
  signature?: string;
  output: string;
  policy?: string;
  publicKey?: string;
}

export function define(command: Command, run: Run): void {
  command
    .command('export')
    .description('Pack a lockfile and its signature into one file, the same bytes wherever it is done.')
    .option('-l, --lockfile <file>', 'the lockfile', 'mcp-lock.json')
    .option('-s, --signature <file>', 'its signature (default: the lockfile with .sig)')
    .option('-o, --output <file>', 'where to write the bundle', 'approval.zip')
    .option('--policy <file>', 'a policy to add, as policy.yaml')
    .option(
      '--public-key <file>',
      'the key that signed, to add as public.key; it must have made the signature',
    )
    .option('--json', 'print one JSON document')
    .option('--quiet', 'print nothing; the exit code tells')
    .action(run(exportBundle));

  keyOptions(
    command
      .command('verify')
      .description('Verify a bundle of ours or of the released program against keys that you trust.')
      .argument('<file>', 'the bundle'),
  )
    .option('--json', 'print one JSON document')
    .option('--quiet', 'print nothing; the exit code tells')
    .addHelpText(
      'after',
      `
The key inside a bundle is never trusted: whoever changes the bundle can change that too.

Example:
  $ bulla bundle verify approval.zip --key public.key`,
    )
    .action(run(verify));
}

/** The released program takes these two from the current folder. */
function besides(named: string | undefined, usual: string): Uint8Array | null {
  if (named !== undefined) return readInput(named, 'document');
  return COMPAT ? findInput(usual, 'document') : null;
}

function signatureOf(lockfile: string): Uint8Array {
  const bytes = findInput(`${lockfile}.sig`, 'signature');
  if (bytes !== null) return bytes;
  throw new BullaError(
    'INPUT_UNREADABLE',
    `There is no signature ${lockfile}.sig. "bulla sign -l ${lockfile}" makes one; "-s FILE" names another.`,
  );
}

async function exportBundle(options: ExportOptions): Promise<Exit> {
  const { lockfile, output, signature } = options;
  const lock = readLockFile(lockfile);
  const policy = besides(options.policy, 'policy.yaml');
  const publicKey = besides(options.publicKey, 'public.key');
  const bytes = writeBundle(
    {
      lock,
      signature: signature === undefined ? signatureOf(lockfile) : readInput(signature, 'signature'),
      ...(policy && { policy }),
      ...(publicKey && { publicKey }),
    },
    { toolVersion: `bulla ${VERSION}` },
  );
  replaceFile(output, bytes);
  const { createHash } = await import('node:crypto');
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const document = { ok: true, bundle: output, sha256, bytes: bytes.length };
  await report(options, document, () =>
    [
      ...(COMPAT ? [`✓ Bundle created: ${output}`] : []),
      `${colors.green('packed')}  ${output} (${bytes.length} bytes)`,
      `  ${colors.dim(`SHA-256 ${sha256}`)}`,
    ].join('\n'),
  );
  return EXIT.good;
}

async function verify(file: string, options: KeyOptions & ReportOptions): Promise<Exit> {
  const { keys, origin } = keysFrom(options);
  if (keys.length === 0)
    throw new BullaError('LOCK_SIGNATURE_NO_KEY', 'Name the keys that you trust with --key or --keyring.');
  const verified = verifyBundle(readInput(file, 'document'), keys);
  const details = { ...bundleDetails(verified), trusted_from: origin };
  await report(options, { ok: true, file, ...details, not_proven: BUNDLE_NOT_PROVEN }, () =>
    [
      `${colors.green('good')}  ${file}: ${bundleText(verified)}`,
      `  ${colors.dim(`trusted key ${verified.trusted.keyId} (from ${origin})`)}`,
      `  ${colors.dim(`not proven: ${BUNDLE_NOT_PROVEN.join('; ')}`)}`,
    ].join('\n'),
  );
  return EXIT.good;
}
