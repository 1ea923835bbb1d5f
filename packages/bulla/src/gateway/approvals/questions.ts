import { isDeepStrictEqual } from 'node:util';
import type { Identity } from '@bulla/core/consent';
import { openedArguments, type Payload } from '../../record/index.ts';
import type { Member } from '../wire/splice.ts';
import type { Stop } from '../wire/stop.ts';
import { States } from './state.ts';

/** A question about a call, and the commitment to its arguments that an answer is bound to. */
export interface Question {
  readonly id: string;
  readonly identity: Identity;
  readonly tool: { readonly server: string | null; readonly name: string };
  readonly args: Payload;
  /** What the server gave the host to call again with, when the question was asked. */
  readonly again: readonly Member[];
  /** Aborted when nobody will come for the answer. */
  readonly stop: Stop;
  /** Whether a call waits for the answer, or is about to use it. No other one may have it then. */
  isTaken: boolean;
}

/** What tells a call that came before from others. */
export type Asker = Pick<Question, 'identity' | 'tool'>;

/** Limit on questions whose call is over; the oldest ends. */
const MAX_LEFT = 1024;

/**
 * The questions of one process that outlive the call they were asked about: the host was told to come again, with a
 * `requestState` or with the same call.
 */
export class Questions {
  readonly states = new States();
  readonly #all = new Map<string, Question>();
  readonly #timers = new Map<Question, NodeJS.Timeout>();

  add(given: Omit<Question, 'isTaken'>): Question {
    const question = { ...given, isTaken: true };
    this.#all.set(question.id, question);
    return question;
  }

  find(id: string): Question | undefined {
    return this.#all.get(id);
  }

  /** A question that no call waits for, about exactly this call. */
  matching(asker: Asker, args: unknown): Question | undefined {
    for (const question of this.#timers.keys()) {
      const isFree = !question.isTaken && this.isOf(question, asker);
      if (isFree && openedArguments(question.args, args) !== undefined) return question;
    }
    return undefined;
  }

  isOf(question: Question, { identity, tool }: Asker): boolean {
    return isDeepStrictEqual([question.identity, question.tool], [identity, tool]);
  }

  /** The call is over, and may come again for the answer within this time. */
  leave(question: Question, ms: number): void {
    question.isTaken = false;
    if (this.#timers.has(question) || this.#all.get(question.id) !== question) return;
    this.#timers.set(question, setTimeout(() => this.end(question), ms).unref());
    const [oldest] = this.#timers.keys();
    if (this.#timers.size > MAX_LEFT) this.end(oldest!);
  }

  /** Nobody will come for the answer. */
  end(question: Question): void {
    this.spent(question);
    question.stop.abort();
  }

  /** The answer was used. */
  spent(question: Question): void {
    clearTimeout(this.#timers.get(question));
    this.#timers.delete(question);
    this.#all.delete(question.id);
  }
}
