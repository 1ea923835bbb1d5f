import { shownKeyId } from '@bulla/core/crypto';
import { BUNDLE_NOT_PROVEN, bundleDetails, bundleText } from '@bulla/core/verify';
import { type BundleInput, type KeyChoice, openBundle, packBundle } from '../../app/index.ts';
import type { Command } from '../command.ts';
import { colors, type ReportOptions, report, reportOptions } from '../terminal/io.ts';
import { COMPAT } from './compat.ts';
import { keyOptions, lockfileAlias, lockOption } from './options.ts';

export function define(command: Command): void {
  command
    .subcommand(
      'export',
      'Pack a lockfile and its signature into one file, the same bytes wherever it is done.',
    )
    .use(lockOption, lockfileAlias)
    .option('-s, --signature <file>', 'its signature (default: the lockfile with .sig)')
    .option('-o, --output <file>', 'where to write the bundle', 'approval.zip')
    .option('--policy <file>', 'a policy to add, as policy.yaml')
    .option(
      '--public-key <file>',
      'the key that signed, to add as public.key; it must have made the signature',
    )
    .use(reportOptions)
    .run(exportBundle);

  command
    .subcommand('verify', 'Verify a bundle of ours or of the released program against keys that you trust.')
    .argument('<file>', 'the bundle')
    .use(keyOptions, reportOptions)
    .helpText(`
The key inside a bundle is never trusted: whoever changes the bundle can change that too.

Example:
  $ bulla bundle verify approval.zip --key public.key`)
    .run(verify);
}

async function exportBundle(
  options: Omit<BundleInput, 'lockfile'> & ReportOptions & { lock: string },
): Promise<void> {
  const { output: bundle } = options;
  const { sha256, bytes } = packBundle({ ...options, lockfile: options.lock, compat: COMPAT });
  await report(options, { ok: true, bundle, sha256, bytes }, () => [
    ...(COMPAT ? [`✓ Bundle created: ${bundle}`] : []),
    `${colors.green('packed')}  ${bundle} (${bytes} bytes)`,
    `  ${colors.dim(`SHA-256 ${sha256}`)}`,
  ]);
}

async function verify(file: string, options: KeyChoice & ReportOptions): Promise<void> {
  const { verified, origin } = openBundle(file, options);
  const details = { ...bundleDetails(verified), trusted_from: origin };
  await report(options, { ok: true, file, ...details, not_proven: BUNDLE_NOT_PROVEN }, () => [
    `${colors.green('good')}  ${file}: ${bundleText(verified)}`,
    `  ${colors.dim(`trusted key ${shownKeyId(verified.trusted.keyId)} (from ${origin})`)}`,
    `  ${colors.dim(`not proven: ${BUNDLE_NOT_PROVEN.join('; ')}`)}`,
  ]);
}
