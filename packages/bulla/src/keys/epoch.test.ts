import { publicKey } from '@bulla/core/crypto';
import { expect, test } from 'vitest';
import { epochNamed, epochOf } from './epoch.ts';

// The public key of the first example of RFC 8032.
const key = publicKey(
  'Ed25519',
  Buffer.from('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a', 'hex'),
);
const epoch = (number: number, names: object) => ({
  ...epochOf({
    ...{
      epoch: number,
      publicKey: key,
      pqPublicKey: null,
      status: 'retired',
      verifyOnly: false,
      token: null,
    },
    ...{ createdAt: '', rotatedAt: null, notBefore: null, notAfter: null, revocation: null },
  }),
  ...names,
});

test('a name that several keys have is refused', () => {
  const epochs = [
    epoch(0, { label: 'aaaaaaaaaaaaaaaa', keyId: 'b'.repeat(64) }),
    epoch(1, { label: 'bbbbbbbbbbbbbbbb', keyId: `${'c'.repeat(16)}${'0'.repeat(48)}` }),
    epoch(2, { label: 'dddddddddddddddd', keyId: `${'c'.repeat(16)}${'1'.repeat(48)}` }),
  ];
  const found = (name: string) => epochNamed(epochs, name).epoch;
  expect(['0', 'aaaaaaaaaaaaaaaa', 'b'.repeat(17), `${'c'.repeat(16)}1`].map(found)).toEqual([0, 0, 0, 2]);
  for (const [name, pair] of [
    ['bbbbbbbbbbbbbbbb', '0 and 1'],
    ['cccccccccccccccc', '1 and 2'],
  ] as const)
    expect(() => found(name)).toThrow(
      expect.objectContaining({
        code: 'KEYRING_KEY_AMBIGUOUS',
        message: `"${name}" names the keys of epochs ${pair}; name one by its key id.`,
      }),
    );
});
