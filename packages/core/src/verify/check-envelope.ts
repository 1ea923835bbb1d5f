import { keyId, shownKeyId } from '../crypto/index.ts';
import { execHash, openAuthorization, readApprovals } from '../envelope/index.ts';
import { attempt, BullaError } from '../error.ts';
import { type Artifact, type Finding, findings } from './artifact.ts';
import { approversOf, type Trust } from './trust.ts';

const { good, bad, undecided, keyless } = findings([
  'that it was not used before, or that its time and its policy still hold: "bulla envelope explain" asks the ledger',
  'that the people who hold the keys may approve this, and understood what they signed',
]);

/** An envelope is as good as the authorization of it, which is looked for among the artifacts by its exec_hash. */
export function checkEnvelope(
  { envelope }: Artifact<'execution envelope'>,
  trust: Trust,
  artifacts: readonly Artifact[],
): Finding {
  return orRefused(() => {
    if (envelope instanceof BullaError) throw envelope;
    const hashes = [execHash(envelope), execHash(envelope, 'envelope-v1-nul')];
    const details = { exec_hash: hashes[0], action_type: envelope.action_type };
    const found = artifacts
      .filter((each) => each.kind === 'authorization')
      .find(({ claims }) => !(claims instanceof BullaError) && hashes.includes(claims.exec_hash));
    if (found === undefined) {
      const message = 'It is well formed. Name the authorization of it too, to see who approved it.';
      return undecided('VERIFY_NO_KEY', message, details);
    }
    return signed(found.bytes, trust, details, ({ people, unknown }) =>
      good(`Exactly this was approved by ${people.join(', ')}.${unknownText(unknown)}`, {
        ...details,
        people,
      }),
    );
  });
}

/** An authorization by itself: who signed it, for which exec_hash. */
export function checkAuthorization({ bytes, claims }: Artifact<'authorization'>, trust: Trust): Finding {
  return orRefused(() => {
    if (claims instanceof BullaError) throw claims;
    const { exec_hash, aud: audience, exp: expires } = claims;
    return signed(bytes, trust, { exec_hash }, ({ people, unknown }) =>
      good(`Signed by ${people.join(', ')}, for ${exec_hash}.${unknownText(unknown)}`, {
        ...{ exec_hash, audience, expires, people, unknown },
      }),
    );
  });
}

/** The finding on an authorization that verified; undecided where none of its signers is known. */
function signed(
  bytes: Uint8Array,
  trust: Trust,
  details: Finding['details'],
  verified: (opened: ReturnType<typeof openAuthorization>) => Finding,
): Finding {
  const approvers = approversOf(trust);
  if (approvers.length === 0)
    return keyless('VERIFY_NO_KEY', 'No key is known to verify the authorization with.', details);
  const signers = readApprovals(bytes).map((approval) => approval.keyId);
  const known = new Set(approvers.map(({ key }) => keyId(key)));
  if (!signers.some((id) => known.has(id))) {
    const message = `None of the keys at hand signed the authorization; it says that it was signed by ${shown(signers)}.`;
    return keyless('VERIFY_NO_KEY', message, details);
  }
  return verified(openAuthorization(bytes, { keys: approvers }));
}

function orRefused(check: () => Finding): Finding {
  const finding = attempt(check);
  if (!(finding instanceof BullaError)) return finding;
  return bad(finding.code, finding.message, finding.path === undefined ? {} : { path: finding.path });
}

const shown = (ids: readonly string[]) => ids.map(shownKeyId).join(', ');

/** What was not verified is said, though it counts for nothing. */
function unknownText(unknown: readonly string[]): string {
  if (unknown.length === 0) return '';
  return ` Of keys that are not known here and count for nothing: ${shown(unknown)}.`;
}
