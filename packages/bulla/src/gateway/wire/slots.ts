/** The rough size in memory, in bytes, of a parsed value. */
const VALUE_BYTES = 128;
const [COMMA, BRACKET, BRACE] = [0x2c, 0x5b, 0x7b];

/**
 * The memory that a message takes while it is handled: its bytes and its values, of which a hostile one has far more than
 * its length suggests. Commas and brackets inside strings count too, which is harmless.
 */
export function weightOf(message: Uint8Array): number {
  let values = 1;
  // An iterator would take many times as long.
  for (let i = 0; i < message.length; i++) {
    const byte = message[i];
    if (byte === COMMA || byte === BRACKET || byte === BRACE) values++;
  }
  return message.length + VALUE_BYTES * values;
}

/**
 * Limits concurrent work by number and by the total weight of its messages. When the limit is reached, reading waits.
 */
export class Slots {
  readonly #size: number;
  readonly #maxWeight: number;
  readonly #running = new Set<Promise<void>>();
  #weight = 0;

  constructor(size: number, maxWeight: number) {
    this.#size = size;
    this.#maxWeight = maxWeight;
  }

  /** Starts work that must not reject. A promise when there is no room for more: it resolves when there is. */
  run(work: () => Promise<void>, weight = 0): void | Promise<void> {
    this.#weight += weight;
    const running: Promise<void> = work().finally(() => {
      this.#running.delete(running);
      this.#weight -= weight;
    });
    this.#running.add(running);
    if (this.#isFull) return this.#room();
  }

  get #isFull(): boolean {
    return this.#running.size >= this.#size || (this.#weight > this.#maxWeight && this.#running.size > 0);
  }

  async #room(): Promise<void> {
    while (this.#isFull) await Promise.race(this.#running);
  }

  /** Resolves when nothing runs, nor was started meanwhile. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
