import { sha256Hex, toUtf8 } from '@bulla/core/crypto';

/** Limit on the incidents that share a budget and are told; the rest is only counted. */
const MAX_INCIDENTS = 64;

/** Counts what was dropped or removed in a session, and tells what of it is new. */
export class Incidents {
  /** The digests of the incidents that were told. */
  readonly #seen = new Set<string>();
  /** How many of them belong to each budget. */
  readonly #spent = new Map<string, number>();
  readonly #dropped: Record<string, number> = {};
  readonly #unrecorded: Record<string, number> = {};

  get counts() {
    return { dropped: { ...this.#dropped }, unrecorded: { ...this.#unrecorded } };
  }

  /** Counts an incident. Its name where it is the first of its key, and its budget is not spent; else null. */
  add(code: string, key: string, budget: string = code): string | null {
    this.#dropped[code] = (this.#dropped[code] ?? 0) + 1;
    const name = sha256Hex(toUtf8(`${code} ${key}`));
    if (this.#seen.has(name)) return null;
    const spent = this.#spent.get(budget) ?? 0;
    if (spent >= MAX_INCIDENTS) {
      this.#unrecorded[code] = (this.#unrecorded[code] ?? 0) + 1;
      return null;
    }
    this.#spent.set(budget, spent + 1);
    this.#seen.add(name);
    return name;
  }

  /** The next such incident is new again. */
  forget(name: string): void {
    this.#seen.delete(name);
  }
}
