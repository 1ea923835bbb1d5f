import { BullaError } from '@bulla/core/error';

/** Does something with what a server shows; what that throws is a verdict on the server. */
export function refusing<Result>(what: string, action: () => Result): Result {
  try {
    return action();
  } catch (cause) {
    if (!(cause instanceof BullaError)) throw cause;
    const { code, message, path } = cause;
    throw new BullaError(code, `${what}: ${message}`, {
      ...(path !== undefined && { path }),
      cause,
      kind: 'bad',
    });
  }
}
