import { BullaError } from '@bulla/core/error';

/** Reads what a file holds; what is wrong with it is told with the name of the file. */
export function naming<Result>(file: string, read: () => Result): Result {
  try {
    return read();
  } catch (cause) {
    // An error of a class of its own means more than its message.
    if (!(cause instanceof BullaError) || cause.constructor !== BullaError) throw cause;
    const { code, message, path, offset } = cause;
    if (message.includes(file)) throw cause;
    const name = file === '-' ? 'Standard input' : file;
    throw new BullaError(code, `${name}: ${message}`, {
      ...(path !== undefined && { path }),
      ...(offset !== undefined && { offset }),
      cause,
    });
  }
}
