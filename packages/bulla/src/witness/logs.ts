import { fromUtf8, type NoteVerifier, parseVkey, toHex } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { LOG_TYPES } from '@bulla/core/log';
import { readInput } from '../os/index.ts';

/** The keys of each log by its origin, which is the name of its keys. A log that rotates its key has several. */
export type KnownLogs = ReadonlyMap<string, readonly NoteVerifier[]>;

/**
 * Reads the logs that a witness knows. Each source is a verifier key or a file with one on each line; empty lines
 * and lines that begin with `#` are left out. Throws `WITNESS_LOGS` for a file that cannot be read, for a line that
 * is no key of a log, and for two keys that cannot be told apart.
 */
export function readLogs(sources: readonly string[]): KnownLogs {
  const logs = new Map<string, NoteVerifier[]>();
  for (const { place, vkey } of sources.flatMap(keysIn)) {
    const verifier = readKey(place, vkey);
    const known = logs.get(verifier.name) ?? [];
    const same = known.find(({ keyId }) => keyId === verifier.keyId);
    if (same !== undefined && toHex(same.publicKey.bytes) !== toHex(verifier.publicKey.bytes)) {
      throw new BullaError('WITNESS_LOGS', `${place}: Another key of ${verifier.name} has the same id.`);
    }
    if (same === undefined) logs.set(verifier.name, [...known, verifier]);
  }
  return logs;
}

function keysIn(source: string): { place: string; vkey: string }[] {
  if (/^[^+]+\+[0-9a-f]{8}\+/.test(source)) return [{ place: 'the verifier key', vkey: source }];
  let text: string;
  try {
    text = fromUtf8(readInput(source, 'document'));
  } catch (cause) {
    throw new BullaError('WITNESS_LOGS', `${source} is no verifier key and cannot be read as a file.`, {
      cause,
    });
  }
  return text.split('\n').flatMap((line, i) => {
    const vkey = line.trim();
    return vkey === '' || vkey.startsWith('#') ? [] : [{ place: `${source}, line ${i + 1}`, vkey }];
  });
}

function readKey(place: string, vkey: string): NoteVerifier {
  let verifier: NoteVerifier;
  try {
    verifier = parseVkey(vkey);
  } catch (cause) {
    if (!(cause instanceof BullaError)) throw cause;
    throw new BullaError('WITNESS_LOGS', `${place}: ${cause.message}`, { cause });
  }
  if (!LOG_TYPES.includes(verifier.type))
    throw new BullaError('WITNESS_LOGS', `${place}: This is the key of a witness, not of a log.`);
  // Longer ones cannot be cosigned with ML-DSA-44.
  if (Buffer.byteLength(verifier.name) > 255)
    throw new BullaError('WITNESS_LOGS', `${place}: An origin has at most 255 bytes.`);
  return verifier;
}
