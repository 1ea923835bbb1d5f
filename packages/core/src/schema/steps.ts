/**
 * A computation that can wait for another: it yields the other and is given its result. Run on a stack of our own, so
 * that no schema is too deep for the engine's.
 */
export type Step<T> = Generator<Step<unknown>, T, unknown>;

/** Waits for another step: `const ok = yield* call(other())`. */
export function* call<T>(step: Step<T>): Step<T> {
  return (yield step) as T;
}

export function run<T>(first: Step<T>): T {
  const stack: Step<unknown>[] = [first];
  let value: unknown;
  for (;;) {
    const next = stack.at(-1)!.next(value);
    if (next.done !== true) {
      stack.push(next.value);
      value = undefined;
      continue;
    }
    value = next.value;
    stack.pop();
    if (stack.length === 0) return value as T;
  }
}

/** Thrown by {@link Budget} alone, and caught where a question may stay open. One for all: a stack trace is dear. */
export const OUT_OF_STEPS: Error = new Error('out of steps');

/** How much work a question may cost; hostile schemas would otherwise cost any amount. */
export class Budget {
  #left: number;

  constructor(steps: number) {
    this.#left = steps;
  }

  /** Throws {@link OUT_OF_STEPS} when the steps are not there. */
  spend(steps = 1): void {
    if (!this.take(steps)) throw OUT_OF_STEPS;
  }

  /** The same without throwing: whether the steps were there. */
  take(steps: number): boolean {
    this.#left -= steps;
    return this.#left >= 0;
  }
}
