import { keyId } from '@bulla/core/crypto';
import type { ArgumentMapping } from '@bulla/core/envelope';
import { BullaError } from '@bulla/core/error';
import { pointer } from '@bulla/core/json';
import type { Lock } from '@bulla/core/lock';
import { createVerifier, unixTime, type Verifier } from '../envelope/index.ts';
import type { Recorder } from '../record/index.ts';
import { createLedger, type Store } from '../store/index.ts';
import { type Approver, approverFiles, approverKeys } from './approvers.ts';
import type { LoadedConfig } from './config/config.ts';
import { mappingOf } from './config/mapping.ts';

/** The tools of a server whose calls need an envelope, and those whose arguments say what one is for. */
export interface ToolEnvelopes {
  readonly irreversible: ReadonlySet<string>;
  readonly mappings: ReadonlyMap<string, ArgumentMapping>;
}

type ServerConfig = LoadedConfig['servers'] extends ReadonlyMap<string, infer Server> ? Server : never;

/** Throws `CONFIG_UNSOUND` for a tool that the lock does not hold: a name that is misspelled would protect nothing. */
export function toolEnvelopes(key: string, { tools = new Map() }: ServerConfig, lock: Lock): ToolEnvelopes {
  const named = [...(tools as NonNullable<ServerConfig['tools']>)].filter(
    ([, { irreversible, envelope }]) => irreversible || envelope !== undefined,
  );
  for (const [tool] of named) {
    if (lock.tools.has(tool)) continue;
    const path = pointer(['servers', key, 'tools', tool]);
    throw new BullaError('CONFIG_UNSOUND', 'The lock of the server holds no tool of this name.', { path });
  }
  return {
    irreversible: new Set(named.flatMap(([tool, { irreversible }]) => (irreversible ? [tool] : []))),
    mappings: new Map(
      named.flatMap(([tool, { envelope }]) =>
        envelope === undefined ? [] : [[tool, mappingOf(envelope)] as const],
      ),
    ),
  };
}

/** Who approves calls, as a configuration says it. */
export interface Approvals {
  /** The files of the keys. */
  readonly files: readonly string[];
  /** What verifies approvals and consumes them in a store. Throws `USAGE` where nothing says whose envelopes count. */
  open(at: { readonly store: Store; readonly record: Recorder }): OpenApprovals;
}

export interface OpenApprovals {
  readonly verifier: Verifier;
  readonly ledger: { readonly audience: string; readonly tenantId: string };
  /** Whether a policy is in effect under which anything can be approved. */
  hasPolicy(): Promise<boolean>;
}

/**
 * Reads the keys of those who approve; null where the configuration has no `envelopes`. They are read again for each
 * envelope, so that a key that was revoked meanwhile counts for nothing. Throws as `approverKeys`, and `CONFIG_UNSOUND`
 * for a key of two people.
 */
export function approvalsOf({ envelopes, store: kept }: LoadedConfig, keys = kept?.keys): Approvals | null {
  if (envelopes === undefined) return null;
  const { audience, skew = 0 } = envelopes;
  const approvers: Approver[] = [...envelopes.approvers].flatMap(([person, files]) =>
    files.map((file) => ({ person, file })),
  );
  const owners = new Map<string, string>();
  for (const { person, key } of approverKeys(approvers, keys)) {
    const owner = owners.get(keyId(key)) ?? person;
    if (owner !== person)
      throw new BullaError('CONFIG_UNSOUND', 'One key is given to two people.', {
        path: pointer(['envelopes', 'approvers', person]),
      });
    owners.set(keyId(key), person);
  }
  return {
    files: approverFiles(approvers),
    open({ store, record }) {
      const tenantId = envelopes.tenantId ?? store.tenant ?? undefined;
      const verifier = createVerifier({
        ...{ store, record, audience, skew: skew / 1000 },
        ...(tenantId !== undefined && { tenantId }),
        keys: () => approverKeys(approvers, keys),
      });
      return {
        verifier,
        // Without a tenant there is no verifier.
        ledger: { audience, tenantId: tenantId! },
        async hasPolicy() {
          const now = unixTime();
          const published = await createLedger(store).policies();
          return published.some(({ policy_effective_at }) => policy_effective_at <= now);
        },
      };
    },
  };
}
