import { isMark } from '../evidence/index.ts';
import { type Held, isOutcomeOf } from './trace-records.ts';
import {
  absent,
  evidenceIn,
  failed,
  failureIn,
  sealed,
  type TraceStep,
  text,
  unlikeIntent,
  type Walk,
} from './trace-walk.ts';

/** How the call ended, as far as records tell. */
export function outcome(walk: Walk): TraceStep | undefined {
  const { intent, holder } = walk;
  if (text(intent, 'outcome', 'status') !== 'pending' || text(intent, 'type') === 'auth') return undefined;
  const outcomes = outcomesOf(walk);
  const [ended] = outcomes;
  const [mark] = marksOf(walk);
  if (ended === undefined) return mark === undefined ? noOutcome(walk) : orphaned(walk, mark);
  const { record } = ended;
  const { late } = evidenceIn(record);
  const when = late === undefined ? '' : ' That was recorded after the call had been marked as orphaned.';
  const says = `It ended as ${text(record, 'outcome', 'status')}${failureIn(record)}.${when}`;
  const step = sealed(walk, 'outcome', ended, says);
  if (outcomes.length > 1) return failed(step, `has ${outcomes.length} outcomes`);
  if (step.basis !== 'verified') return step;
  if (mark !== undefined && text(mark.record, 'id') !== late)
    return failed(step, 'does not name the record that marks the call as orphaned');
  const why = unlikeIntent(walk, ended);
  if (why !== null) return failed(step, why);
  if (ended.holder === holder || holder.capsule !== null) return step;
  return { ...step, ...absent('outcome', 'TRACE_NO_RECORD', `${says} That record is not in the chain.`) };
}

/** The outcomes of the intent, the one that the trace began with first. More than one contradict each other. */
export function outcomesOf({ near, intent, start }: Walk): readonly Held[] {
  const isStart = ({ record }: Held) => [text(record, 'id'), text(record, 'hash')].includes(start);
  return near
    .filter(({ record }) => isOutcomeOf(record, intent) && !isMark(record))
    .toSorted((a, b) => Number(isStart(b)) - Number(isStart(a)));
}

/** The records that say that the process of the call ended before it recorded an outcome. */
function marksOf({ near, intent }: Walk): readonly Held[] {
  return near.filter(({ record }) => isOutcomeOf(record, intent) && isMark(record));
}

function noOutcome({ evidence }: Walk): TraceStep {
  const says =
    'No outcome of it is among the files, and nothing marks it as orphaned: it was left out, it still runs, or the process ended.';
  return absent('outcome', 'TRACE_NO_RECORD', `${says}${lazily(evidence)}`);
}

/** That nobody knows how the call ended is itself recorded. */
function orphaned(walk: Walk, mark: Held): TraceStep {
  const says = `Its outcome is not known: the process ended before it was recorded, and the call may or may not have been made.${lazily(walk.evidence)}`;
  const step = sealed(walk, 'outcome', mark, says);
  if (step.basis !== 'verified') return step;
  const why = unlikeIntent(walk, mark);
  return why === null ? { ...step, basis: 'absent', code: 'RECORD_ORPHANED' } : failed(step, why);
}

function lazily({ outcome }: Walk['evidence']): string {
  if (outcome !== 'lazy') return '';
  return ' Its outcome was allowed to be lazy: the agent may have had the answer before it was recorded.';
}
