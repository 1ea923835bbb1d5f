import { createHash } from 'node:crypto';
import { BullaError } from '@bulla/core/error';
import { parse, textAt } from '@bulla/core/json';
import type { Artifact } from '@bulla/core/lock';
import { type Fetcher, type Reply, readBody } from '../os/index.ts';
import type { DockerCommand } from './command.ts';
import { NO_ARTIFACT } from './resolve.ts';

const MAX_MANIFEST = 4 * 1024 * 1024;
const MANIFESTS = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

/**
 * The artifact of a container command: the image and its digest. A tag is resolved by asking the registry, without
 * credentials. Rejects with `PIN_REGISTRY_ANSWER` when it does not answer, `PIN_INTEGRITY` when the manifest is not the
 * one that it announces, and the `DOWNLOAD_…` codes.
 */
export async function resolveOci(command: DockerCommand, fetcher: () => Fetcher): Promise<Artifact> {
  const digest = command.digest ?? (await resolveTag(command.image, fetcher));
  return { ...NO_ARTIFACT, type: 'oci', image: command.image, digest };
}

/** Where the registry API of an image lies; null for one of Docker's short names, which does not say. */
export function imageAddress(image: string): {
  readonly base: URL;
  readonly repository: string;
  readonly tag: string;
} | null {
  const slash = image.indexOf('/');
  const first = slash < 0 ? '' : image.slice(0, slash);
  if ((!/[.:]/.test(first) && first !== 'localhost') || first === 'docker.io') return null;
  const rest = image.slice(slash + 1);
  const colon = rest.lastIndexOf(':');
  const [repository, tag] = colon < 0 ? [rest, 'latest'] : [rest.slice(0, colon), rest.slice(colon + 1)];
  const base = URL.parse(`https://${first}/v2/`);
  return base === null ? null : { base, repository, tag };
}

async function resolveTag(image: string, fetching: () => Fetcher): Promise<string> {
  const address = imageAddress(image);
  if (address === null) throw unresolved(image, 'its name does not say where it comes from');
  const { base, repository, tag } = address;
  const fetcher = fetching();
  const url = new URL(`${repository}/manifests/${tag}`, base);
  const ask = (headers: Record<string, string>) =>
    fetcher.get(url, { headers: { accept: MANIFESTS, ...headers }, maxBytes: MAX_MANIFEST });
  let reply = await ask({});
  if (reply.status === 401) {
    const token = await anonymousToken(reply, repository, fetcher);
    if (token !== null) reply = await ask({ authorization: `Bearer ${token}` });
  }
  const bytes = await readBody(reply);
  if (reply.status !== 200) throw unresolved(image, `the registry answered with status ${reply.status}`);
  const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
  const said = reply.headers['docker-content-digest'];
  if (said !== undefined && said !== digest)
    throw new BullaError(
      'PIN_INTEGRITY',
      `The manifest of ${image} is ${digest}, and the registry says ${said}.`,
    );
  return digest;
}

function unresolved(image: string, why: string): BullaError {
  const message = `The tag of ${image} cannot be resolved: ${why}. Name the image with its digest.`;
  return new BullaError('PIN_REGISTRY_ANSWER', message);
}

/** The token that a registry gives to anybody, by the challenge of its answer (Docker Registry v2, token authentication). */
async function anonymousToken(
  challenged: Reply,
  repository: string,
  fetcher: Fetcher,
): Promise<string | null> {
  await readBody(challenged);
  const challenge = challenged.headers['www-authenticate'] ?? '';
  const [, realm] = /^Bearer\s.*\brealm="([^"]+)"/i.exec(challenge) ?? [];
  const [, service] = /\bservice="([^"]+)"/.exec(challenge) ?? [];
  const url = URL.parse(realm ?? '');
  if (url === null) return null;
  if (service !== undefined) url.searchParams.set('service', service);
  url.searchParams.set('scope', `repository:${repository}:pull`);
  const reply = await fetcher.get(url, { maxBytes: MAX_MANIFEST });
  const bytes = await readBody(reply);
  if (reply.status !== 200) return null;
  try {
    const found = parse(bytes);
    const token = textAt(found, ['token']) ?? textAt(found, ['access_token']) ?? '';
    return /^[\x21-\x7e]+$/.test(token) ? token : null;
  } catch (error) {
    if (error instanceof BullaError) return null;
    throw error;
  }
}
