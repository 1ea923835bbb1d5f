import type { Code } from '@bulla/core/codes';
import { BullaError } from '@bulla/core/error';
import { checkDownload } from './cache.ts';
import type { NpmArtifact } from './install.ts';
import { eachOf } from './parallel.ts';
import type { ProvenanceFacts, verifyProvenance } from './provenance.ts';
import type { Registry } from './registry.ts';
import { differs } from './resolve.ts';

/** Who vouches for workflows of GitHub Actions. */
export const GITHUB_ISSUER = 'https://token.actions.githubusercontent.com';

/** The same as `verifyProvenance`, which brings much code along that nobody else needs. */
export async function checkProvenance(
  ...args: Parameters<typeof verifyProvenance>
): Promise<ProvenanceFacts> {
  return (await import('./provenance.ts')).verifyProvenance(...args);
}

/** A package of which the registry says something else than the pin. */
interface Difference {
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly code: Code;
  readonly message: string;
}

export interface Checked {
  /** How many packages the registry was asked about. */
  readonly packages: number;
  /** How many tarballs were fetched and hashed. */
  readonly hashed: number;
  readonly differences: readonly Difference[];
}

const CONCURRENT = 8;

/**
 * Asks the registry what it says about every package of a tree; `deep` also fetches every tarball, also those for other
 * machines, and hashes it, without the cache. Rejects with the `DOWNLOAD_…` codes and `PIN_REGISTRY_ANSWER`.
 */
export async function verifyTree(
  { tree }: NpmArtifact,
  registry: Registry,
  deep: boolean,
  onProgress: (done: number, total: number) => void = () => undefined,
): Promise<Checked> {
  const entries = [...tree.packages];
  const differences: Difference[] = [];
  let done = 0;
  await eachOf(entries, CONCURRENT, async ([path, entry]) => {
    const { name, version, integrity } = entry;
    const compare = async () => {
      const found = await registry.integrityOf(name, version);
      if (found !== integrity) throw differs(name, version, integrity, found);
    };
    for (const check of deep ? [compare, () => checkDownload(entry, registry)] : [compare]) {
      await check().catch((error) => {
        if (!(error instanceof BullaError) || !BAD.includes(error.code)) throw error;
        differences.push({ path, name, version, code: error.code, message: error.message });
      });
    }
    onProgress(++done, entries.length);
  });
  differences.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { packages: entries.length, hashed: deep ? entries.length : 0, differences };
}

const BAD: readonly Code[] = ['PIN_REGISTRY_DIFFERS', 'PIN_INTEGRITY'];
