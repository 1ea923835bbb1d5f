import { BullaError } from '@bulla/core/error';

/** What was shown or given is refused: the error has the code of the reason, and is a verdict on what was checked. */
export class Refusal extends BullaError {}

/** Nothing is wrong, but what would decide is not at hand. */
export class Undecided extends BullaError {}

/** Does something with what a server shows; what that throws is a verdict on the server. */
export function refusing<Result>(what: string, action: () => Result): Result {
  try {
    return action();
  } catch (cause) {
    if (!(cause instanceof BullaError)) throw cause;
    const { code, message, path } = cause;
    throw new Refusal(code, `${what}: ${message}`, { ...(path !== undefined && { path }), cause });
  }
}
