import { type Disclosure, disclosureDigest, type Refusal, type Words } from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { visible } from '@bulla/core/text';
import type { Consent, Decided, Pair, Said } from '../consent/index.ts';

/** What an agent can do, as a person is told, and its digest. */
interface Told {
  readonly disclosure: Disclosure;
  readonly digest: string;
}

/** Rejects with `CONSENT_AGENT_UNKNOWN` for an agent without a manifest. */
export async function disclosureOf(consent: Consent, agent: string, words?: Words): Promise<Told> {
  const disclosure = await consent.disclosure(agent, words);
  if (disclosure === null)
    throw new BullaError('CONSENT_AGENT_UNKNOWN', `The agent ${visible(agent)} has no manifest here.`);
  return { disclosure, digest: disclosureDigest(disclosure) };
}

/** Why these scopes cannot be granted to somebody who saw `seen`; null if nothing stands in the way. */
export function grantRefusal(
  { disclosure, digest }: Told,
  scopes: readonly string[],
  seen: string | undefined,
): Refusal | null {
  if (seen !== undefined && seen !== digest)
    return {
      code: 'CONSENT_DISCLOSURE',
      message: 'This is not what the agent can do now: see `grants show`.',
    };
  const unknown = scopes.find((scope) => disclosure.scopes.every(({ id }) => id !== scope));
  if (unknown === undefined) return null;
  return { code: 'CONSENT_SCOPE', message: `The agent declares no scope ${visible(unknown)}.` };
}

/** Records that the person was told what the agent can do, and grants. */
export async function grantScopes(
  consent: Consent,
  pair: Pair,
  scopes: readonly string[],
  { disclosure, digest }: Told,
  said: Said,
): Promise<Decided> {
  const shown = await consent.disclose(pair.user, disclosure, said);
  return shown.refusal !== null ? shown : consent.grant(pair, scopes, { ...said, disclosure: digest });
}

/** Takes scopes back. Rejects with `CONSENT_AGENT_UNKNOWN` where nothing changed and nobody knows the agent. */
export async function revokeScopes(
  consent: Consent,
  pair: Pair,
  scopes: readonly string[] | 'all',
  said: Said,
): Promise<Decided> {
  const step = await consent.revoke(pair, scopes, said);
  // What nobody has a manifest of was mistyped. To take back comes first: nothing stands in its way.
  if (step.capsules.length === 0) await disclosureOf(consent, pair.agent);
  return step;
}
