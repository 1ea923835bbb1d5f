import { BullaError } from '@bulla/core/error';
import { readInput } from '../os/index.ts';
import { checkProvenance, GITHUB_ISSUER, type NpmArtifact, type ProvenanceFacts } from '../pin/index.ts';

/** A provenance that was handed over, whom to trust, and whose it must be. */
export interface ProvenanceChoice {
  /** Files: a Sigstore bundle, and the trusted root to verify it with. */
  readonly bundle?: string | undefined;
  readonly trustedRoot?: string | undefined;
  /** Who vouches for the signer, exactly. Default: GitHub's workflows. */
  readonly issuer?: string | undefined;
  readonly identity?: string | undefined;
  /** The repository that the certificate must name. */
  readonly expectedSource?: string | undefined;
}

/**
 * Verifies the provenance that was named, offline. Rejects with `PROVENANCE_MISSING` when no bundle or no trusted root
 * was, and with what `checkProvenance` rejects with.
 */
export async function provenanceOf(
  { integrity }: NpmArtifact,
  { bundle, trustedRoot, issuer = GITHUB_ISSUER, identity, expectedSource }: ProvenanceChoice,
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
