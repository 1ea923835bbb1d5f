/** Puts bytes together that come in parts, in memory that grows with the bytes and not with the number of parts. */
export class Gatherer {
  readonly #maxBytes: number;
  #buffer = new Uint8Array(INITIAL);
  #size = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Whether more came than may; then nothing is kept until {@link take}. */
  get isOver(): boolean {
    return this.#size > this.#maxBytes;
  }

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  add(part: Uint8Array): void {
    const size = this.#size + part.length;
    if (size <= this.#maxBytes) {
      if (size > this.#buffer.length) {
        const larger = new Uint8Array(Math.min(this.#maxBytes, Math.max(size, 2 * this.#buffer.length)));
        larger.set(this.#buffer.subarray(0, this.#size));
        this.#buffer = larger;
      }
      this.#buffer.set(part, this.#size);
    } else if (this.#buffer.length > INITIAL) {
      this.#buffer = new Uint8Array(INITIAL);
    }
    this.#size = size;
  }

  /** What came, or null if it was too much; and begins anew. */
  take(): Uint8Array | null {
    const [buffer, size] = [this.#buffer, this.#size];
    const isOver = this.isOver;
    this.#size = 0;
    if (buffer.length <= KEPT) return isOver ? null : buffer.slice(0, size);
    // A large one is given away whole, and not copied.
    this.#buffer = new Uint8Array(INITIAL);
    return isOver ? null : buffer.subarray(0, size);
  }
}

const INITIAL = 4096;
/** A larger buffer is not kept for the next time. */
const KEPT = 1024 * 1024;
