import {
  type Channel,
  type Choice,
  type Disclosure,
  disclosureDigest,
  type Words,
} from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import type { Consent, Decided, Pair, Shown } from '../consent/index.ts';

/** A question as it is shown, or why it cannot be. */
export type Question = Shown | { readonly id: string; readonly error: BullaError };

/** The questions that can still be answered; what cannot be shown does not hide what can. */
export async function pendingQuestions(
  consent: Consent,
  of: Partial<Pair>,
  words: Words,
): Promise<Question[]> {
  const questions: Question[] = [];
  for (const { id } of await consent.pending(of)) {
    try {
      questions.push(await consent.show(id, words));
    } catch (error) {
      if (!(error instanceof BullaError)) throw error;
      questions.push({ id, error });
    }
  }
  return questions;
}

interface Answer {
  readonly id: string;
  readonly choice: Choice;
  /** The digest of what the person saw. */
  readonly seen: string;
  /** With a grant: what the person was told. */
  readonly disclosure: Disclosure | null;
  readonly who: string;
  readonly channel: Channel;
}

const REFUSALS: ReadonlySet<string> = new Set([
  'CONSENT_UNKNOWN',
  'CONSENT_ANSWERED',
  'CONSENT_NOT_KEPT',
  'CONSENT_SHOWING',
]);

/** Whether an error says that a question cannot be answered, and nothing else is wrong. */
export function isUnanswerable(error: unknown): error is BullaError {
  return error instanceof BullaError && REFUSALS.has(error.code);
}

/** Answers a question; with a grant, what the person was told is recorded first. */
export async function answerQuestion(
  consent: Consent,
  { id, choice, seen, disclosure, who, channel }: Answer,
): Promise<Decided> {
  if (disclosure !== null) await consent.disclose(who, disclosure, { who, channel });
  const digest = disclosure && disclosureDigest(disclosure);
  return consent.answer({ prompt: id, shown: seen, choice, who, channel, disclosure: digest });
}
