import { randomBytes } from 'node:crypto';
import { isAbsolute, resolve } from 'node:path';
import { fromUtf8, type KeyFormat, keyId, readPublicKey, shownKeyId, toHex } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { Option } from 'commander';
import { exportPublic, pathsOf } from '../../app/index.ts';
import {
  type Epoch,
  epochNamed,
  initKeyring,
  loadKeyring,
  readTime,
  registerKey,
  revokeKey,
  rotateKeys,
  type TokenKey,
} from '../../keys/index.ts';
import { readInput } from '../../os/index.ts';
import type { Command } from '../command.ts';
import { nonNegative } from '../terminal/input.ts';
import { colors, printExact, type ReportOptions, report, reportOptions } from '../terminal/io.ts';

interface KeyringOptions extends ReportOptions {
  keys?: string;
}
interface NewKeyOptions extends KeyringOptions {
  pq?: boolean;
  notAfter?: Date;
  pkcs11?: string;
  token?: string;
  slot?: number;
  key?: string;
}
interface ExportOptions extends KeyringOptions {
  epoch?: number;
  format: KeyFormat;
  pq?: boolean;
  all?: boolean;
}
interface RegisterOptions extends KeyringOptions {
  pq?: string;
  notBefore?: Date;
  notAfter?: Date;
}
interface RevokeOptions extends KeyringOptions {
  reason: string;
  at?: Date;
}

export function defineKeyring(command: Command): void {
  const sub = (usage: string, description: string) =>
    command
      .subcommand(usage, description)
      .option('--keys <folder>', 'the keyring (default: BULLA_HOME/keys)');
  const making = (it: Command) =>
    it
      .use(reportOptions)
      .option('--not-after <time>', 'when the new key ends, such as 2027-01-31T12:00:00Z', readTime)
      .option('--pkcs11 <library>', 'use a key of a token; its PIN is read from BULLA_PKCS11_PIN')
      .option('--token <label>', 'the label of the token')
      .option('--slot <id>', 'the slot of the token, instead of its label', nonNegative)
      .option('--key <label>', 'the label of the key in the token');

  making(sub('init', 'Make a keyring with its first key. Nothing is ever overwritten.'))
    .option('--pq', 'also make an ML-DSA-65 key')
    .run(init);

  making(
    sub('rotate', 'Make a new key the active one; the old one stays to verify, its private key is erased.'),
  )
    .option('--pq', 'the new key has an ML-DSA-65 key (default: as the old one)')
    .option('--no-pq', 'the new key has none')
    .run(rotate);

  sub('list', 'List the keys of the keyring.').use(reportOptions).run(list);

  sub('export-public', 'Write a public key of the keyring.')
    .argument('[key]', 'which one, as "keys revoke" takes it (default: the active one)')
    .option('--epoch <number>', 'the same, by its number', nonNegative)
    .addOption(
      new Option('--format <format>', 'how to write it')
        .choices(['hex', 'pem', 'jwk', 'lock-pem'])
        .default('hex'),
    )
    .option('--pq', 'the ML-DSA-65 key instead')
    .addOption(
      new Option(
        '--all',
        'every key with its time and revocation, as a keyring.json that verifies with --keyring',
      ).conflicts(['epoch', 'pq']),
    )
    .helpText(`
Example, for an auditor, who needs every key that signed:
  $ bulla keys export-public --all > keyring.json
  $ bulla chain verify chain.jsonl --keyring keyring.json`)
    .run(exportKey);

  sub('register', "Add somebody's public key to verify with; it never signs.")
    .use(reportOptions)
    .argument('<key>', 'a file (- is standard input), or 64 hex digits')
    .option('--pq <file>', 'the ML-DSA-65 public key that belongs to it')
    .option('--not-before <time>', 'when it begins', readTime)
    .option('--not-after <time>', 'when it ends', readTime)
    .run(register);

  sub('revoke', 'Revoke a key. The active one is rotated at the same time.')
    .use(reportOptions)
    .argument('<key>', 'its epoch, its id or fingerprint as listed, its label or its key id')
    .requiredOption('--reason <text>', 'why, for those who verify')
    .option('--at <time>', 'since when it is not to be trusted (default: now)', readTime)
    .helpText(`
What a revoked key signed counts only if a witnessed checkpoint from before that time covers it.

Example:
  $ bulla keys revoke qp_key_d75a --reason "laptop stolen" --at 2026-03-01T00:00:00Z`)
    .run(revoke);
}

function directory(options: KeyringOptions): string {
  return resolve(pathsOf(undefined, options).keys);
}

const surroundings = { now: () => new Date(), randomBytes };

async function init(options: NewKeyOptions): Promise<void> {
  const dir = directory(options);
  const { active } = await initKeyring(dir, { ...surroundings, ...newKey(options) });
  await reportKey(options, dir, active, `Made a keyring in ${dir}.`);
}

async function rotate(options: NewKeyOptions): Promise<void> {
  const dir = directory(options);
  const { active } = await rotateKeys(dir, { ...surroundings, ...newKey(options) });
  const sentence = `Epoch ${active.epoch} is active now; the private key before it is erased.`;
  await reportKey(options, dir, active, sentence);
}

function reportKey(options: KeyringOptions, dir: string, epoch: Epoch, sentence: string): Promise<void> {
  const document = { ok: true, dir, epoch: epochDocument(epoch) };
  return report(options, document, () => [sentence, ...describe(epoch)]);
}

function newKey(options: NewKeyOptions): { pq?: boolean; notAfter?: Date; token?: TokenKey } {
  const { pq, notAfter } = options;
  const token = tokenKey(options);
  return { ...(pq !== undefined && { pq }), ...(notAfter && { notAfter }), ...(token && { token }) };
}

function tokenKey({
  pkcs11: module,
  token: tokenLabel,
  slot,
  key: keyLabel,
}: NewKeyOptions): TokenKey | null {
  if (module === undefined && tokenLabel === undefined && slot === undefined && keyLabel === undefined)
    return null;
  if (module === undefined || keyLabel === undefined || (tokenLabel === undefined) === (slot === undefined)) {
    const message = 'A key of a token needs --pkcs11, --key, and either --token or --slot.';
    throw new BullaError('KEYRING_TOKEN', message);
  }
  const path = isAbsolute(module) ? module : resolve(module);
  return tokenLabel === undefined
    ? { module: path, keyLabel, slot: slot! }
    : { module: path, keyLabel, tokenLabel };
}

async function list(options: KeyringOptions) {
  const dir = directory(options);
  const { epochs, active } = loadKeyring(dir);
  const document = { ok: true, dir, active_epoch: active.epoch, epochs: epochs.map(epochDocument) };
  await report(options, document, () => {
    const rows = epochs.map((epoch) => [
      `${epoch.epoch}`,
      state(epoch),
      shownKeyId(epoch.keyId),
      epoch.fingerprint,
      epoch.label,
      remarks(epoch),
    ]);
    const all = [['epoch', 'state', 'id', 'fingerprint', 'signed_by', 'created and more'], ...rows];
    const widths = [0, 1, 2, 3, 4].map((i) => all.reduce((most, row) => Math.max(most, row[i]!.length), 0));
    const lines = all.map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    );
    return [colors.dim(lines[0]!), ...lines.slice(1)].join('\n');
  });
}

async function exportKey(name: string | undefined, options: ExportOptions) {
  await printExact(exportPublic(directory(options), { ...options, name }));
}

async function register(key: string, options: RegisterOptions) {
  const dir = directory(options);
  const text = /^[0-9a-f]{64}$/.test(key) ? key : fromUtf8(readInput(key, 'key'));
  const epoch = await registerKey(dir, readPublicKey(text, 'Ed25519'), {
    ...surroundings,
    ...(options.pq !== undefined && {
      pqPublicKey: readPublicKey(fromUtf8(readInput(options.pq, 'key')), 'ML-DSA-65'),
    }),
    ...(options.notBefore && { notBefore: options.notBefore }),
    ...(options.notAfter && { notAfter: options.notAfter }),
  });
  await reportKey(options, dir, epoch, `Registered a key to verify with, as epoch ${epoch.epoch}.`);
}

async function revoke(name: string, options: RevokeOptions) {
  const dir = directory(options);
  const keyring = await revokeKey(dir, name, {
    ...surroundings,
    reason: options.reason,
    ...(options.at && { revokedAt: options.at }),
  });
  const revoked = epochNamed(keyring.epochs, name);
  const { active } = keyring;
  const document = { ok: true, dir, revoked: epochDocument(revoked), active_epoch: active.epoch };
  await report(options, document, () => [
    `Revoked the key of epoch ${revoked.epoch} from ${revoked.revocation!.at} on.`,
    `Epoch ${active.epoch} is active (${active.fingerprint}).`,
  ]);
}

/** What a key is good for, in one word. */
function state(epoch: Epoch): string {
  if (epoch.revocation !== null) return 'revoked';
  return epoch.verifyOnly ? 'registered' : epoch.status;
}

/** What else is to be said of a key, on one line. */
function remarks(epoch: Epoch): string {
  return [
    epoch.createdAt,
    ...(epoch.pqPublicKey ? ['ML-DSA-65'] : []),
    ...(epoch.token ? ['in a token'] : []),
    ...(epoch.notBefore ? [`from ${epoch.notBefore}`] : []),
    ...(epoch.notAfter ? [`until ${epoch.notAfter}`] : []),
    ...(epoch.revocation ? [`revoked ${epoch.revocation.at}: ${epoch.revocation.reason}`] : []),
  ].join(', ');
}

/** The names of a key, a line each. */
function describe(epoch: Epoch): string[] {
  return [
    ['key id', epoch.keyId],
    ['public key', toHex(epoch.publicKey.bytes)],
    ['labels', `${epoch.label}, ${epoch.fingerprint}`],
    ...(epoch.pqPublicKey ? [['ML-DSA-65', keyId(epoch.pqPublicKey)]] : []),
  ].map(([name, value]) => `${colors.dim(name!.padEnd(12))}${value}`);
}

/** What `--json` says of a key. */
function epochDocument(epoch: Epoch): Record<string, unknown> {
  return {
    epoch: epoch.epoch,
    state: state(epoch),
    id: shownKeyId(epoch.keyId),
    key_id: epoch.keyId,
    public_key: toHex(epoch.publicKey.bytes),
    labels: { signed_by: epoch.label, python: epoch.fingerprint },
    pq_key_id: epoch.pqPublicKey && keyId(epoch.pqPublicKey),
    created_at: epoch.createdAt,
    rotated_at: epoch.verifyOnly ? null : epoch.rotatedAt,
    not_before: epoch.notBefore,
    not_after: epoch.notAfter,
    revoked_at: epoch.revocation?.at ?? null,
    revoked_reason: epoch.revocation?.reason ?? null,
    in_token: epoch.token !== null,
  };
}
