import { BullaError } from '@bulla/core/error';
import type { Command } from 'commander';
import { readInput } from '../../os/index.ts';
import { checkProvenance, GITHUB_ISSUER, type NpmArtifact, type ProvenanceFacts } from '../../pin/index.ts';

/** A provenance that was handed over, whom to trust, and whose it must be. */
export interface ProvenanceOptions {
  bundle?: string;
  trustedRoot?: string;
  issuer: string;
  identity?: string;
  expectedSource?: string;
}

export function provenanceOptions(command: Command): Command {
  return command
    .option('--bundle <file>', 'a Sigstore bundle with the provenance of the package')
    .option('--trusted-root <file>', 'the Sigstore trusted root to verify it with; nothing is fetched')
    .option('--issuer <url>', 'who vouches for the signer, exactly', GITHUB_ISSUER)
    .option(
      '--identity <name>',
      'the signer that the certificate must name; a * at the end stands for anything',
    )
    .option(
      '--expected-source <repository[@ref]>',
      'the repository that the certificate must name, such as https://github.com/o/r@refs/tags/v1',
    );
}

/**
 * Verifies the provenance that was named. Rejects with `PROVENANCE_MISSING` when no bundle or no trusted root was, and
 * with what `checkProvenance` rejects with.
 */
export async function provenanceOf(
  { integrity }: NpmArtifact,
  { bundle, trustedRoot, issuer, identity, expectedSource }: ProvenanceOptions,
): Promise<ProvenanceFacts> {
  if (bundle === undefined || trustedRoot === undefined) {
    const message = 'Without --bundle and --trusted-root nothing is known of who built the package.';
    throw new BullaError('PROVENANCE_MISSING', message);
  }
  const asked = { issuer, identity: identity ?? null, source: expectedSource ?? null };
  return checkProvenance(
    readInput(bundle, 'signature'),
    readInput(trustedRoot, 'signature'),
    integrity,
    asked,
  );
}
