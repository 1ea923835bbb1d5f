import { canonicalize } from '../../canon/index.ts';
import { type PublicKey, type Signer, toUtf8 } from '../../crypto/index.ts';
import { BullaError } from '../../error.ts';
import { JsonObject, type JsonValue, memberAt, parse } from '../../json/index.ts';
import { openDsse, signDsse } from './dsse.ts';
import { type Lock, lockDigest, readLock } from './lock.ts';
import { asVerified, type VerifiedLock } from './verified.ts';

// A lock as an in-toto Statement (v1) in a DSSE envelope, for tools that collect attestations. The subject is
// the file by its bytes; the predicate names the lock by the digest that capsules use, and each tool by its
// own.

const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1';
const LOCK_PREDICATE_TYPE = 'urn:bulla:predicate:lock:v1';
const STATEMENT_PAYLOAD_TYPE = 'application/vnd.in-toto+json';

/** Who says it: the server's maker, somebody who looked at the server, or a trusted machine that did. */
const ASSERTED_BY = ['publisher-asserted', 'observer-attested', 'tee-attested'] as const;
type AssertedBy = (typeof ASSERTED_BY)[number];

interface StatementOptions {
  /** The name of the file. Default `mcp-lock.json`. */
  readonly name?: string;
  /** Default `observer-attested`: a scan is an observation. */
  readonly assertedBy?: AssertedBy;
}

/** The statement on a lock, in RFC 8785 form. */
function lockStatement(lock: Lock, options: StatementOptions): string {
  const { name = 'mcp-lock.json', assertedBy = 'observer-attested' } = options;
  const tools = [...(lock.native?.tools ?? [])].map(([tool, { digest }]): [string, JsonValue] => [
    tool,
    digest,
  ]);
  return canonicalize(
    {
      _type: STATEMENT_TYPE,
      subject: [{ name, digest: { sha256: lock.sha256 } }],
      predicateType: LOCK_PREDICATE_TYPE,
      predicate: {
        asserted_by: assertedBy,
        lock: { version: lock.version, format: lock.native?.format ?? null, digest: lockDigest(lock) },
        tools: lock.native === null ? null : JsonObject.from(tools),
      },
    },
    'jcs',
  );
}

/**
 * Signs the statement on a lockfile as a DSSE envelope. Rejects with what `readLock` throws and what a signer
 * fails with.
 */
export async function signLockStatement(
  lockBytes: Uint8Array,
  signers: readonly Signer[],
  options: StatementOptions = {},
): Promise<string> {
  const statement = lockStatement(readLock(lockBytes), options);
  return signDsse(STATEMENT_PAYLOAD_TYPE, toUtf8(statement), signers);
}

/**
 * Opens a lockfile of which a trusted key signed the statement. The statement must be, member for member, the
 * one that this lock has. Throws the `DSSE_…` codes, `LOCK_OTHER` for a statement on something else or one
 * that says anything else of the lock, and what `readLock` throws.
 */
export function openAttested(
  lockBytes: Uint8Array,
  envelope: Uint8Array,
  keys: readonly PublicKey[],
): VerifiedLock {
  const opened = openDsse(envelope, STATEMENT_PAYLOAD_TYPE, keys);
  const statement = parse(opened.payload);
  const lock = readLock(lockBytes);
  const subjects = memberAt(statement, ['subject']);
  const name = Array.isArray(subjects) ? memberAt(subjects[0], ['name']) : undefined;
  const assertedBy = ASSERTED_BY.find((word) => word === memberAt(statement, ['predicate', 'asserted_by']));
  if (typeof name !== 'string' || assertedBy === undefined) throw other();
  const expected = lockStatement(lock, { name, assertedBy });
  if (canonicalize(statement, 'jcs') !== expected) throw other();
  return asVerified(lock, 'dsse', opened.keys);
}

function other(): BullaError {
  return new BullaError('LOCK_OTHER', 'The statement is not about this lock.');
}
