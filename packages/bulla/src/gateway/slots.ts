/** Work that goes on beside the reading of messages: as much as there are slots for, and then reading waits. */
export class Slots {
  readonly #size: number;
  readonly #running = new Set<Promise<void>>();

  constructor(size: number) {
    this.#size = size;
  }

  /** Starts work that must not reject. A promise when all slots are taken: it resolves when one is free. */
  run(work: () => Promise<void>): void | Promise<void> {
    const running: Promise<void> = work().finally(() => this.#running.delete(running));
    this.#running.add(running);
    if (this.#running.size >= this.#size) return Promise.race(this.#running);
  }

  /** Resolves when nothing runs, nor was started meanwhile. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
