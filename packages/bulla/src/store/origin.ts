import { BullaError } from '@bulla/core/error';
import { claimsOf } from '@bulla/core/evidence';
import { parse } from '@bulla/core/json';
import type { Driver, Row } from './driver.ts';

/**
 * The name of a chain's log: operator, tenant and chain. Chains without a tenant have a hyphen in its place, which
 * no tenant's name is written as. Throws `STORE_NAME` for what cannot be the name of a log.
 */
export function originOf(operator: string, tenant: string | null, chain: string): string {
  const owner = tenant === null ? '-' : encodeURIComponent(tenant).replace(/^-$/, '%2D');
  const origin = `${operator}/${owner}/${chain}`;
  // Cosignatures give the length of the name in one byte.
  if (/^[^\p{White_Space}\p{Cc}+]+$/u.test(origin) && Buffer.byteLength(origin) <= 255) return origin;
  throw new BullaError(
    'STORE_NAME',
    'The operator, the tenant and the chain make a name of at most 255 bytes without spaces, controls or plus signs.',
  );
}

/**
 * The name under which a chain goes on that does not continue its checkpoints. A log must never sign two that
 * contradict each other, and witnesses would refuse them; so what comes now belongs to another log.
 */
export function nextOrigin(origin: string): string {
  const match = /^(.*)~([1-9][0-9]*)$/.exec(origin);
  return match === null ? `${origin}~2` : `${match[1]}~${Number(match[2]) + 1}`;
}

/** The name that a record gives the log of its chain: the first one, and those that say that the chain was recovered. */
function originIn({ sequence, data }: Row): string | undefined {
  if (sequence > 0 && !data.includes('"recovered"')) return undefined;
  const { origin, recovered } = claimsOf(parse(data, { allow: ['non-finite', 'lone-surrogates'] }));
  return sequence > 0 && recovered === null ? undefined : (origin ?? undefined);
}

const stem = (origin: string) => origin.replace(/~[1-9][0-9]*$/, '');

/**
 * Under which name a chain goes on that records from elsewhere are added to: the one that they give it themselves, so
 * that checkpoints of it are of the chain that its first record names; undefined if they say nothing. `own` is what
 * this store would call a new chain of this name. Throws `STORE_FOREIGN` for the chain of another operator or tenant,
 * and for one that the store has already under another name: a log would be signed in two versions.
 */
export async function adoptedOrigin(
  driver: Pick<Driver, 'chains' | 'tip'>,
  rows: readonly Row[],
  chain: string,
  own: () => string,
): Promise<string | undefined> {
  const claims = rows.map(originIn).filter((origin) => origin !== undefined);
  const claimed = claims.at(-1);
  if (claimed === undefined) return undefined;
  const prefix = own().slice(0, -chain.length);
  const odd = claims.find(
    (origin) =>
      !origin.startsWith(prefix) ||
      origin.slice(prefix.length).includes('/') ||
      stem(origin) !== stem(claimed),
  );
  if (odd !== undefined) {
    const operator = odd.split('/').slice(0, -2).join('/');
    const message = `The records are of the log ${odd}, and the chains of this store and tenant are signed as ${prefix}…. To go on as that operator, set BULLA_OPERATOR=${operator} and name its tenant.`;
    throw new BullaError('STORE_FOREIGN', message);
  }
  for (const { name } of await driver.chains()) {
    const { origin } = await driver.tip(name);
    const isSame = origin !== null && stem(origin) === stem(claimed);
    if (origin === null || isSame === (name === chain)) continue;
    const message = isSame
      ? `The store has the log ${claimed} already, as the chain ${name}.`
      : `The records are of the log ${claimed}, and the chain ${chain} is of ${origin}.`;
    if (isSame || name === chain) throw new BullaError('STORE_FOREIGN', message);
  }
  return claimed;
}
