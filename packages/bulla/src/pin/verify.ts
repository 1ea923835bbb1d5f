import type { Code } from '@bulla/core/codes';
import { BullaError } from '@bulla/core/error';
import type { TreePackage } from '@bulla/core/lock';
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
  let [done, hashed] = [0, 0];
  const verifyOne = async ([path, entry]: [string, TreePackage], check: () => Promise<void>) => {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof BullaError) || !BAD.includes(error.code)) throw error;
      const { name, version } = entry;
      differences.push({ path, name, version, code: error.code, message: error.message });
    }
  };
  await eachOf(entries, CONCURRENT, async (next) => {
    const [, entry] = next;
    await verifyOne(next, async () => {
      const found = await registry.integrityOf(entry.name, entry.version);
      if (found !== entry.integrity) throw differs(entry.name, entry.version, entry.integrity, found);
    });
    if (deep)
      await verifyOne(next, async () => {
        hashed++;
        await checkDownload(entry, registry);
      });
    onProgress(++done, entries.length);
  });
  differences.sort((a, b) => (a.path < b.path ? -1 : 1));
  return { packages: entries.length, hashed, differences };
}

const BAD: readonly Code[] = ['PIN_REGISTRY_DIFFERS', 'PIN_INTEGRITY'];
