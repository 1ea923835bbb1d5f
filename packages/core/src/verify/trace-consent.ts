import { isChannelKind, provesPerson } from '../consent/index.ts';
import type { Held } from './trace-records.ts';
import {
  absent,
  consentText,
  evidenceIn,
  failed,
  heldBy,
  isBegun,
  isBehind,
  isSame,
  sealed,
  type TraceStep,
  text,
  type Walk,
} from './trace-walk.ts';

// The question and the answer that a call rests on must be of this call, stand before it, and fit each other.

/** The capsule of the question that the call rests on. */
export function question(walk: Walk): TraceStep | undefined {
  const { evidence: own, intent } = walk;
  return consentRecord(walk, 'question', own.consent?.asked, (held) => {
    const { facts, args, tool, lock } = evidenceIn(held.record);
    const says = `${word(facts?.asked ?? facts?.user)} was asked.`;
    const why = () => {
      const isOfAgent = text(held.record, 'context', 'agent_id') === text(intent, 'context', 'agent_id');
      if (!isOfAgent) return 'was about another agent';
      if (!isSame(own.args, args)) return 'was about other arguments';
      const { fingerprint: _, ...called } = own.tool ?? { name: '' };
      if (!isSame(called, tool) || lock !== own.lock) return 'was about another tool';
      return null;
    };
    return { says, why };
  });
}

/** The capsule of the answer to it. */
export function answer(walk: Walk): TraceStep | undefined {
  const { asked, answered } = walk.evidence.consent ?? {};
  if (asked !== undefined && answered === undefined && isBegun(walk)) {
    const says = 'The call was begun without an answer.';
    return { step: 'answer', basis: 'failed', code: 'TRACE_OTHER', says };
  }
  return consentRecord(walk, 'answer', answered, (held) => {
    const said = answerIn(held);
    const channel = consentText(held.record, 'channel');
    const says =
      said === null
        ? 'Nobody answered; the question ended.'
        : `${word(said.who)} answered: ${word(said.choice)}, over ${channel}.`;
    const why = () => {
      const [before] = heldBy(walk, asked);
      if (asked !== undefined && text(held.record, 'parent_id') !== asked) return 'answers another question';
      if (before !== undefined && !isBehind(held, before)) return 'stands before the question';
      const isAllowed =
        ALLOWING.includes(said?.choice) && text(held.record, 'outcome', 'status') === 'success';
      if (isBegun(walk) && !isAllowed) return 'did not allow the call';
      if (said !== null && before !== undefined && !personsAsked(walk, before, held).includes(said.who))
        return 'was given by somebody who was not asked';
      const isOther = (one: Held) => text(one.record, 'id') !== answered && answerIn(one) !== null;
      const others = walk.near.filter(({ record }) => text(record, 'parent_id') === asked);
      return others.some(isOther) ? 'is not the only answer' : null;
    };
    return { says, why };
  });
}

const ALLOWING: readonly unknown[] = ['allow-once', 'allow-session'];

interface Answer {
  readonly who?: unknown;
  readonly choice?: unknown;
}

function answerIn({ record }: Held): Answer | null {
  return (evidenceIn(record).facts?.answer ?? null) as Answer | null;
}

/** Who was asked, and who was asked in their place between the question and the answer. */
function personsAsked({ near, evidence }: Walk, asking: Held, answering: Held): readonly unknown[] {
  const escalations = near.filter(
    (held) =>
      held.holder === asking.holder &&
      text(held.record, 'trigger', 'request') === 'consent escalate' &&
      evidenceIn(held.record).consent?.id === evidence.consent?.id &&
      isBehind(held, asking) &&
      isBehind(answering, held),
  );
  const { facts } = evidenceIn(asking.record);
  const instead = escalations.map(({ record }) => evidenceIn(record).facts?.to);
  return [facts?.asked ?? facts?.user, ...instead].filter(Boolean);
}

/** Whether a record says that this person answered over a channel that proves it. */
function isProven({ record }: Held): boolean {
  const channel = consentText(record, 'channel');
  return (
    text(record, 'authority', 'type') === 'human_approved' &&
    text(record, 'authority', 'approver') === answerIn({ record } as Held)?.who &&
    isChannelKind(channel) &&
    provesPerson(channel)
  );
}

/** A text that a record holds where it may hold anything. */
function word(value: unknown): string {
  return typeof value === 'string' ? value : 'Somebody';
}

/** A capsule that the intent rests on, which must be of the same consent and stand before it. */
function consentRecord(
  walk: Walk,
  step: 'question' | 'answer',
  id: string | undefined,
  told: (held: Held) => { says: string; why(): string | null },
): TraceStep | undefined {
  if (id === undefined) return undefined;
  const [held, other] = heldBy(walk, id);
  if (held === undefined)
    return absent(step, 'TRACE_NO_RECORD', `The capsule of the ${step} is not at hand.`, id);
  const { says, why } = told(held);
  const found = sealed(walk, step, held, says);
  if (found.basis !== 'verified') return found;
  // Only an authenticated channel shows that it was this person.
  const isClaimed = step === 'answer' && !isProven(held);
  const known: TraceStep = isClaimed ? { ...found, basis: 'self-reported' } : found;
  if (other !== undefined) return failed(known, 'is not the only record of this id');
  if (evidenceIn(held.record).consent?.id !== walk.evidence.consent?.id)
    return failed(known, 'is of another call');
  if (!isBehind({ record: walk.intent, holder: walk.holder }, held))
    return failed(known, 'was sealed after the call began');
  if (held.holder.capsule !== null && walk.holder.capsule === null)
    return { ...known, ...absent(step, 'TRACE_NO_RECORD', `${says} That record is in no chain.`, id) };
  const contradiction = why();
  return contradiction === null ? known : failed(known, contradiction);
}
