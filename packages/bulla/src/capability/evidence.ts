import type { CapabilityLink } from '@bulla/core/capability';
import { BullaError } from '@bulla/core/error';
import { type Evidence, type Failure, failureAt, type Stage } from '@bulla/core/evidence';
import type { Part } from '../record/index.ts';

/** The door of everything that a session records. */
export const DOOR = 'session';

/** What every record of a turn says of what the agent can do in it: digests and ids. */
type TurnEvidence = Required<Pick<Evidence, 'agent' | 'capability'>>;

export function turnEvidence(turn: {
  /** The id under which the agent is registered. */
  readonly agent: string;
  readonly linkHash: string;
  readonly link: CapabilityLink;
  readonly envelopeHash: string | null;
}): TurnEvidence {
  const { agent, linkHash, link, envelopeHash } = turn;
  const { staticHash, runtimeHash, invocationHash } = link;
  return {
    agent,
    capability: {
      ...{ static: staticHash, runtime: runtimeHash, link: linkHash },
      ...(invocationHash != null && { invocation: invocationHash }),
      ...(envelopeHash !== null && { envelope: envelopeHash }),
    },
  };
}

/** What the agent does rests on the capabilities of its turn; before it has begun, on those of its definition. */
export function turnPart(evidence: TurnEvidence): Part {
  const { link, static: staticHash } = evidence.capability;
  return { evidence, authority: [{ type: 'policy', reference: `capability:${link ?? staticHash}` }] };
}

/** Codes whose sentences hold nothing but the names of policies and the words of a kill switch. */
const TOLD = /^(?:SESSION_[A-Z_]+|CAPABILITY_POLICY_DENIED|KILLED)$/;

/** Any other sentence may quote what a record must not hold: arguments, a context, a server behind it. */
export function failureIn(stage: Stage, error: unknown): Failure {
  return failureAt(stage, error, error instanceof BullaError && TOLD.test(error.code));
}
