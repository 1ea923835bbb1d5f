import type { Prompt } from '@bulla/core/consent';
import type { Ruling } from '../gates/gate.ts';
import { toComeBack } from './denials.ts';
import type { Question, Questions } from './questions.ts';

interface Waiting {
  readonly question: Question;
  readonly questions: Questions;
  readonly prompt: Prompt;
  /** Aborted when the call is over. */
  readonly signal: AbortSignal;
}

/** How long a call waits for the answer, and how long the question stays open after it. */
interface Leaves {
  readonly patienceMs: number;
  readonly leaveMs: number;
}

/**
 * Waits for the answer to a question. Without `leaves` the question ends with the call. With it the question outlives the
 * call: after a while, and when the host cancels, the agent is told to come back.
 */
export function patient(
  answer: Promise<Ruling>,
  { question, questions, prompt, signal }: Waiting,
  leaves: Leaves | null,
): Promise<Ruling> {
  const { promise, resolve, reject } = Promise.withResolvers<Ruling>();
  let isOver = false;
  const finish = (act: () => void): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
    act();
  };
  const leave = (leaveMs: number): void =>
    finish(() => {
      questions.leave(question, leaveMs);
      resolve({ deny: toComeBack(prompt) });
    });
  const end = (): void => (leaves === null ? questions.end(question) : leave(leaves.leaveMs));
  const timer = leaves === null ? undefined : setTimeout(() => leave(leaves.leaveMs), leaves.patienceMs);
  const settle = (act: () => void): void =>
    finish(() => {
      questions.spent(question);
      act();
    });
  answer.then(
    (ruling) => settle(() => resolve(ruling)),
    (error) => settle(() => reject(error)),
  );
  signal.addEventListener('abort', end);
  if (signal.aborted) end();
  return promise;
}
