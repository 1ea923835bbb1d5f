import { visible } from '@bulla/core/text';
import {
  type LockTrust,
  openLock,
  type ProvenanceChoice,
  provenanceOf,
  type VerifiedArtifact,
  verifyArtifact,
} from '../../app/index.ts';
import { type Checked, npmArtifact, type ProvenanceFacts } from '../../pin/index.ts';
import type { Command } from '../command.ts';
import { requireOptions } from '../lock/options.ts';
import { note, type RecordOptions, recorded, recordOptions } from '../receipt.ts';
import { colors, EXIT, type Exit, type ReportOptions, report, reportOptions } from '../terminal/io.ts';
import { type FetchOptions, fetchOptions, observing, provenanceOptions } from './options.ts';

interface LockedOptions extends LockTrust, ReportOptions {
  lock: string;
}

interface VerifyOptions extends LockedOptions, FetchOptions, RecordOptions {
  deep?: boolean;
}

export function define(command: Command): void {
  const locked = (name: string, description: string) =>
    command
      .subcommand(name, description)
      .argument('[lock]', 'the lockfile (default: mcp-lock.json)')
      .option('-l, --lock <file>', 'the same', 'mcp-lock.json')
      .use(requireOptions, reportOptions);

  locked('verify', 'Ask the registry whether it still says what the lock pins, of every package.')
    .use(fetchOptions, recordOptions)
    .option('--deep', 'also fetch every tarball and hash it')
    .helpText(`
Of an image the digest of its tag is compared. Exits with 1 when anything differs, with 3 when it cannot be told.

Example:
  $ bulla artifact verify mcp-lock.json --deep`)
    .run(recorded('artifact verify', verify));

  locked('provenance', 'Verify, offline, a Sigstore bundle that says who built the pinned package.')
    .use(provenanceOptions)
    .helpText(`
The bundle and the trusted root are files: nothing is fetched, and without a bundle nothing is claimed. Say whose
signature it must be, by --identity or --expected-source. Nothing is signed here.

Example:
  $ bulla artifact provenance --bundle provenance.sigstore.json --trusted-root trusted_root.json \\
      --expected-source https://github.com/modelcontextprotocol/servers`)
    .run(provenance);
}

async function verify(file: string | undefined, options: VerifyOptions): Promise<Exit> {
  const found = await verifyArtifact({
    ...options,
    lockfile: file ?? options.lock,
    ...observing(options),
    onFacts: note,
  });
  const { ok, type } = found;
  if (found.type === 'oci') {
    const { image, pinned, found: digest } = found;
    await report(options, { ok, type, image, pinned, found: digest }, () =>
      ok ? `${colors.green('good')}  ${image} still is ${digest}` : otherImage(found),
    );
  } else {
    const { name, version, integrity, tree } = found.artifact;
    const document = { ok, type, name, version, integrity, tree: tree.digest, ...found.checked };
    await report(options, document, () => checkedText(`${name} ${version}`, found.checked));
  }
  return ok ? EXIT.good : EXIT.bad;
}

function otherImage({ image, pinned, found }: VerifiedArtifact & { type: 'oci' }): string {
  return `${colors.red('bad')}  integrity mismatch (${image} is pinned to ${pinned}, its tag is now ${found})`;
}

function checkedText(what: string, { packages, hashed, differences }: Checked): string {
  const how = hashed === 0 ? 'by what the registry says' : `by ${hashed} tarballs`;
  if (differences.length === 0)
    return `${colors.green('good')}  ${what}: the integrity of all ${packages} packages is what was pinned, ${how}`;
  return [
    `${colors.red('bad')}  ${what}: ${differences.length} of ${packages} packages are not what was pinned`,
    ...differences.map(
      ({ path, message, code }) => `  ${path}: ${visible(message)} ${colors.dim(`[${code}]`)}`,
    ),
  ].join('\n');
}

async function provenance(
  file: string | undefined,
  options: LockedOptions & ProvenanceChoice,
): Promise<void> {
  const artifact = npmArtifact(openLock(file ?? options.lock, options).lock.artifact);
  const facts = await provenanceOf(artifact, options);
  const { name, version, integrity } = artifact;
  await report(options, { ok: true, name, version, integrity, ...facts }, () =>
    provenanceText(`${name} ${version}`, facts),
  );
}

function provenanceText(what: string, facts: ProvenanceFacts): string {
  const line = (label: string, value: string | null) =>
    value === null ? [] : [`  ${label.padEnd(12)} ${visible(value)}`];
  return [
    `${colors.green('good')}  ${what}: SLSA provenance verified; the certificate says`,
    ...line('issuer', facts.issuer),
    ...line('identity', facts.identity),
    ...line('source', facts.sourceRepository),
    ...line('ref', facts.sourceRef),
    'and the statement, which is the word of that signer, says',
    ...line('predicate', facts.predicateType),
    ...line('builder', facts.builder),
    ...line('repository', facts.claimedRepository),
    ...line('ref', facts.claimedRef),
    ...line('workflow', facts.workflow),
    colors.dim('Not proven: that the source is harmless, nor who built what the package needs.'),
  ].join('\n');
}
