/**
 * Work that goes on beside the reading of messages: as much as there are slots for, on messages of so many bytes
 * together, and then reading waits.
 */
export class Slots {
  readonly #size: number;
  readonly #maxBytes: number;
  readonly #running = new Set<Promise<void>>();
  #bytes = 0;

  constructor(size: number, maxBytes: number) {
    this.#size = size;
    this.#maxBytes = maxBytes;
  }

  /** Starts work that must not reject. A promise when there is no room for more: it resolves when there is. */
  run(work: () => Promise<void>, bytes = 0): void | Promise<void> {
    this.#bytes += bytes;
    const running: Promise<void> = work().finally(() => {
      this.#running.delete(running);
      this.#bytes -= bytes;
    });
    this.#running.add(running);
    if (this.#isFull) return this.#room();
  }

  get #isFull(): boolean {
    return this.#running.size >= this.#size || (this.#bytes > this.#maxBytes && this.#running.size > 0);
  }

  async #room(): Promise<void> {
    while (this.#isFull) await Promise.race(this.#running);
  }

  /** Resolves when nothing runs, nor was started meanwhile. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
