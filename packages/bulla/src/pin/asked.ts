import type { verifyProvenance as verify } from './provenance.ts';

/** Whom a provenance must be signed by. A `*` at the end, and only there, stands for anything. */
export interface Asked {
  /** Who vouches for the signer, exactly. */
  readonly issuer: string;
  /** The subject of the certificate; for GitHub Actions the workflow with its ref. */
  readonly identity: string | null;
  /** The repository, as the certificate names it, and with `@` a ref. */
  readonly source: string | null;
}

/** Who vouches for workflows of GitHub Actions. */
export const GITHUB_ISSUER = 'https://token.actions.githubusercontent.com';

/** The same as `verifyProvenance`, which brings much code along that nobody else needs. */
export async function checkProvenance(
  ...args: Parameters<typeof verify>
): Promise<ReturnType<typeof verify>> {
  return (await import('./provenance.ts')).verifyProvenance(...args);
}
