import { randomBytes } from 'node:crypto';
import { type CommitmentKind, canonicalize, commit, SALT_BYTES } from '@bulla/core/canon';
import { BullaError } from '@bulla/core/error';
import type { JsonValue } from '@bulla/core/json';
import type { Opening, Store } from '../../store/index.ts';

/** A commitment as it stands in a capsule. */
export interface Commitment {
  readonly commitment: string;
  /**
   * There where the payload has a number that RFC 8785 would turn into another: committed to is then the text of the
   * payload under this profile, which keeps every digit, as one string.
   */
  readonly of?: 'mcptrust-v1';
}

interface Queued {
  readonly opening: Opening;
  resolve(): void;
  reject(error: unknown): void;
}

/** Commits to payloads, and keeps what opens the commitments. Those of parallel calls share one write. */
export class Openings {
  readonly #store: Store;
  #queue: Queued[] = [];
  #running: Promise<void> | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Resolves when the salt is stored. Rejects with a `STORE_…` code. */
  async commit(kind: CommitmentKind, payload: JsonValue, capsuleId: string): Promise<Commitment> {
    const salt = new Uint8Array(randomBytes(SALT_BYTES));
    const found = committed(kind, payload, salt);
    const opening: Opening = { commitment: found.commitment, capsuleId, kind, salt, payload: null };
    await new Promise<void>((resolve, reject) => {
      this.#queue.push({ opening, resolve, reject });
      this.#running ??= this.#run();
    });
    return found;
  }

  async #run(): Promise<void> {
    await turn();
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0);
      try {
        await this.#store.addOpenings(batch.map(({ opening }) => opening));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
      await turn();
    }
    this.#running = undefined;
  }
}

function committed(kind: CommitmentKind, payload: JsonValue, salt: Uint8Array): Commitment {
  try {
    return { commitment: commit(kind, payload, salt) };
  } catch (error) {
    if (!(error instanceof BullaError)) throw error;
    const of = 'mcptrust-v1';
    return { commitment: commit(kind, canonicalize(payload, of), salt), of };
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
