import type { Choice, Words } from '@bulla/core/consent';
import { JsonObject, type JsonValue } from '@bulla/core/json';
import { phrasesOf } from '../../consent/index.ts';

// The question as a form of the host: one enumeration, which every host can show. Never a PIN or a password
// (2025-11-25, Elicitation, Security Considerations).

/** The name of our request among the `inputRequests` of a result. */
export const INPUT_KEY = 'bulla_consent';

/** The parameters of `elicitation/create`. */
export function formOf(message: string, choices: readonly Choice[], words: Words): object {
  const decision = {
    type: 'string',
    title: phrasesOf(words).questions['allow-once'],
    enum: choices,
    enumNames: choices.map((choice) => words.terms[choice]),
  };
  return { message, requestedSchema: { type: 'object', properties: { decision }, required: ['decision'] } };
}

/** What a person chose; `cancel` where they closed the question, null where the answer has no such form. */
export function choiceIn(
  result: JsonValue | undefined,
  choices: readonly Choice[],
): Choice | 'cancel' | null {
  if (!(result instanceof JsonObject)) return null;
  const action = result.get('action');
  if (action === 'decline') return 'deny-once';
  if (action === 'cancel') return 'cancel';
  const content = result.get('content');
  if (action !== 'accept' || !(content instanceof JsonObject)) return null;
  return choices.find((choice) => choice === content.get('decision')) ?? null;
}
