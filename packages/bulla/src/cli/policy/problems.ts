import { UnusablePolicy } from '../../app/index.ts';
import { say } from '../terminal/io.ts';

/** Uses a policy. Of one that cannot be used, all that is wrong is told, a line each, as editors find it. */
export function tellingProblems<Result>(use: () => Result): Result {
  const tell = (error: unknown): never => {
    if (error instanceof UnusablePolicy)
      say(
        error.problems.map(
          ({ line, column, message, code }) => `${error.file}:${line}:${column}: ${message} [${code}]`,
        ),
      );
    throw error;
  };
  try {
    const result = use();
    return result instanceof Promise ? (result.catch(tell) as Result) : result;
  } catch (error) {
    return tell(error);
  }
}
