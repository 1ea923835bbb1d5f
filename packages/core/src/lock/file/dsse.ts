import { canonicalize } from '../../canon/index.ts';
import {
  concat,
  fromBase64,
  keyId,
  type PublicKey,
  publicKey,
  type Signer,
  toBase64,
  toUtf8,
  verify,
} from '../../crypto/index.ts';
import { BullaError } from '../../error.ts';
import { memberAt, parse } from '../../json/index.ts';

// Dead Simple Signing Envelope, version 1.0.2. Nothing in an envelope counts but the payload and its type,
// and these only after a trusted key has verified.

const MAX_SIGNATURES = 100;

/** The pre-authentication encoding: what is signed. */
export function preAuthEncoding(payloadType: string, payload: Uint8Array): Uint8Array {
  const type = toUtf8(payloadType);
  return concat(toUtf8(`DSSEv1 ${type.length} ${payloadType} ${payload.length} `), payload);
}

/**
 * Wraps a payload in an envelope that each of the signers signs. Rejects with whatever a signer fails with.
 */
export async function signDsse(
  payloadType: string,
  payload: Uint8Array,
  signers: readonly Signer[],
): Promise<string> {
  const message = preAuthEncoding(payloadType, payload);
  const signatures: { keyid: string; sig: string }[] = [];
  for (const signer of signers) {
    const keyid = keyId(publicKey(signer.algorithm, signer.publicKey));
    signatures.push({ keyid, sig: toBase64(await signer.sign(message)) });
  }
  if (signatures.length === 0) throw malformed('An envelope has at least one signature.');
  return `${canonicalize({ payloadType, payload: toBase64(payload), signatures }, 'jcs')}\n`;
}

/**
 * Opens an envelope that at least one of the keys signed. Key ids in it are hints and are not looked at;
 * other members are passed over, because nothing unsigned is used. Throws `DSSE_MALFORMED`, also for another type of
 * payload, and `DSSE_UNVERIFIED`.
 */
export function openDsse(
  envelope: Uint8Array,
  payloadType: string,
  keys: readonly PublicKey[],
): { readonly payload: Uint8Array; readonly keys: readonly PublicKey[] } {
  const root = parse(envelope);
  const [type, body, list] = ['payloadType', 'payload', 'signatures'].map((name) => memberAt(root, [name]));
  if (typeof type !== 'string' || typeof body !== 'string' || !Array.isArray(list))
    throw malformed('An envelope has payloadType, payload and signatures.');
  if (list.length > MAX_SIGNATURES) throw malformed(`An envelope has at most ${MAX_SIGNATURES} signatures.`);
  const payload = base64(body);
  const signatures = list.map((element) => {
    const sig = memberAt(element, ['sig']);
    if (typeof sig !== 'string') throw malformed('A signature has a sig.');
    return base64(sig);
  });
  if (type !== payloadType)
    throw malformed(`The envelope holds ${JSON.stringify(type)}, not ${payloadType}.`);
  const message = preAuthEncoding(type, payload);
  const signed = keys.filter((key) => signatures.some((signature) => verify(key, message, signature)));
  if (signed.length === 0) throw new BullaError('DSSE_UNVERIFIED', 'No trusted key signed the envelope.');
  return { payload, keys: signed };
}

/** Either alphabet is allowed, with padding. */
function base64(text: string): Uint8Array {
  try {
    return fromBase64(text.replaceAll('-', '+').replaceAll('_', '/'));
  } catch (cause) {
    throw malformed('Payload and signatures are base64.', cause);
  }
}

function malformed(message: string, cause?: unknown): BullaError {
  return new BullaError('DSSE_MALFORMED', message, { cause });
}
