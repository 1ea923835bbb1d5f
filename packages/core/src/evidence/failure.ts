import { BullaError, failureOf, isThrown } from '../error.ts';
import { textAt } from '../json/index.ts';

/** Where a call was stopped, or failed. A gate's stage is its name. */
export const STAGES = [
  // before the gates: what came is no message, or belongs to no session
  'frame',
  'session',
  'ids',
  // the gates, in their order
  'method',
  'pinned',
  'arguments',
  'uris',
  'policy',
  'repeat',
  'scope',
  'consent',
  'envelope',
  'kill',
  'record',
  // what happened then
  'server',
  'action',
  'lists',
  // a failure of ours
  'bulla',
] as const;
export type Stage = (typeof STAGES)[number];

/** A failure as `outcome.error` tells it. */
export interface Failure {
  readonly stage: Stage;
  /** A code, or the name of the class of an error. */
  readonly code: string;
  /** Only where it cannot quote a payload. */
  readonly sentence?: string | undefined;
}

/** The one grammar of `outcome.error`: `stage: CODE`, and a sentence only where it cannot quote a payload. */
export function failureText({ stage, code, sentence }: Failure): string {
  return `${stage}: ${code}${sentence ? `: ${sentence}` : ''}`;
}

/** An error as a record tells it: by its code or class. Its message may quote a payload, and a record is for ever. */
export function failureAt(stage: Stage, error: unknown, tell = false): Failure {
  const code = failureOf(error);
  return tell && isThrown(error, BullaError) ? { stage, code, sentence: error.message } : { stage, code };
}

/** Whether a record marks an intent as one whose process ended before it recorded the outcome. */
export function isMark(record: unknown): boolean {
  const error = readFailure(textAt(record, ['outcome', 'error']) ?? '');
  return textAt(record, ['type']) === 'system' && error?.code === 'RECORD_ORPHANED';
}

const FAILURE = /^([a-z]+): ([A-Za-z][A-Za-z0-9_]{0,63})(?:: (.+))?$/s;

/** Reads what `failureText` wrote; null for anything else. */
export function readFailure(text: string): Failure | null {
  const [, stage, code, sentence] = FAILURE.exec(text) ?? [];
  if (!STAGES.includes(stage as Stage)) return null;
  return { stage: stage as Stage, code: code!, ...(sentence !== undefined && { sentence }) };
}
