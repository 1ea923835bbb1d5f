const WINDOW_MS = 60_000;
const MAX_DEATHS = 5;
const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 30_000;

/** When a server ended, and so when it is started again. */
export class Deaths {
  readonly #now: () => number;
  #recent: number[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The server ended. False when it did so too often within a minute to be started again. */
  add(): boolean {
    const now = this.#now();
    this.#recent = [...this.#recent.filter((at) => now - at < WINDOW_MS), now];
    return this.#recent.length < MAX_DEATHS;
  }

  /** How long to wait before the server is started again: not at all after one end, then twice as long each time. */
  delayMs(): number {
    const count = this.#recent.length;
    if (count < 2) return 0;
    const delay = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (count - 2));
    return Math.max(0, this.#recent.at(-1)! + delay - this.#now());
  }
}
