import { existsSync, readFileSync, statSync } from 'node:fs';
import { keyId, type PublicKey, readPublicKey } from '@bulla/core/crypto';
import type { AnchorTrust, Policy } from '@bulla/core/log';
import type { Command } from 'commander';
import type { Revocation } from '../chain/index.ts';
import { loadKeyring, parseKeyring } from '../keys/index.ts';
import { readInput } from './io.ts';
import { keysFolder } from './place.ts';

/** What records are verified with. */
export interface TrustOptions {
  publicKey: string[];
  keyring?: string;
  pqKey: string[];
  requirePq?: boolean;
  allowNan?: boolean;
}

export interface Trust {
  readonly keys: readonly PublicKey[];
  readonly pqKeys: readonly PublicKey[];
  /** Keys that are revoked: what they signed counts no more, unless witnesses saw it before. */
  readonly revoked: readonly Revocation[];
  /** Where the keys come from, for the report. */
  readonly origin: string;
}

const collect = (value: string, previous: string[]) => [...previous, value];

export function trustOptions(command: Command): Command {
  return command
    .option('--public-key <hex|file>', 'a public key to trust; may be repeated', collect, [])
    .option('--keyring <path>', 'a keyring folder or keyring.json whose keys to trust')
    .option('--pq-key <file>', 'an ML-DSA-65 public key to trust; may be repeated', collect, [])
    .option('--require-pq', 'refuse records without a good post-quantum signature')
    .option('--allow-nan', 'read the bare NaN and Infinity tokens that Python writes');
}

/** The keys that were named, else those of the local keyring if there is one, else none. Nothing is created. */
export function trusted(options: TrustOptions): Trust {
  const keys = options.publicKey.map((text) => readKey(text, 'Ed25519'));
  const pqKeys = options.pqKey.map((text) => readKey(text, 'ML-DSA-65'));
  const local = keysFolder({});
  const path = options.keyring ?? (keys.length === 0 && existsSync(local) ? local : undefined);
  if (path === undefined)
    return { keys, pqKeys, revoked: [], origin: keys.length === 0 ? 'none' : 'the keys on the command line' };
  const keyring = statSync(path).isDirectory() ? loadKeyring(path) : parseKeyring(readInput(path));
  return {
    keys: [...keys, ...keyring.epochs.map((epoch) => epoch.publicKey)],
    pqKeys: [
      ...pqKeys,
      ...keyring.epochs.flatMap((epoch) => (epoch.pqPublicKey === null ? [] : [epoch.pqPublicKey])),
    ],
    revoked: keyring.epochs.flatMap(({ keyId, revocation }) =>
      revocation === null ? [] : { key: keyId, at: Math.floor(Date.parse(revocation.at) / 1000) },
    ),
    origin: `the keys of ${path}`,
  };
}

function readKey(text: string, algorithm: 'Ed25519' | 'ML-DSA-65'): PublicKey {
  return readPublicKey(/^[0-9a-f]{64}$/.test(text) ? text : readFileSync(text, 'utf8'), algorithm);
}

/** The same for checkpoints: the log signs with the keys of its records. */
export function anchorTrust({ keys, revoked }: Trust, policy: Policy | undefined): AnchorTrust {
  return {
    keys: keys.filter((key) => key.algorithm === 'Ed25519'),
    policy,
    revokedAt: (key) => revoked.find((revocation) => revocation.key === keyId(key))?.at,
  };
}
