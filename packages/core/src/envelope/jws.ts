import { canonicalize } from '../canon/index.ts';
import {
  type AlgorithmName,
  fromBase64url,
  keyId,
  publicKey,
  type Signer,
  toBase64url,
  toUtf8,
  verify,
} from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import {
  anyObject,
  integer,
  type JsonNumber,
  JsonObject,
  type JsonValue,
  type Limits,
  list,
  type Path,
  parseStrictly,
  pointer,
  record,
  stringify,
  word,
} from '../json/index.ts';

// JSON Web Signature in general JSON form (RFC 7515 §7.2.1), the part of it that has one meaning: fully specified
// algorithms (RFC 9864), protected headers with exactly `alg`, `approval`, `kid` and `typ`, canonical base64url. Written by hand
// because signatures must come from our `Signer`, whose key may live in a token, and verification from our `verify`,
// which refuses weak keys; a JOSE library takes neither.

/** The algorithms of an authorization, by their JOSE names, which are also ours. */
const ALGORITHMS: readonly string[] = ['Ed25519', 'ML-DSA-65'] satisfies AlgorithmName[];
const HEADERS = ['alg', 'approval', 'kid', 'typ'];
/** Stands in every protected header, so that no signature made for another purpose passes for an authorization. */
export const AUTHORIZATION_TYPE = 'bulla-authorization-v1';
const KEY_ID = /^[0-9a-f]{64}$/;
const MAX_SIGNATURES = 100;

/** How an approval came about; capsules call the first one `human_approved`. */
export type ApprovalHow = 'human' | 'policy' | 'escalated';

/**
 * What a signer states of its own approval. It stands in the protected header of that signature, so that nobody can
 * state it for somebody else, and it names nobody: who approved follows from the key.
 */
export interface Approval {
  /** Unix time in seconds. */
  readonly when: number;
  readonly how: ApprovalHow;
  /** The steps that led to it, as they will stand in the capsule's `authority.chain`. */
  readonly chain: readonly JsonObject[];
}

/** The same before it is written; the steps may be plain objects. */
export interface ApprovalFields extends Omit<Approval, 'chain'> {
  readonly chain: readonly (JsonObject | { readonly [name: string]: unknown })[];
}

/** One signature; nothing in it is verified. */
interface JwsSignature {
  readonly alg: AlgorithmName;
  /** The full id of the key, by which it is found. */
  readonly kid: string;
  /** What the signer states of its own approval. */
  readonly approval: Approval;
  /** The header as it was signed. */
  readonly protected: string;
  readonly signature: Uint8Array;
}

/** A JWS taken apart. */
export interface Jws {
  /** The payload as it was signed. */
  readonly payload: string;
  readonly bytes: Uint8Array;
  readonly signatures: readonly JwsSignature[];
}

/**
 * Takes a JWS apart without verifying anything. Throws with the path, where an encoded part counts as if it stood
 * there decoded: `EE_AO_INVALID` for another form, for base64url that is not canonical and for more than 100
 * signatures; `EE_AO_HEADER` for an unprotected header, `crit`, `b64`, and any other header than `alg`,
 * `approval`, `kid` and `typ`; `EE_AO_ALG` for an algorithm that is not one of ours, above all `none`; `EE_AO_DUPLICATE_SIGNATURE` when
 * one key signed twice.
 */
export function parseJws(input: string | Uint8Array, limits: Limits = {}): Jws {
  const root = parseStrictly(input, limits, 'EE_AO_INVALID', 'The authorization is not strict JSON');
  const [payload, entries] = members(root, ['payload', 'signatures'], []);
  if (typeof payload !== 'string') throw invalid('The payload is a string.', ['payload']);
  if (!Array.isArray(entries) || entries.length < 1 || entries.length > MAX_SIGNATURES)
    throw invalid(`An authorization has 1 to ${MAX_SIGNATURES} signatures.`, ['signatures']);
  const signatures = entries.map((entry, i) => readSignature(entry, ['signatures', i]));
  const seen = new Set<string>();
  for (const [i, { kid }] of signatures.entries()) {
    if (seen.size === seen.add(kid).size) {
      throw new BullaError('EE_AO_DUPLICATE_SIGNATURE', 'One key signed the authorization twice.', {
        path: pointer(['signatures', i]),
      });
    }
  }
  return { payload, bytes: base64url(payload, ['payload']), signatures };
}

function readSignature(entry: JsonValue, at: Path): JwsSignature {
  if (entry instanceof JsonObject && entry.has('header'))
    throw header('Nothing signs an unprotected header, so there must be none.', [...at, 'header']);
  const [encoded, signature] = members(entry, ['protected', 'signature'], at);
  const where = [...at, 'protected'];
  const { alg, kid, approval } = readHeader(encoded!, where);
  if (typeof signature !== 'string') throw invalid('A signature is a string.', [...at, 'signature']);
  const bytes = base64url(signature, [...at, 'signature']);
  return { alg, kid, approval, protected: encoded as string, signature: bytes };
}

function readHeader(encoded: JsonValue, at: Path): Pick<JwsSignature, 'alg' | 'kid' | 'approval'> {
  if (typeof encoded !== 'string') throw invalid('A protected header is a string.', at);
  const bytes = base64url(encoded, at);
  let value: JsonValue;
  try {
    value = parseStrictly(bytes, {}, 'EE_AO_HEADER', 'The protected header is not strict JSON');
  } catch (cause) {
    throw header((cause as BullaError).message, at, cause);
  }
  if (!(value instanceof JsonObject)) throw header('A protected header is an object.', at);
  for (const name of value.keys) {
    if (HEADERS.includes(name)) continue;
    const sentence =
      REFUSED.get(name) ?? 'A protected header has alg, approval, kid and typ, and nothing else.';
    throw header(sentence, [...at, name]);
  }
  const alg = value.get('alg');
  if (typeof alg !== 'string' || !ALGORITHMS.includes(alg)) {
    throw new BullaError('EE_AO_ALG', `An authorization is signed with ${ALGORITHMS.join(' or ')}.`, {
      path: pointer([...at, 'alg']),
    });
  }
  if (value.get('typ') !== AUTHORIZATION_TYPE)
    throw header(`The header typ must be ${AUTHORIZATION_TYPE}.`, [...at, 'typ']);
  const kid = value.get('kid');
  if (typeof kid !== 'string' || !KEY_ID.test(kid))
    throw header('The header kid is the full id of a key, 64 hex digits.', [...at, 'kid']);
  const approval = readApproval(value.get('approval'), [...at, 'approval']);
  return { alg: alg as AlgorithmName, kid, approval };
}

const approvalShape = record({
  when: integer(0),
  how: word('human', 'policy', 'escalated'),
  chain: list(anyObject, 0, 100),
});

function readApproval(value: JsonValue | undefined, at: Path): Approval {
  if (value === undefined) throw header('A protected header states the approval of the signer.', at);
  approvalShape.run(value, at, (_, where, sentence) => {
    throw header(sentence, where);
  });
  const read = value as JsonObject;
  return Object.freeze({
    when: (read.get('when') as JsonNumber).toNumber(),
    how: read.get('how') as ApprovalHow,
    chain: Object.freeze(read.get('chain') as JsonObject[]),
  });
}

const REFUSED = new Map([
  ['crit', 'Extensions of JWS (crit) are not understood.'],
  ['b64', 'A payload that is not encoded (b64) is not understood.'],
]);

/** The values of an object that has exactly these members. */
function members(value: JsonValue, names: readonly string[], at: Path): JsonValue[] {
  const found = value instanceof JsonObject ? value : new JsonObject();
  if (found.size !== names.length || names.some((name) => !found.has(name)))
    throw invalid(`This must be an object of ${names.join(' and ')}, as in general JSON form.`, at);
  return names.map((name) => found.get(name)!);
}

function base64url(text: string, at: Path): Uint8Array {
  try {
    return fromBase64url(text);
  } catch (cause) {
    throw invalid('This is not canonical base64url.', at, cause);
  }
}

export function invalid(sentence: string, at: Path, cause?: unknown): BullaError {
  return new BullaError('EE_AO_INVALID', sentence, { path: pointer(at), cause });
}

function header(sentence: string, at: Path, cause?: unknown): BullaError {
  return new BullaError('EE_AO_HEADER', sentence, { path: pointer(at), cause });
}

/** What a signature is over (RFC 7515 §5.1). */
export function signingInput(encodedHeader: string, encodedPayload: string): Uint8Array {
  return toUtf8(`${encodedHeader}.${encodedPayload}`);
}

/** Who signs, and what they state of their own approval. */
export interface Signatory extends ApprovalFields {
  readonly signer: Signer;
}

/**
 * Signs an encoded payload. Rejects with `EE_AO_ALG` for a key of another algorithm, `EE_AO_HEADER` for an approval
 * that would not be read again, with `EE_AO_SIGNATURE_INVALID` when what the signer returned does not verify, with the
 * codes of loading its public key, and with whatever the signer fails with.
 */
export async function signPayload(
  payload: string,
  { signer, when, how, chain }: Signatory,
): Promise<JwsSignature> {
  const key = publicKey(signer.algorithm, signer.publicKey);
  const { algorithm: alg } = key;
  if (!ALGORITHMS.includes(alg))
    throw new BullaError('EE_AO_ALG', `An authorization is signed with ${ALGORITHMS.join(' or ')}.`);
  const kid = keyId(key);
  // Not the canonical form: it would round long numbers in a chain. The bytes that are signed travel along.
  const encoded = toBase64url(
    toUtf8(stringify({ alg, approval: { when, how, chain }, kid, typ: AUTHORIZATION_TYPE })),
  );
  const { approval } = readHeader(encoded, ['signatures']);
  const message = signingInput(encoded, payload);
  const signature = await signer.sign(message);
  if (!verify(key, message, signature))
    throw new BullaError('EE_AO_SIGNATURE_INVALID', 'The signer returned a signature that does not verify.');
  return { alg, kid, approval, protected: encoded, signature };
}

/** The text of a JWS, with a newline at its end. Throws as `parseJws` does, so that nothing unreadable is written. */
export function writeJws(payload: string, signatures: readonly JwsSignature[]): string {
  const written = signatures.map((each) => ({
    protected: each.protected,
    signature: toBase64url(each.signature),
  }));
  const text = `${canonicalize({ payload, signatures: written }, 'jcs')}\n`;
  parseJws(text);
  return text;
}
