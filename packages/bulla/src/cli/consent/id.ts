import { BullaError } from '@bulla/core/error';

/** Fewer characters would name a question by accident. */
const SHORTEST = 4;

/**
 * The one question that somebody means by the beginning of its id, also with the dots of `6b1f…`. What no open question
 * begins with is given back as it is. Throws `CONSENT_AMBIGUOUS` with those that it could be.
 */
export function questionId(given: string, open: readonly string[]): string {
  if (open.includes(given)) return given;
  const start = given.replace(/(?:…|\.\.\.)$/, '');
  if (start.length < SHORTEST) return given;
  const found = open.filter((id) => id.startsWith(start));
  if (found.length > 1)
    throw new BullaError('CONSENT_AMBIGUOUS', `${start} could be any of ${found.join(', ')}.`);
  return found[0] ?? given;
}
