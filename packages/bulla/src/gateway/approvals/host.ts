import type { Identity, Prompt, Words } from '@bulla/core/consent';
import { JsonObject, type JsonValue } from '@bulla/core/json';
import { type Ask, type Consent, questionText } from '../../consent/index.ts';
import type { GatedCall } from '../gates/gate.ts';
import { declares, inputRequired } from '../upstream/open-call.ts';
import { inputBytes } from './again.ts';
import { choiceIn, formOf, INPUT_KEY } from './form.ts';
import type { Question, Questions } from './questions.ts';

interface HostAskerOptions {
  readonly consent: Consent;
  readonly identity: Identity;
  readonly words: Words;
  readonly questions: Questions;
  readonly leaveMs: number;
}

type AskHost = (
  call: GatedCall,
  question: Question,
  asked: Ask,
  response: JsonValue | undefined,
) => Promise<Uint8Array | null>;

/**
 * Asks the person through the host, where it can show a question: a host of the stateless era by the result that is
 * returned, any other one by a request. Null where the call waits. A host's answer is no proof of a person, and whoever
 * is asked can answer elsewhere meanwhile.
 */
export function hostAsker({ consent, identity, words, questions, leaveMs }: HostAskerOptions): AskHost {
  /** Whether it was an answer. What may not be answered so stays open for other channels. */
  const answer = async (prompt: Prompt, given: JsonValue | undefined): Promise<boolean> => {
    const choice = choiceIn(given, prompt.choices);
    if (choice === null) return false;
    if (choice === 'cancel') return (await consent.withdraw(prompt.id)).refusal === null;
    const channel = { kind: 'host', device: identity.device, session: identity.session } as const;
    const { id, shown, asked: who } = prompt;
    return (await consent.answer({ prompt: id, shown, choice, who, channel }, 'gateway')).refusal === null;
  };
  const form = async ({ id, choices }: Prompt): Promise<object | null> => {
    const { showing } = await consent.show(id, words);
    const text = showing && questionText(showing, words);
    return text === null ? null : formOf(text, choices, words);
  };

  return async ({ host }, question, { ask, prompt }, response) => {
    if (response !== undefined && (await answer(prompt, response))) return null;
    if (host.capabilities === null || !declares(host.capabilities, ['elicitation', 'form'])) return null;
    const params = await form(prompt).catch(() => null);
    if (params === null) return null;
    if (host.isStateless) {
      const expires = Math.min(prompt.expires_at ?? Number.MAX_SAFE_INTEGER, Date.now() + leaveMs);
      const state = questions.states.seal({ prompt: question.id, expires });
      questions.leave(question, leaveMs);
      const input = { idBytes: new Uint8Array(), method: 'elicitation/create', params: inputBytes(params) };
      return inputRequired(new Map([[INPUT_KEY, input]]), state);
    }
    const decided = new AbortController();
    void ask.catch(() => undefined).finally(() => decided.abort());
    host
      .ask('elicitation/create', params, decided.signal)
      .then((frame) => (frame.kind === 'result' ? answer(prompt, resultOf(frame.result)) : false))
      .catch(() => undefined);
    return null;
  };
}

const resultOf = (result: JsonValue | undefined): JsonObject | undefined =>
  result instanceof JsonObject ? result : undefined;
