import { fromUtf8, keyId, type NoteVerifier, type PublicKey, readPublicKey } from '@bulla/core/crypto';
import type { KeyTrust } from '@bulla/core/verify';
import { pathsOf } from '../../app/index.ts';
import { findKeyring, refuseSeed, trustIn } from '../../keys/index.ts';
import { readKeyring } from '../../locks/index.ts';
import { readInput } from '../../os/index.ts';
import type { Command } from '../command.ts';
import { collect } from '../terminal/io.ts';

/** What records are verified with. */
export interface TrustOptions {
  publicKey: string[];
  keyring?: string;
  pqKey: string[];
  requirePq?: boolean;
  allowNan?: boolean;
}

export interface Trust extends KeyTrust {
  readonly requirePq: boolean;
  readonly allowNonFinite: boolean;
  /** Nobody named these keys: they are those of the local keyring. */
  readonly unasked: boolean;
  /** Where the keys come from, for the report. */
  readonly origin: string;
}

export function trustOptions(command: Command): Command {
  return command
    .option('--public-key <hex|file>', 'a public key to trust', collect, [])
    .option(
      '--keyring <path>',
      'a keyring (its folder or its keyring.json) whose keys to trust when verifying',
    )
    .option('--pq-key <file>', 'an ML-DSA-65 public key to trust', collect, [])
    .option('--require-pq', 'refuse records without a good post-quantum signature')
    .option('--allow-nan', 'read the bare NaN and Infinity tokens that Python writes');
}

/**
 * The keys that were named, else those of the local keyring if there is one, else none. Nothing is created. Whatever
 * the local keyring says of a key that was named (that it is revoked, when it is valid, which post-quantum key signs
 * with it) holds for that key too, also where it was named as a verifier key. Throws `INPUT_UNREADABLE` and the `KEY_…` and `KEYRING_…` codes.
 */
export function trusted(options: TrustOptions, vkeys: readonly NoteVerifier[] = []): Trust {
  const named = options.publicKey.map((text) => readKey(text, 'Ed25519'));
  const pqNamed = options.pqKey.map((text) => readKey(text, 'ML-DSA-65'));
  const folder = pathsOf().keys;
  const local = findKeyring(folder)?.epochs ?? [];
  for (const key of named) refuseSeed(key, local);
  const chosen =
    options.keyring !== undefined
      ? readKeyring(options.keyring).epochs
      : named.length === 0
        ? local
        : undefined;
  const keys = [...named, ...(chosen ?? []).map((epoch) => epoch.publicKey)];
  const ids = new Set([...keys, ...pqNamed, ...vkeys.map((one) => one.publicKey)].map(keyId));
  const known = [...new Set([...(chosen ?? []), ...local])].filter(
    ({ keyId: id, pqPublicKey }) => ids.has(id) || (pqPublicKey !== null && ids.has(keyId(pqPublicKey))),
  );
  const { pqKeys, facts, revoked } = trustIn(known);
  return {
    ...{ keys, pqKeys: [...pqNamed, ...pqKeys], facts, revoked },
    requirePq: options.requirePq ?? false,
    allowNonFinite: options.allowNan ?? false,
    unasked: options.keyring === undefined && named.length === 0,
    origin:
      chosen !== undefined
        ? `the keys of ${options.keyring ?? folder}`
        : named.length === 0
          ? 'none'
          : 'the keys on the command line',
  };
}

/** The text of a key that is written out or lies in a file. Throws `INPUT_UNREADABLE` and the `KEY_…` codes. */
function readKey(text: string, algorithm: 'Ed25519' | 'ML-DSA-65'): PublicKey {
  return readPublicKey(/^[0-9a-f]{64}$/.test(text) ? text : fromUtf8(readInput(text, 'key')), algorithm);
}
