import { BullaError } from '../error.ts';
import { isPlain } from '../json/index.ts';
import { type HashOptions, hashPlainObject } from './hashing.ts';
import { wrongArgument } from './names.ts';
import { copyPlain, dictionary, type PlainJson } from './plain.ts';

export interface NormalizeOptions {
  /** If given, only these keys of the root count; an empty list lets none through. The others are not looked at. */
  readonly allowlist?: readonly string[] | undefined;
}

/** A context in the form in which it is hashed. */
export type InvocationContext = Readonly<Record<string, PlainJson>>;

/**
 * The context of an invocation in the form in which it is hashed (see `copyPlain` for what it throws). The root must
 * be a plain object, else `CAPABILITY_VALUE` is thrown: no context is given by giving none, never by a wrong one.
 * Throws `CAPABILITY_ARGUMENT` for an allowlist that is no list of keys.
 */
export function normalizeInvocationContextForHash(
  context: unknown,
  options: NormalizeOptions = {},
): InvocationContext {
  if (typeof context !== 'object' || context === null || Array.isArray(context) || !isPlain(context)) {
    const why = 'The context of an invocation is a plain object.';
    throw new BullaError('CAPABILITY_VALUE', why, { path: '' });
  }
  const { allowlist } = options;
  if (allowlist === undefined) return copyPlain(context) as InvocationContext;
  if (!Array.isArray(allowlist) || !allowlist.every((key) => typeof key === 'string'))
    wrongArgument('The allowlist is a list of keys.', '/allowlist');
  const allowed = allowlist.filter((key) => Object.hasOwn(context, key));
  return copyPlain(
    dictionary(allowed.map((key) => [key, (context as Record<string, unknown>)[key]])),
  ) as InvocationContext;
}

/** What is hashed of an invocation. Throws as `normalizeInvocationContextForHash` does. */
export function invocationContextCanonicalPayload(
  context: unknown,
  options?: NormalizeOptions,
): { readonly kind: 'invocation'; readonly context: InvocationContext } {
  return { kind: 'invocation', context: normalizeInvocationContextForHash(context, options) };
}

/** The `invocationHash` of a context. Throws as `normalizeInvocationContextForHash` does. */
export function computeInvocationContextHash(
  context: unknown,
  options: NormalizeOptions & HashOptions = {},
): string {
  return hashPlainObject(invocationContextCanonicalPayload(context, options), options);
}
