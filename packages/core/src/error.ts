import { type Code, type Kind, kindOf } from './codes.ts';

/**
 * The one error type of Bulla. `code` is stable API, a row of `codes.ts`; `kind` is that of the code, unless the place
 * knows better: a server that shows what no lock can hold is bad, a file that does is unreadable. `message` is a plain sentence for people and never
 * holds a secret; `path` is a JSON Pointer (RFC 6901) into the offending value; `offset` is a byte offset
 * into the offending text.
 */
export class BullaError extends Error {
  readonly code: Code;
  readonly #kind: Kind | undefined;
  declare readonly path?: string;
  declare readonly offset?: number;

  constructor(
    code: Code,
    message: string,
    where: { path?: string; offset?: number; cause?: unknown; kind?: Kind | undefined } = {},
  ) {
    super(withoutSecrets(message), where.cause === undefined ? undefined : { cause: where.cause });
    this.name = 'BullaError';
    this.code = code;
    this.#kind = where.kind;
    if (where.path !== undefined) this.path = where.path;
    if (where.offset !== undefined) this.offset = where.offset;
  }

  get kind(): Kind {
    return this.#kind ?? kindOf(this.code);
  }
}

/**
 * How a failure stands in a sealed record or a stored row: by its code, else by its class. A message is for whoever is
 * told now; it may quote a token or an argument, and a record is for ever.
 */
export function failureOf(error: unknown): string {
  // Anything can be thrown, also what throws when it is looked at; the outcome must be recorded all the same.
  try {
    if (error instanceof BullaError && /^[A-Z][A-Z0-9_]{0,63}$/.test(error.code)) return error.code;
    const name: unknown = error instanceof Error ? error.name : null;
    return typeof name === 'string' && /^[A-Za-z]{1,64}$/.test(name) ? name : 'Error';
  } catch {
    return 'Error';
  }
}

/** What an action gives, or the `BullaError` that it throws; anything else is thrown on. */
export function attempt<Value>(action: () => Value): Value | BullaError {
  try {
    return action();
  } catch (error) {
    if (error instanceof BullaError) return error;
    throw error;
  }
}

/** Whether a thrown value is of a class. Anything can be thrown, also what throws when it is looked at. */
export function isThrown<T extends Error>(
  error: unknown,
  of: abstract new (...args: never[]) => T,
): error is T {
  try {
    return error instanceof of;
  } catch {
    return false;
  }
}

/**
 * A text without what may be a password in the addresses that it quotes: a user before the host, also where a slash is
 * missing, and the values of such parameters. Addresses are mistyped, and what does not parse is quoted most.
 */
export function withoutSecrets(text: string): string {
  return text
    .replace(/(:\/{1,3}|\/\/)[^\s/@]*@/g, '$1***@')
    .replace(
      /([?&;](?:[a-z]*password|passwd|pwd|[a-z_-]*token|[a-z_-]*secret|api[_-]?key)=)[^&#\s"']*/gi,
      '$1***',
    );
}
