import { JsonObject, type JsonValue, stringify } from '@bulla/core/json';
import { parseFrame, type RequestFrame, type ResultFrame } from '../../mcp/index.ts';
import { openedArguments } from '../../record/index.ts';
import { Denial } from '../denial.ts';
import type { Recalled } from '../gates/gate.ts';
import { AGAIN } from '../gates/methods.ts';
import type { Subject } from '../gates/pinned.ts';
import { bytesOf, type Edit, locate, type Member, raw, setMembers, splice } from '../wire/splice.ts';
import { INPUT_KEY } from './form.ts';
import type { Asker, Question, Questions } from './questions.ts';
import { type States, unusable } from './state.ts';

// A call that comes again for the answer to a question: with the `requestState` that the host was given, or, where
// questions outlive their calls, as exactly the same call.

/** A call whose question was asked before. */
export interface Returned extends Recalled {
  readonly question: Question;
  /** The host's answer to our question; undefined where it brings none. */
  readonly response: JsonValue | undefined;
}

/** The members by which a server knows a call that comes again, exactly as the host gave them. */
export function againMembers(frame: RequestFrame): Member[] {
  return AGAIN.flatMap((name) => {
    const place = locate(frame, 'params', name);
    return place === null ? [] : [[name, Uint8Array.from(bytesOf(frame, place))] as const];
  });
}

/** Null for a call that is new. Throws a denial for a `requestState` of ours that cannot be used for this call. */
export function returned(
  questions: Questions,
  asker: Asker,
  frame: RequestFrame,
  { args }: Subject,
  { isParked, leaveMs }: { readonly isParked: boolean; readonly leaveMs: number },
): Returned | Recalled | null {
  const text = frame.params?.get('requestState');
  const state = typeof text === 'string' ? questions.states.open(text, Date.now()) : null;
  if (state?.continued !== undefined) {
    const { intent, inner } = state.continued;
    const own: Member[] = inner === null ? [] : [['requestState', raw(stringify(inner))]];
    const given = againMembers(frame).filter(([name]) => name !== 'requestState');
    const approval = { approval: state.prompt, continues: intent };
    return { ...approval, frame: restored(frame, [...given, ...own]), over: () => {} };
  }
  const question =
    state === null ? isParked && questions.matching(asker, args) : questions.find(state.prompt);
  if (!question) {
    if (state === null) return null;
    const { prompt: approval } = state;
    return { approval, frame: restored(frame, []), over: () => {} };
  }
  if (state !== null) {
    if (!questions.isOf(question, asker) || openedArguments(question.args, args) === undefined)
      throw new Denial('consent', 'CONSENT_OTHER_CALL', 'The requestState was given for another call.');
    if (question.isTaken) throw unusable('Another call uses it now.');
  }
  question.isTaken = true;
  const responses = frame.params?.get('inputResponses');
  return {
    question,
    response: state !== null && responses instanceof JsonObject ? responses.get(INPUT_KEY) : undefined,
    // A call that was parked comes again as the host wrote it.
    frame: state === null ? frame : restored(frame, question.again),
    args: question.args,
    over: () => questions.leave(question, leaveMs),
  };
}

/** The call as it was before the host was asked: what it says to us is not for the server. */
function restored(frame: RequestFrame, again: readonly Member[]): RequestFrame {
  const params = locate(frame, 'params')!;
  const bytes = splice(frame.bytes, setMembers(params, again, AGAIN));
  return parseFrame(bytes, { maxBytes: bytes.length }) as RequestFrame;
}

/**
 * The edits that put a state of ours in the place of the server's, so that the call goes on under its approval: nobody is
 * asked again for what the server asks.
 */
export function goingOn(
  states: States,
  answer: ResultFrame,
  prompt: string,
  intent: string,
  expires: number,
): Edit[] {
  const inner = answer.result.get('requestState');
  const state = states.seal({
    prompt,
    continued: { intent, inner: typeof inner === 'string' ? inner : null },
    expires,
  });
  return setMembers(locate(answer, 'result')!, [['requestState', raw(stringify(state))]]);
}

/** The bytes of a request that a result asks the host for. */
export function inputBytes(params: object): Uint8Array {
  return raw(stringify({ mode: 'form', ...params }));
}
