import { equalBytes, type PublicKey, publicKey } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import type { Environment } from '../os/index.ts';
import type { TokenKey } from './epoch.ts';
import { pkcs11Signer, type TokenSigner } from './pkcs11.ts';

/**
 * Makes a signer of a key in a token, which is opened when it is first used. Its `sign` rejects with `KEYRING_TOKEN`, also if the token holds
 * another key than the keyring says, and with the codes of {@link pkcs11Signer}; a token that failed to open
 * is tried again the next time.
 */
export function tokenSigner(token: TokenKey, expected: PublicKey, env: Environment): TokenSigner {
  let opened: Promise<TokenSigner> | undefined;

  async function open(): Promise<TokenSigner> {
    const signer = await openToken(token, env);
    if (equalBytes(signer.publicKey, expected.bytes)) return signer;
    signer.close();
    throw new BullaError('KEYRING_TOKEN', "The token's key is not the one that the keyring names.");
  }

  return {
    algorithm: expected.algorithm,
    publicKey: expected.bytes,
    async sign(message) {
      opened ??= open().catch((error: unknown) => {
        opened = undefined;
        throw error;
      });
      return (await opened).sign(message);
    },
    close() {
      opened?.then(
        (signer) => signer.close(),
        () => undefined,
      );
    },
  };
}

/** Reads the public key of a key in a token, and has it sign once to show that it can. Rejects as a signer does. */
export async function tokenPublicKey(token: TokenKey, env: Environment): Promise<PublicKey> {
  const signer = await openToken(token, env);
  try {
    await signer.sign(new Uint8Array(32));
    return publicKey(signer.algorithm, signer.publicKey);
  } finally {
    signer.close();
  }
}

function openToken(token: TokenKey, env: Environment): Promise<TokenSigner> {
  const pin = env.BULLA_PKCS11_PIN;
  if (pin) return pkcs11Signer({ ...token, pin });
  throw new BullaError('KEYRING_TOKEN', 'The key lies in a token; set BULLA_PKCS11_PIN to its PIN.');
}
