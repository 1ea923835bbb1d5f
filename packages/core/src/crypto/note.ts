import { provider } from '#provider';
import { attempt, BullaError } from '../error.ts';
import type { AlgorithmName } from './algorithms.ts';
import { concat, fromBase64, fromUtf8, toBase64, toHex, toUtf8 } from './bytes.ts';
import { cosignatureMessage, subtreeMessage, uint64 } from './checkpoint.ts';
import { type PublicKey, publicKey, type Signer, verify } from './signer.ts';

// Signed notes, https://c2sp.org/signed-note. A note is attacker-controlled until a known key has verified it.

/** One signature line. The key id is a hint for finding the key, not a proof of which key it was. */
export interface NoteSignature {
  readonly name: string;
  readonly keyId: number;
  readonly signature: Uint8Array;
}

/** A note taken apart; nothing in it is verified. */
export interface Note {
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** A key that signs notes under a name. */
export interface NoteSigner {
  readonly name: string;
  readonly signer: Signer;
  /** The signature type: 0x01 unless given, 0x04 or 0x06 for the cosignatures of a witness. */
  readonly type?: number;
  /** The POSIX time in seconds that a cosignature states; the other types have none. */
  readonly time?: number;
}

/** A key whose signatures on notes are known. */
export interface NoteVerifier {
  readonly name: string;
  readonly keyId: number;
  readonly type: number;
  readonly publicKey: PublicKey;
}

/** A signature line that verified. */
export interface VerifiedSignature extends NoteSignature {
  readonly verifier: NoteVerifier;
  /** The POSIX time in seconds that a cosignature states; 0 in one of type 0x06 states none. */
  readonly time?: number;
}

/** A note of which at least one known key verified. */
interface OpenedNote {
  readonly text: string;
  readonly verified: readonly VerifiedSignature[];
  /** Lines of keys that are not known; they prove nothing. */
  readonly unknown: readonly NoteSignature[];
}

/** What a signature type signs, and with which algorithm. */
interface NoteType {
  readonly algorithm: AlgorithmName;
  /** Whether a line holds eight bytes of time before the signature itself. */
  readonly timed: boolean;
  /** The bytes that the key of this name signs. */
  message(name: string, text: string, time: number): Uint8Array;
}

/** The signature types by their identifier byte; the last two are cosignatures of checkpoints. */
const types: ReadonlyMap<number, NoteType> = new Map<number, NoteType>([
  [0x01, { algorithm: 'Ed25519', timed: false, message: (_, text) => toUtf8(text) }],
  [0x04, { algorithm: 'Ed25519', timed: true, message: (_, text, time) => cosignatureMessage(text, time) }],
  [0x06, { algorithm: 'ML-DSA-44', timed: true, message: subtreeMessage }],
]);

const TIME_BYTES = 8;

/** The most signatures a note may carry; the specification asks for a limit of at least 16. */
const maxNoteSignatures = 100;

function noteType(byte: number): NoteType {
  const found = types.get(byte);
  if (found === undefined) {
    throw new BullaError('NOTE_KEY', `Signature type 0x${toHex(Uint8Array.of(byte))} is not supported.`);
  }
  return found;
}

function checkName(name: string): void {
  if (name !== '' && name.isWellFormed() && !/[\p{White_Space}+\u0000-\u001f]/u.test(name)) return;
  throw new BullaError('NOTE_NAME', 'A key name is not empty and holds no space, control or plus sign.');
}

function checkText(text: string): void {
  if (!text.isWellFormed() || /[\u0000-\u0009\u000b-\u001f]/.test(text)) {
    throw malformed('A note holds no control character but newline, and no lone surrogate.');
  }
  if (!text.endsWith('\n')) throw malformed('The text of a note ends with a newline.');
}

function malformed(message: string, cause?: unknown): BullaError {
  return new BullaError('NOTE_MALFORMED', message, { cause });
}

function computeKeyId(name: string, type: number, key: Uint8Array): number {
  const digest = provider.sha256(concat(toUtf8(`${name}\n`), Uint8Array.of(type), key));
  return new DataView(digest.buffer, digest.byteOffset).getUint32(0);
}

/**
 * Makes a verifier of a named key. Throws `NOTE_NAME`, `NOTE_KEY`, or `NOTE_KEY` when
 * the key is not for the algorithm of the signature type.
 */
export function noteVerifier(name: string, key: PublicKey, type = 0x01): NoteVerifier {
  checkName(name);
  checkAlgorithm(type, key.algorithm);
  return { name, keyId: computeKeyId(name, type, key.bytes), type, publicKey: key };
}

function checkAlgorithm(type: number, name: AlgorithmName): NoteType {
  const found = noteType(type);
  if (found.algorithm === name) return found;
  throw new BullaError('NOTE_KEY', `This type of signature needs a key of ${found.algorithm}, not ${name}.`);
}

/**
 * Takes a note apart without verifying anything. Throws `NOTE_MALFORMED` for a text or signature line that is not
 * exactly as specified (base64 must be canonical), `NOTE_NAME`, and `NOTE_MALFORMED` over 100.
 */
export function parseNote(note: string | Uint8Array): Note {
  const whole = typeof note === 'string' ? note : attempt(() => fromUtf8(note));
  if (whole instanceof BullaError) throw malformed('A note is valid UTF-8.', whole);
  checkText(whole);
  const blank = whole.lastIndexOf('\n\n');
  if (blank < 0 || blank + 2 === whole.length)
    throw malformed('A note ends with a blank line and signatures.');
  const signatures: NoteSignature[] = [];
  for (let at = blank + 2; at < whole.length; ) {
    const end = whole.indexOf('\n', at);
    if (signatures.length === maxNoteSignatures) {
      throw new BullaError('NOTE_MALFORMED', `A note has at most ${maxNoteSignatures} signatures.`);
    }
    signatures.push(parseLine(whole.slice(at, end)));
    at = end + 1;
  }
  return { text: whole.slice(0, blank + 1), signatures };
}

function parseLine(line: string): NoteSignature {
  const match = /^— ([^ ]*) ([^ ]*)$/.exec(line);
  if (match === null)
    throw malformed('A signature line is a dash, a name and base64, with one space between.');
  const name = match[1]!;
  checkName(name);
  const bytes = attempt(() => fromBase64(match[2]!));
  if (bytes instanceof BullaError) throw malformed('A signature is canonical base64.', bytes);
  if (bytes.length < 5) throw malformed('A signature is a key id of four bytes and at least one byte more.');
  return { name, keyId: new DataView(bytes.buffer).getUint32(0), signature: bytes.slice(4) };
}

/** Writes a note. Throws what {@link parseNote} would throw for it, so that nothing unreadable is written. */
export function formatNote({ text, signatures }: Note): string {
  checkText(text);
  if (signatures.length === 0) throw malformed('A note has at least one signature.');
  const lines = signatures.map(({ name, keyId, signature }) => {
    if (keyId >>> 0 !== keyId) throw malformed('A key id is an unsigned integer of 32 bits.');
    const id = new Uint8Array(4);
    new DataView(id.buffer).setUint32(0, keyId);
    return `— ${name} ${toBase64(concat(id, signature))}\n`;
  });
  const whole = `${text}\n${lines.join('')}`;
  parseNote(whole);
  return whole;
}

/**
 * Signs a text, which must end with a newline, with each of the signers in order. Rejects with `NOTE_MALFORMED`
 * for a text that no note can hold or without signers, with the codes of {@link noteVerifier}, with `NOTE_COSIGNATURE` for
 * a cosigner without a time or a signer with one that its type does not hold, with `LOG_CHECKPOINT`, `NOTE_NAME` or `NOTE_COSIGNATURE` for a text that cannot be cosigned, and with
 * whatever a signer fails with.
 */
export async function signNote(text: string, signers: readonly NoteSigner[]): Promise<string> {
  checkText(text);
  const signatures: NoteSignature[] = [];
  for (const by of signers) {
    const type = by.type ?? 0x01;
    const key = noteVerifier(by.name, publicKey(by.signer.algorithm, by.signer.publicKey), type);
    signatures.push({ name: key.name, keyId: key.keyId, signature: await sign(by, noteType(type), text) });
  }
  return formatNote({ text, signatures });
}

async function sign({ name, signer, time }: NoteSigner, type: NoteType, text: string): Promise<Uint8Array> {
  if (!type.timed) {
    if (time !== undefined)
      throw new BullaError('NOTE_COSIGNATURE', 'A signature of this type holds no time.');
    return signer.sign(type.message(name, text, 0));
  }
  checkTime(time);
  return concat(uint64(time), await signer.sign(type.message(name, text, time)));
}

/** The specification allows times up to 2⁶³−1; beyond safe integers lie no real ones. */
function checkTime(time: number | undefined): asserts time is number {
  if (Number.isSafeInteger(time) && time! >= 0) return;
  throw new BullaError(
    'NOTE_COSIGNATURE',
    'A cosignature states a time in seconds, an integer from 0 to 2^53 - 1.',
  );
}

/**
 * Opens a note. Lines of unknown keys are set aside, also when they share only the name or only the id with a known
 * one. Of several lines by one known key the first counts and the rest are ignored; of unknown lines repetitions
 * are dropped. Throws the codes of {@link parseNote}, `NOTE_SIGNATURE_INVALID` if a known key's signature does not
 * verify, `NOTE_COSIGNATURE` if its time is above 2⁵³−1, `NOTE_UNVERIFIED` if no known key signed,
 * `NOTE_KEY` if two verifiers have the same name and id, and `LOG_CHECKPOINT`, `NOTE_NAME` or `NOTE_COSIGNATURE` if a known key is said to have cosigned what
 * cannot be cosigned.
 */
export function openNote(note: string | Uint8Array, verifiers: readonly NoteVerifier[]): OpenedNote {
  const known = new Map(verifiers.map((verifier) => [lineKey(verifier), verifier]));
  if (known.size !== verifiers.length) {
    throw new BullaError('NOTE_KEY', 'Two verifiers have the same name and key id.');
  }
  const { text, signatures } = parseNote(note);
  const verified: VerifiedSignature[] = [];
  const unknown: NoteSignature[] = [];
  const seen = new Set<string>();
  for (const line of signatures) {
    const verifier = known.get(lineKey(line));
    const repeated = verifier ? lineKey(line) : `${lineKey(line)} ${toHex(line.signature)}`;
    if (seen.has(repeated)) continue;
    seen.add(repeated);
    if (verifier === undefined) unknown.push(line);
    else verified.push(verifyLine(line, verifier, text));
  }
  if (verified.length === 0) throw new BullaError('NOTE_UNVERIFIED', 'No known key signed the note.');
  return { text, verified, unknown };
}

function verifyLine(line: NoteSignature, verifier: NoteVerifier, text: string): VerifiedSignature {
  const { timed, message } = noteType(verifier.type);
  const { signature } = line;
  if (!timed) {
    if (!verify(verifier.publicKey, message(verifier.name, text, 0), signature)) throw invalid(line);
    return { ...line, verifier };
  }
  if (signature.length < TIME_BYTES) throw invalid(line);
  const time = Number(new DataView(signature.buffer, signature.byteOffset).getBigUint64(0));
  checkTime(time);
  const signed = message(verifier.name, text, time);
  if (!verify(verifier.publicKey, signed, signature.subarray(TIME_BYTES))) throw invalid(line);
  return { ...line, verifier, time };
}

function invalid({ name }: NoteSignature): BullaError {
  return new BullaError('NOTE_SIGNATURE_INVALID', `The signature of ${name} does not verify.`);
}

/** No name holds a plus sign, so a name and an id make one key. */
function lineKey({ name, keyId }: { readonly name: string; readonly keyId: number }): string {
  return `${name}+${hex8(keyId)}`;
}

function hex8(keyId: number): string {
  return keyId.toString(16).padStart(8, '0');
}

/** Writes a verifier as the string that others configure: name, key id and key, joined by plus signs. */
export function formatVkey(verifier: NoteVerifier): string {
  const key = concat(Uint8Array.of(verifier.type), verifier.publicKey.bytes);
  return `${lineKey(verifier)}+${toBase64(key)}`;
}

/**
 * Reads a verifier key string. Throws `NOTE_VKEY`, also if the id does not belong to the name and
 * key, `NOTE_KEY`, `NOTE_NAME`, and the codes of loading the public key.
 */
export function parseVkey(vkey: string): NoteVerifier {
  const match = /^([^+]*)\+([0-9a-f]{8})\+(.+)$/.exec(vkey);
  if (match === null) throw vkeyMalformed();
  const bytes = attempt(() => fromBase64(match[3]!));
  if (bytes instanceof BullaError) throw vkeyMalformed(bytes);
  const type = bytes[0]!;
  const verifier = noteVerifier(match[1]!, publicKey(noteType(type).algorithm, bytes.subarray(1)), type);
  if (verifier.keyId === Number.parseInt(match[2]!, 16)) return verifier;
  throw new BullaError('NOTE_VKEY', 'The id in the verifier key does not belong to its name and key.');
}

function vkeyMalformed(cause?: unknown): BullaError {
  return new BullaError('NOTE_VKEY', 'A verifier key is name+hex8+base64.', { cause });
}
