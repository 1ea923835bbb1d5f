import { type PublicKey, publicKey, type Signer, verify } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import type { PKCS11 } from 'pkcs11js';
import { createExclusive } from '../os/index.ts';
import type { TokenKey } from './epoch.ts';

// Constants of PKCS#11 v3.0; the package predates those of the Edwards curves.
const CKF_SERIAL_SESSION = 0x04;
const CKF_OS_LOCKING_OK = 0x02;
const CKU_USER = 1;
const CKO_PUBLIC_KEY = 0x02;
const CKO_PRIVATE_KEY = 0x03;
const CKK_EC_EDWARDS = 0x40;
const CKA_CLASS = 0x00;
const CKA_LABEL = 0x03;
const CKA_KEY_TYPE = 0x100;
const CKA_EC_POINT = 0x181;
const CKM_EDDSA = 0x1057;

/** Which key of which token signs. */
export type Pkcs11Options = TokenKey & { readonly pin: string };

/** A signer whose private key never leaves the token. */
export interface TokenSigner extends Signer {
  sign(message: Uint8Array): Promise<Uint8Array>;
  /** Ends the session once pending signatures are made. Later calls of `sign` reject with `KEY_PKCS11_UNAVAILABLE`. */
  close(): void;
}

// A library may be initialised once a process, so its signers share it and the last one to close ends it.
const modules = new Map<string, { readonly pkcs11: PKCS11; users: number }>();

/**
 * Opens an Ed25519 key in a PKCS#11 token. The first signature is checked against the public key before it is
 * given out. A process logs in to a token once: while another signer of the same token is open, the PIN is not
 * asked again. Rejects with `KEY_PKCS11_UNAVAILABLE` without the package `pkcs11js`, its library, or exactly one token
 * that fits, and for any failure of the token; with `KEY_PKCS11_KEY` if there is not exactly one key that fits, with
 * `KEY_PKCS11_PIN`, and with the codes of loading a public key.
 */
export async function pkcs11Signer(options: Pkcs11Options): Promise<TokenSigner> {
  const Library = await loadPkcs11();
  const pkcs11 = acquire(Library, options.module);
  try {
    const slot = findSlot(pkcs11, options);
    const session = attempt('open a session', () => pkcs11.C_OpenSession(slot, CKF_SERIAL_SESSION));
    try {
      login(pkcs11, session, options.pin);
      const key = findKey(pkcs11, session, CKO_PRIVATE_KEY, options.keyLabel);
      return signer(pkcs11, session, key, readPublicKey(pkcs11, session, options.keyLabel), () => {
        pkcs11.C_CloseSession(session);
        release(options.module);
      });
    } catch (error) {
      pkcs11.C_CloseSession(session);
      throw error;
    }
  } catch (error) {
    release(options.module);
    throw error;
  }
}

function signer(pkcs11: PKCS11, session: Buffer, key: Buffer, open: PublicKey, end: () => void): TokenSigner {
  // A session has one operation at a time, so signatures wait for each other.
  const exclusive = createExclusive();
  let trusted = false;
  let closed = false;

  async function signNow(message: Buffer): Promise<Uint8Array> {
    let signature: Uint8Array;
    try {
      pkcs11.C_SignInit(session, { mechanism: CKM_EDDSA }, key);
      signature = new Uint8Array(await pkcs11.C_SignAsync(session, message, Buffer.alloc(64)));
    } catch (cause) {
      throw failed('sign', cause);
    }
    if (!trusted && !verify(open, message, signature)) {
      throw new BullaError(
        'KEY_PKCS11_SIGNATURE',
        'The token signed with another key than its public key says.',
      );
    }
    trusted = true;
    return signature;
  }

  return {
    algorithm: open.algorithm,
    publicKey: open.bytes,
    async sign(message) {
      if (closed) throw new BullaError('KEY_PKCS11_UNAVAILABLE', 'The signer was closed.');
      const own = Buffer.from(message);
      return exclusive(() => signNow(own));
    },
    close() {
      if (closed) return;
      closed = true;
      void exclusive(async () => end());
    },
  };
}

/** Loads the optional package; rejects with `KEY_PKCS11_UNAVAILABLE` if it, or its native part, is not there. */
export async function loadPkcs11(specifier = 'pkcs11js'): Promise<new () => PKCS11> {
  try {
    const loaded = await import(specifier);
    return (loaded.default ?? loaded).PKCS11;
  } catch (cause) {
    throw new BullaError(
      'KEY_PKCS11_UNAVAILABLE',
      'Keys in a PKCS#11 token need the package pkcs11js: run "npm install pkcs11js", which compiles its native part.',
      { cause },
    );
  }
}

function acquire(Library: new () => PKCS11, path: string): PKCS11 {
  const open = modules.get(path);
  if (open !== undefined) {
    open.users++;
    return open.pkcs11;
  }
  const pkcs11 = new Library();
  try {
    pkcs11.load(path);
    pkcs11.C_Initialize({ flags: CKF_OS_LOCKING_OK });
  } catch (cause) {
    throw new BullaError('KEY_PKCS11_UNAVAILABLE', `The PKCS#11 library ${path} could not be loaded.`, {
      cause,
    });
  }
  modules.set(path, { pkcs11, users: 1 });
  return pkcs11;
}

function release(path: string): void {
  const open = modules.get(path);
  if (open === undefined || --open.users > 0) return;
  modules.delete(path);
  open.pkcs11.C_Finalize();
  open.pkcs11.close();
}

function findSlot(pkcs11: PKCS11, options: Pkcs11Options): Buffer {
  const slots = attempt('list the slots', () => pkcs11.C_GetSlotList(true));
  const found = slots.filter((slot) => {
    if ('slot' in options) return slotId(slot) === BigInt(options.slot);
    return attempt('read a token', () => pkcs11.C_GetTokenInfo(slot)).label.trimEnd() === options.tokenLabel;
  });
  if (found.length === 1) return found[0]!;
  const wanted =
    'slot' in options ? `in slot ${options.slot}` : `labelled ${JSON.stringify(options.tokenLabel)}`;
  throw new BullaError(
    'KEY_PKCS11_UNAVAILABLE',
    `There are ${found.length} tokens ${wanted}; one is needed.`,
  );
}

/** A handle holds the machine's unsigned long. */
function slotId(handle: Buffer): bigint {
  return handle.length === 8 ? handle.readBigUInt64LE() : BigInt(handle.readUInt32LE());
}

function login(pkcs11: PKCS11, session: Buffer, pin: string): void {
  try {
    pkcs11.C_Login(session, CKU_USER, pin);
  } catch (cause) {
    const name = resultName(cause);
    if (name === 'CKR_USER_ALREADY_LOGGED_IN') return;
    // Never tried again: a few wrong PINs lock a token.
    if (name.startsWith('CKR_PIN_'))
      throw new BullaError('KEY_PKCS11_PIN', `The token refused the PIN (${name}).`);
    throw failed('log in', cause);
  }
}

function findKey(pkcs11: PKCS11, session: Buffer, kind: number, label: string): Buffer {
  const found = attempt('look for a key', () => {
    pkcs11.C_FindObjectsInit(session, [
      { type: CKA_CLASS, value: kind },
      { type: CKA_KEY_TYPE, value: CKK_EC_EDWARDS },
      { type: CKA_LABEL, value: label },
    ]);
    try {
      return pkcs11.C_FindObjects(session, 2);
    } finally {
      pkcs11.C_FindObjectsFinal(session);
    }
  });
  if (found.length === 1) return found[0]!;
  const what = `${kind === CKO_PRIVATE_KEY ? 'private' : 'public'} Ed25519 key labelled ${JSON.stringify(label)}`;
  throw new BullaError(
    'KEY_PKCS11_KEY',
    `The token has ${found.length === 0 ? 'no' : 'more than one'} ${what}.`,
  );
}

function readPublicKey(pkcs11: PKCS11, session: Buffer, label: string): PublicKey {
  const object = findKey(pkcs11, session, CKO_PUBLIC_KEY, label);
  const [attribute] = attempt('read the public key', () =>
    pkcs11.C_GetAttributeValue(session, object, [{ type: CKA_EC_POINT }]),
  );
  const point = attribute!.value;
  // PKCS#11 v3.0 §2.3.5 wants a DER OCTET STRING; some tokens give the 32 bytes alone.
  const wrapped = point.length === 34 && point[0] === 0x04 && point[1] === 0x20;
  return publicKey('Ed25519', wrapped ? point.subarray(2) : point);
}

function attempt<Result>(what: string, call: () => Result): Result {
  try {
    return call();
  } catch (cause) {
    throw failed(what, cause);
  }
}

function failed(what: string, cause: unknown): BullaError {
  const name = resultName(cause);
  return new BullaError('KEY_PKCS11_UNAVAILABLE', `The token could not ${what}${name && ` (${name})`}.`, {
    cause,
  });
}

function resultName(error: unknown): string {
  return /CKR_[A-Z_]+/.exec(String(error))?.[0] ?? '';
}
