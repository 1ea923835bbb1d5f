import type { Code } from '@bulla/core/codes';
import { BullaError } from '@bulla/core/error';
import { JsonObject, parse, textAt } from '@bulla/core/json';
import { bundleFromJSON, isBundleWithDsseEnvelope, type SerializedBundle } from '@sigstore/bundle';
import { TrustedRoot } from '@sigstore/protobuf-specs';
import { type Signer, toSignedEntity, toTrustMaterial, Verifier } from '@sigstore/verify';
import { hexOf } from './cache.ts';

// Who built a package, from a Sigstore bundle that somebody handed over. Nothing is fetched: whom to trust is a file
// too. A bundle proves who signed; what it claims to have built from is that signer's word, except for what the
// certificate says, which the certificate authority took from the signer's own token.

/** Whom a provenance must be signed by. A `*` at the end, and only there, stands for anything. */
export interface ExpectedSigner {
  /** Who vouches for the signer, exactly. */
  readonly issuer: string;
  /** The subject of the certificate; for GitHub Actions the workflow with its ref. */
  readonly identity: string | null;
  /** The repository, as the certificate names it, and with `@` a ref. */
  readonly source: string | null;
}

export interface ProvenanceFacts {
  /** Of the certificate. */
  readonly issuer: string;
  readonly identity: string;
  readonly sourceRepository: string | null;
  readonly sourceRef: string | null;
  /** Of the statement: the signer's word. */
  readonly predicateType: string;
  readonly builder: string | null;
  readonly claimedRepository: string | null;
  readonly claimedRef: string | null;
  readonly workflow: string | null;
}

const STATEMENTS = ['https://in-toto.io/Statement/v1', 'https://in-toto.io/Statement/v0.1'];
const PAYLOAD = 'application/vnd.in-toto+json';

/**
 * Verifies that a bundle is a SLSA provenance of the very tarball that is pinned, signed by the expected signer: the
 * signature, its entry in a transparency log, the certificate and its own log, all by the trusted root, then who, then
 * what. Throws `PROVENANCE_UNASKED` when no signer is named, `PROVENANCE_FORM` for files that are not understood,
 * and `PROVENANCE_INVALID` for a bad signature, another signer or another tarball.
 */
export function verifyProvenance(
  bundle: Uint8Array,
  trustedRoot: Uint8Array,
  integrity: string,
  expected: ExpectedSigner,
): ProvenanceFacts {
  if (expected.identity === null && expected.source === null)
    throw new BullaError('PROVENANCE_UNASKED', 'Name the signer with --identity or --expected-source.');
  const opened = attempt('PROVENANCE_FORM', 'The bundle is not understood', () =>
    bundleFromJSON(plainJson(bundle) as SerializedBundle),
  );
  if (!isBundleWithDsseEnvelope(opened) || opened.content.dsseEnvelope.payloadType !== PAYLOAD)
    throw new BullaError('PROVENANCE_FORM', 'The bundle holds no statement, only a signature.');
  const material = attempt('PROVENANCE_FORM', 'The trusted root is not understood', () =>
    toTrustMaterial(TrustedRoot.fromJSON(plainJson(trustedRoot))),
  );
  const signer = attempt('PROVENANCE_INVALID', 'The bundle does not verify', () =>
    new Verifier(material).verify(toSignedEntity(opened)),
  );
  const signed = signerOf(signer);
  checkSigner(signed, expected);
  const statement = attempt('PROVENANCE_FORM', 'The statement is not understood', () =>
    parse(new Uint8Array(opened.content.dsseEnvelope.payload)),
  );
  if (!(statement instanceof JsonObject) || !STATEMENTS.includes(textAt(statement, ['_type']) ?? ''))
    throw new BullaError('PROVENANCE_FORM', 'What is signed is no in-toto statement.');
  checkSubject(statement, integrity);
  return { ...signed, ...claims(statement) };
}

/** Our own parser refuses what could be read in two ways; theirs reads what is left. */
function plainJson(bytes: Uint8Array): unknown {
  parse(bytes);
  return JSON.parse(Buffer.from(bytes).toString());
}

function attempt<Result>(code: Code, what: string, run: () => Result): Result {
  try {
    return run();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : 'unknown';
    throw new BullaError(code, `${what}: ${reason}`, { cause });
  }
}

type Signed = Pick<ProvenanceFacts, 'issuer' | 'identity' | 'sourceRepository' | 'sourceRef'>;

/** Fulcio's own extensions of a certificate: `1.3.6.1.4.1.57264.1.N`. */
const SOURCE_REPOSITORY = 12;
const SOURCE_REF = 14;

function signerOf({ identity }: Signer): Signed {
  const issuer = identity?.extensions?.issuer;
  const name = identity?.subjectAlternativeName;
  if (issuer === undefined || name === undefined)
    throw new BullaError('PROVENANCE_INVALID', 'The bundle is signed by a key without a certificate.');
  const extension = (last: number): string | null => {
    const id = [1, 3, 6, 1, 4, 1, 57264, 1, last].join('.');
    const found = identity?.oids?.find(({ oid }) => oid?.id.join('.') === id)?.value;
    return found === undefined ? null : utf8String(found);
  };
  return {
    issuer,
    identity: name,
    sourceRepository: extension(SOURCE_REPOSITORY),
    sourceRef: extension(SOURCE_REF),
  };
}

/** A UTF8String in DER: the tag, the length in one byte or behind 0x81, the text. Null for anything else. */
function utf8String(der: Uint8Array): string | null {
  const start = der[1] === 0x81 ? 3 : 2;
  if (der[0] !== 0x0c || der[start - 1] !== der.length - start || der[1]! > 0x81) return null;
  return Buffer.from(der.subarray(start)).toString();
}

/** Whether a text is the expected one, or begins as it does up to a `*`. */
function matches(expected: string, found: string): boolean {
  return expected.endsWith('*') ? found.startsWith(expected.slice(0, -1)) : found === expected;
}

function checkSigner(signed: Signed, expected: ExpectedSigner): void {
  if (signed.issuer !== expected.issuer) throw otherSigner('issuer', expected.issuer, signed.issuer);
  if (expected.identity !== null && !matches(expected.identity, signed.identity))
    throw otherSigner('identity', expected.identity, signed.identity);
  if (expected.source === null) return;
  const { sourceRepository, sourceRef } = signed;
  const at = expected.source.indexOf('@');
  const [repository, ref] =
    at < 0 ? [expected.source, null] : [expected.source.slice(0, at), expected.source.slice(at + 1)];
  if (sourceRepository === null || !matches(repository, sourceRepository))
    throw otherSigner('source repository', repository, sourceRepository);
  if (ref !== null && (sourceRef === null || !matches(ref, sourceRef)))
    throw otherSigner('source ref', ref, sourceRef);
}

function otherSigner(what: string, expected: string, found: string | null): BullaError {
  const message = `The ${what} of the certificate is ${JSON.stringify(found)}, not ${JSON.stringify(expected)}.`;
  return new BullaError('PROVENANCE_INVALID', message);
}

function checkSubject(statement: JsonObject, integrity: string): void {
  const subjects = statement.get('subject');
  const digests = (Array.isArray(subjects) ? subjects : []).map((subject) =>
    textAt(subject, ['digest', 'sha512']),
  );
  if (digests.includes(hexOf(integrity))) return;
  const message = `integrity mismatch (the pin is ${integrity}, the provenance is of ${digests.join(', ') || 'nothing'}).`;
  throw new BullaError('PROVENANCE_INVALID', message);
}

/** What the statement says of the build, in either version of the predicate. Throws `PROVENANCE_FORM` for others. */
function claims(statement: JsonObject): Omit<ProvenanceFacts, keyof Signed> {
  const predicateType = textAt(statement, ['predicateType']) ?? '';
  const predicate = statement.get('predicate') ?? null;
  if (predicateType === 'https://slsa.dev/provenance/v1') {
    const workflow = ['buildDefinition', 'externalParameters', 'workflow'];
    return {
      predicateType,
      builder: textAt(predicate, ['runDetails', 'builder', 'id']),
      claimedRepository: textAt(predicate, [...workflow, 'repository']),
      claimedRef: textAt(predicate, [...workflow, 'ref']),
      workflow: textAt(predicate, [...workflow, 'path']),
    };
  }
  if (predicateType === 'https://slsa.dev/provenance/v0.2') {
    const uri = textAt(predicate, ['invocation', 'configSource', 'uri']);
    const [, repository = null, ref = null] = /^(?:git\+)?([^@]+)(?:@(.+))?$/.exec(uri ?? '') ?? [];
    return {
      predicateType,
      builder: textAt(predicate, ['builder', 'id']),
      claimedRepository: repository,
      claimedRef: ref,
      workflow: textAt(predicate, ['invocation', 'configSource', 'entryPoint']),
    };
  }
  const message = `A statement of the kind ${JSON.stringify(predicateType)} tells no provenance.`;
  throw new BullaError('PROVENANCE_FORM', message);
}
