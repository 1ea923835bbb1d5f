import { BullaError } from '@bulla/core/error';

/**
 * The name of a chain's log: operator, tenant and chain. Chains without a tenant have a hyphen in its place, which
 * no tenant's name is written as. Throws `STORE_NAME` for what cannot be the name of a log.
 */
export function originOf(operator: string, tenant: string | null, chain: string): string {
  if (tenant?.isWellFormed() === false)
    throw new BullaError('STORE_NAME', 'The name of the tenant is no text: it holds half of a character.');
  const place = tenant === null ? '-' : encodeURIComponent(tenant).replace(/^-$/, '%2D');
  const origin = `${operator}/${place}/${chain}`;
  // Cosignatures give the length of the name in one byte.
  if (/^[^\p{White_Space}\p{Cc}+]+$/u.test(origin) && Buffer.byteLength(origin) <= 255) return origin;
  throw new BullaError(
    'STORE_NAME',
    'The operator, the tenant and the chain make a name of at most 255 bytes without spaces, controls or plus signs.',
  );
}
