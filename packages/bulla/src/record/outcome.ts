import type { CapsuleInput } from '@bulla/core/capsule';
import { type Evidence, failureText, uncommittedFor } from '@bulla/core/evidence';
import { JsonNumber } from '@bulla/core/json';
import { sealedCopy } from './copy.ts';
import type { Sealing } from './part.ts';
import type { Payload } from './payload.ts';
import type { Call, Outcome } from './recorder.ts';

export function isTool({ type = 'tool' }: Call): boolean {
  return type === 'tool';
}

export type OutcomeContent = Pick<CapsuleInput, 'execution' | 'outcome'> & { readonly uncommitted: Evidence };

/** The sections of an outcome, and what of the notes no capsule can hold: none of them without `withNotes`. */
export function outcomeOf(
  { call, evidence }: Sealing,
  outcome: Outcome,
  result: Payload | undefined,
  withNotes = true,
): OutcomeContent {
  const { status, failure = null, summary, sideEffects, metrics } = outcome;
  const error = failure === null ? null : failureText(failure);
  const uncommitted: Record<string, string> = {};
  const rounded = Math.round(outcome.durationMs);
  const duration_ms = Number.isSafeInteger(rounded) && rounded >= 0 ? rounded : 0;
  if (duration_ms !== rounded) uncommitted['/execution/duration_ms'] = 'VALUE_NOT_FINITE';
  const noted = <T>(
    member: string,
    value: T | undefined,
    otherwise: T,
    isForm: (copy: unknown) => boolean,
  ): T => {
    if (value === undefined) return otherwise;
    let why = 'CAPSULE_LINT';
    try {
      const copy = sealedCopy(value);
      if (withNotes && isForm(copy)) return copy;
    } catch (error) {
      why = uncommittedFor(error).uncommitted;
    }
    uncommitted[`/outcome/${member}`] = why;
    return otherwise;
  };
  const toolCall = {
    tool: evidence.tool?.name ?? call.request,
    arguments: { ...evidence.args },
    result: result === undefined ? null : { ...result.committed },
    success: status === 'success',
    duration_ms,
    error,
  };
  const sections = {
    execution: { duration_ms, tool_calls: isTool(call) ? [toolCall] : [] },
    outcome: {
      status,
      error,
      summary: noted('summary', summary, call.request, isText),
      side_effects: noted('side_effects', sideEffects, [], isTexts),
      metrics: noted('metrics', metrics, {}, isObject),
    },
  };
  return { ...sections, uncommitted: Object.keys(uncommitted).length === 0 ? {} : { uncommitted } };
}

const isText = (value: unknown) => typeof value === 'string';
const isTexts = (value: unknown) => Array.isArray(value) && value.every(isText);
const isObject = (value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber);
