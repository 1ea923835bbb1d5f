import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { derivePublicKey, toHex, toUtf8 } from '@bulla/core/crypto';
import { describe, expect, test } from 'vitest';
import { repo } from '../../test/run.ts';
import { epochNamed } from './epoch.ts';
import { formatKeyring, parseKeyring } from './keyring-file.ts';

const vectors = process.env.BULLA_VECTORS && resolve(repo, process.env.BULLA_VECTORS);
const sample = vectors && join(vectors, 'capsule/python-keyring-3-epochs.json');

describe.skipIf(!sample || !existsSync(sample))('a keyring that the Python reference wrote', () => {
  test('is read, and written again byte for byte', () => {
    const bytes = readFileSync(sample as string);
    const keyring = parseKeyring(bytes);
    expect(keyring.epochs.map(({ epoch, status, fingerprint }) => [epoch, status, fingerprint])).toEqual([
      [0, 'retired', 'qp_key_6aa0'],
      [1, 'retired', 'qp_key_c592'],
      [2, 'active', 'qp_key_b1cd'],
    ]);
    expect(keyring.active.label).toBe('b1cdf783002fe925');
    expect(formatKeyring(keyring.epochs)).toBe(bytes.toString());
  });

  test('finds every epoch by each of its names', () => {
    const { epochs } = parseKeyring(readFileSync(sample as string));
    for (const { epoch, fingerprint, label, keyId } of epochs) {
      for (const name of [fingerprint, label, keyId]) expect(epochNamed(epochs, name).epoch).toBe(epoch);
    }
    for (const unknown of ['', 'qp_key_0000', 'QP_KEY_6AA0', '6aa0'])
      expect(() => epochNamed(epochs, unknown)).toThrow(
        expect.objectContaining({ code: 'KEYRING_KEY_UNKNOWN' }),
      );
  });
});

const seeds = [1, 2, 3].map((fill) => new Uint8Array(32).fill(fill));
const [one, two, three] = seeds.map((seed) => toHex(derivePublicKey('Ed25519', seed).bytes)) as [
  string,
  string,
  string,
];
const pq = toHex(derivePublicKey('ML-DSA-65', seeds[0]!).bytes);

const everything = `{
  "version": 1,
  "active_epoch": 4,
  "epochs": [
    {
      "epoch": 0,
      "algorithm": "ed25519",
      "public_key_hex": "${one}",
      "fingerprint": "qp_key_${one.slice(0, 4)}",
      "created_at": "2026-01-01T00:00:00+00:00",
      "rotated_at": "2026-02-01T00:00:00.000001+00:00",
      "status": "retired",
      "pq": {
        "algorithm": "ml-dsa-65",
        "public_key_hex": "${pq}"
      },
      "revoked_at": "2026-01-15T00:00:00+00:00",
      "revoked_reason": "stolen, \\u00fcber Nacht \\ud83d\\udd11"
    },
    {
      "epoch": 1,
      "algorithm": "ed25519",
      "public_key_hex": "${two}",
      "fingerprint": "qp_key_${two.slice(0, 4)}",
      "created_at": "2026-01-02T00:00:00+00:00",
      "rotated_at": "2026-01-02T00:00:00+00:00",
      "status": "retired",
      "verify_only": true,
      "not_before": "2026-01-01T00:00:00+00:00",
      "not_after": "2026-12-31T23:59:59+00:00"
    },
    {
      "epoch": 4,
      "algorithm": "ed25519",
      "public_key_hex": "${three}",
      "fingerprint": "qp_key_${three.slice(0, 4)}",
      "created_at": "2026-02-01T00:00:00.000001+00:00",
      "rotated_at": null,
      "status": "active",
      "signer": {
        "type": "pkcs11",
        "module": "/usr/lib/token.so",
        "token_label": "bulla",
        "key_label": "log key"
      }
    }
  ]
}
`;

test('everything that a keyring can say is read, and written again byte for byte', () => {
  const { epochs, active } = parseKeyring(toUtf8(everything));
  expect(epochs[0]).toMatchObject({
    pqPublicKey: { algorithm: 'ML-DSA-65' },
    revocation: { at: '2026-01-15T00:00:00+00:00', reason: 'stolen, über Nacht 🔑' },
  });
  expect(epochs[1]).toMatchObject({ verifyOnly: true, notAfter: '2026-12-31T23:59:59+00:00' });
  expect(active.token).toEqual({ module: '/usr/lib/token.so', tokenLabel: 'bulla', keyLabel: 'log key' });
  expect(formatKeyring(epochs)).toBe(everything);
  const bySlot = everything.replace('"token_label": "bulla"', '"slot": 7');
  expect(formatKeyring(parseKeyring(toUtf8(bySlot)).epochs)).toBe(bySlot);
});

const swap = (from: string | RegExp, to: string) => {
  const changed = everything.replace(from, to);
  if (changed === everything) throw new Error(`nothing to change: ${from}`);
  return changed;
};
const weak = '01'.padEnd(64, '0');

test.each<[string, string, string?]>([
  ['KEYRING_MALFORMED', ''],
  ['KEYRING_MALFORMED', '\ufeff{}'],
  ['KEYRING_MALFORMED', '{"version":1,}'],
  ['KEYRING_MALFORMED', '['.repeat(9)],
  ['KEYRING_MALFORMED', swap('"version": 1', '"version": 1, "versio\\u006e": 1')],
  ['KEYRING_MALFORMED', '[]', ''],
  ['KEYRING_MALFORMED', swap('"version": 1', '"version": "1"'), '/version'],
  ['KEYRING_MALFORMED', swap('"version": 1', '"version": 1.0'), '/version'],
  ['KEYRING_MALFORMED', swap('"active_epoch": 4', '"active_epoch": null'), '/active_epoch'],
  ['KEYRING_MALFORMED', swap('"epoch": 1', '"epoch": -1'), '/epochs/1/epoch'],
  ['KEYRING_MALFORMED', swap('"epoch": 4', '"epoch": 99999999999999999999'), '/epochs/2/epoch'],
  ['KEYRING_MALFORMED', swap('"verify_only": true', '"verify_only": false'), '/epochs/1/verify_only'],
  ['KEYRING_MALFORMED', swap(/"pq": \{[^}]*\}/, '"pq": null'), '/epochs/0/pq'],
  ['KEYRING_MALFORMED', '{"version":1,"active_epoch":0,"epochs":{}}', '/epochs'],
  ['KEYRING_MALFORMED', swap('"version": 1', '"version": 2')],
  ['KEYRING_MALFORMED', swap('"version": 1', '"version": 1, "Version": 1'), '/Version'],
  ['KEYRING_MALFORMED', swap('"status"', '"comment": "x", "status"'), '/epochs/0/comment'],
  ['KEYRING_MALFORMED', swap('"key_label"', '"pin": "1234", "key_label"'), '/epochs/2/signer/pin'],
  ['KEYRING_MALFORMED', swap(/"created_at": "2026-01-02[^,]*,/, ''), '/epochs/1/created_at'],
  ['KEYRING_MALFORMED', swap('"epoch": 1', '"epoch": 0'), '/epochs/1'],
  ['KEYRING_MALFORMED', swap('"epoch": 1', '"epoch": 5'), '/epochs/2'],
  ['KEY_ALGORITHM', swap('"ed25519"', '"Ed25519"'), '/epochs/0/algorithm'],
  ['KEY_ALGORITHM', swap('"ml-dsa-65"', '"ml-dsa-44"'), '/epochs/0/pq/algorithm'],
  ['KEYRING_MALFORMED', swap(`"${two}"`, `"${two.toUpperCase()}"`), '/epochs/1/public_key_hex'],
  ['KEYRING_MALFORMED', swap(`"${two}"`, `"${two.slice(2)}"`), '/epochs/1/public_key_hex'],
  ['KEYRING_MALFORMED', swap(`"${pq}"`, `"${one}"`), '/epochs/0/pq/public_key_hex'],
  ['KEYRING_MALFORMED', swap(`"${two}"`, `"${weak}"`), '/epochs/1/public_key_hex'],
  ['KEYRING_MALFORMED', swap(`"${two}"`, `"${'f'.repeat(64)}"`), '/epochs/1/public_key_hex'],
  ['KEYRING_MALFORMED', swap(`qp_key_${two.slice(0, 4)}`, 'qp_key_0000'), '/epochs/1/fingerprint'],
  [
    'KEYRING_KEY_KNOWN',
    everything.replaceAll(two.slice(0, 4), one.slice(0, 4)).replaceAll(two.slice(4), one.slice(4)),
    '/epochs/1',
  ],
  ['KEYRING_MALFORMED', swap('"retired"', '"revoked"'), '/epochs/0/status'],
  ['KEYRING_MALFORMED', swap('"rotated_at": null', '"rotated_at": "2026-01-01T00:00:00+00:00"'), '/epochs/2'],
  ['KEYRING_MALFORMED', swap(/"rotated_at": "2026-01-02[^,]*,/, '"rotated_at": null,'), '/epochs/1'],
  ['KEYRING_TIME', swap('2026-01-01T00:00:00+00:00', '2026-01-01T00:00:00Z'), '/epochs/0/created_at'],
  ['KEYRING_MALFORMED', swap('2026-12-31T23:59:59', '2025-12-31T23:59:59'), '/epochs/1'],
  ['KEYRING_MALFORMED', '{"version":1,"active_epoch":0,"epochs":[]}'],
  [
    'KEYRING_MALFORMED',
    swap(/"rotated_at": "2026-01-02[^,]*,\s*"status": "retired"/, '"rotated_at": null, "status": "active"'),
  ],
  ['KEYRING_MALFORMED', swap('"active_epoch": 4', '"active_epoch": 1'), '/active_epoch'],
  ['KEYRING_MALFORMED', swap('"signer"', '"verify_only": true, "signer"')],
  [
    'KEYRING_MALFORMED',
    swap('"signer"', '"revoked_at": "2026-02-02T00:00:00+00:00", "revoked_reason": "x", "signer"'),
  ],
  ['KEYRING_MALFORMED', swap(/,\s*"revoked_reason": "[^"]*"/, ''), '/epochs/0'],
  ['KEYRING_MALFORMED', swap(/"revoked_at": "[^"]*",/, ''), '/epochs/0'],
  ['KEYRING_REASON', swap('stolen, ', '\\u001b[2J'), '/epochs/0/revoked_reason'],
  ['KEYRING_REASON', swap(/"revoked_reason": "[^"]*"/, '"revoked_reason": " "'), '/epochs/0/revoked_reason'],
  ['KEYRING_TOKEN', swap('"pkcs11"', '"command"'), '/epochs/2/signer/type'],
  ['KEYRING_TOKEN', swap('/usr/lib/token.so', 'token.so'), '/epochs/2/signer/module'],
  ['KEYRING_TOKEN', swap('"key_label"', '"slot": 1, "key_label"'), '/epochs/2/signer'],
  ['KEYRING_TOKEN', swap('"token_label": "bulla",', ''), '/epochs/2/signer'],
])('%s (case %#)', (code, text, path) => {
  const error = (() => {
    try {
      return parseKeyring(toUtf8(text));
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(error).toMatchObject({ name: 'BullaError', code, ...(path !== undefined && { path }) });
});

test('bytes that are not UTF-8 are refused', () => {
  expect(() => parseKeyring(Uint8Array.of(0x22, 0xff, 0x22))).toThrow(
    expect.objectContaining({ code: 'KEYRING_MALFORMED' }),
  );
});
