/** Keys and tokens in the arguments of a call: found by their form, and taken out of what is recorded. */
export { type FoundSecret, findSecrets, TOO_LARGE } from './find.ts';
export { redact } from './redact.ts';
