import { BullaError } from '../error.ts';
import type { Envelope, ReplayScope } from './envelope.ts';

/**
 * Within what a nonce is used once. A ledger keeps these four as one unique key, so that the database itself
 * refuses the second use. What is no part of the scope is the empty string, which no tenant or caller is, and not
 * null, of which a database holds any number to be different.
 */
export interface NonceKey {
  readonly replay_scope: ReplayScope;
  /** Empty in the scope `global`. */
  readonly tenant_id: string;
  /** Empty in the scopes `tenant` and `global`. A caller is one within its tenant. */
  readonly caller: string;
  readonly nonce: number;
}

/** The nonce of an envelope, within its scope. Each scope counts by itself. */
export function nonceKey({ constraints, tenant_id, actor }: Envelope): NonceKey {
  const { replay_scope, nonce } = constraints;
  return {
    replay_scope,
    tenant_id: replay_scope === 'global' ? '' : tenant_id,
    caller: replay_scope === 'caller' ? actor.caller : '',
    nonce,
  };
}

/** The refusal of a nonce that was used before. */
export function nonceReplayed({ replay_scope, nonce }: NonceKey): BullaError {
  const within = { caller: 'by this caller', tenant: 'in this tenant', global: 'before' }[replay_scope];
  return new BullaError('EE_NONCE_REPLAY', `The nonce ${nonce} was used ${within}.`, {
    path: '/constraints/nonce',
  });
}

/** The refusal when it cannot be said whether a nonce was used. */
export function nonceStoreFailed(cause?: unknown): BullaError {
  return new BullaError('EE_NONCE_STORE_FAILURE', 'The store of nonces cannot be read or written.', {
    path: '/constraints/nonce',
    cause,
  });
}
