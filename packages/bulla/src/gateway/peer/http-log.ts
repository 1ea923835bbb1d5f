/** How long a line that comes again is only counted. */
const QUIET_MS = 10_000;

/** Lines for the operator, of which those that come again and again are counted. There are few keys. */
export class Repeated {
  readonly #log: (line: string) => void;
  readonly #counts = new Map<string, number>();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  log(key: string, line: string): void {
    const count = this.#counts.get(key);
    if (count !== undefined) {
      this.#counts.set(key, count + 1);
      return;
    }
    this.#log(line);
    this.#counts.set(key, 0);
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      const more = this.#counts.get(key)!;
      this.#counts.delete(key);
      if (more > 0) this.#log(`${more} times more: ${line}`);
    }, QUIET_MS).unref();
    this.#timers.add(timer);
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }
}
