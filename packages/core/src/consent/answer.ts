import { type Channel, isChannelKind, provesPerson, satisfies } from './channel.ts';
import { allow, deny, granted } from './decision.ts';
import {
  type AnswerEvent,
  done,
  type EscalateEvent,
  isText,
  NO_MOMENT,
  refused,
  refusedFor,
  type Step,
} from './event.ts';
import { discloses, give, takeBack } from './grants.ts';
import type { AllowedBy, Answered, Change, Decision, Prompt } from './rows.ts';
import { channelRule, type Rules, SILENCE_MS } from './rules.ts';
import { shownDigest } from './showing.ts';
import { isLate, manifestOf, obstacle, takenBack } from './standing.ts';
import { applyChanges, type ConsentState, put, remove } from './state.ts';

// An answer releases the call that it was shown, and nothing else. Everything about it must be right; what is not is
// refused, and the question stays as it was.

export function answer(state: ConsentState, event: AnswerEvent, rules: Rules): Step {
  const prompt = state.rows.prompts.get(event.prompt);
  if (prompt === undefined) return unanswered(state, event.prompt);
  const wrong = wrongAnswer(state, prompt, event, rules);
  if (wrong !== null) return wrong;
  const { at, who, choice, channel } = event;
  const answered: Answered = {
    who,
    choice,
    channel: channel.kind,
    device: channel.device,
    session: channel.session,
    at,
    escalation: prompt.escalation,
  };
  const basis = { answer: answered, shown: prompt.shown, rests_on: null };
  const close = remove('prompts', prompt);
  switch (choice) {
    case 'grant': {
      const decision = granted({ ...prompt, grant: prompt.id }, basis, at);
      const changes = give(state, prompt.scope, prompt.id, event.disclosure!, event);
      return done([close, put(state, 'decisions', decision), ...changes], [decision]);
    }
    case 'deny-once': {
      const decision = deny(prompt, 'user_rejected', 'answered', at, basis);
      return done([close, put(state, 'decisions', decision)], [decision]);
    }
    case 'never': {
      const decision = deny(prompt, 'user_rejected', 'answered', at, basis);
      const closing = [close, put(state, 'decisions', decision)];
      const rest = takeBack(applyChanges(state, closing), [prompt.scope], 'refused', event);
      return done([...closing, ...rest.changes], [decision, ...rest.decisions], null, rest.running);
    }
    default: {
      const decision = allow(prompt, allowedBy(prompt, choice), basis, at, rules);
      const changes: Change[] = [close, put(state, 'decisions', decision), approval(state, decision)];
      if (choice === 'allow-session') changes.push(silence(state, prompt, decision));
      return done(changes, [decision]);
    }
  }
}

function allowedBy({ sensitivity }: Prompt, choice: 'allow-once' | 'allow-session'): AllowedBy {
  if (sensitivity === 'high') return 'high-allowed-once';
  return choice === 'allow-session' ? 'medium-session' : 'medium-allowed-once';
}

function unanswered(state: ConsentState, id: string): Step {
  return state.rows.decisions.has(id)
    ? refused('CONSENT_ANSWERED', 'This was decided already.')
    : refused('CONSENT_UNKNOWN', 'There is no such question.');
}

/** The checklist of an answer. */
function wrongAnswer(state: ConsentState, prompt: Prompt, event: AnswerEvent, rules: Rules): Step | null {
  const { at, who, choice, channel } = event;
  if (at < prompt.opened_at) return refused(...NO_MOMENT);
  if (isLate(prompt, at)) return refused('CONSENT_EXPIRED', 'The answer came after the deadline.');
  // Computed again: a row that was altered in the store is not what was shown.
  if (event.shown !== prompt.shown || event.shown !== shownDigest(prompt))
    return refused('CONSENT_SHOWN', 'The answer is to something else than what was asked.');
  if (who !== prompt.asked) return refused('CONSENT_PERSON', 'Somebody else was asked.');
  if (!isRightChannel(state, prompt, event, rules))
    return refused('CONSENT_CHANNEL', 'This may not be answered over this channel.');
  if (!isAskedDevice(prompt, channel))
    return refused('CONSENT_PERSON', 'Another device or session was asked.');
  if (!prompt.choices.includes(choice)) return refused('CONSENT_CHOICE', 'This choice was not offered.');
  const found = obstacle(state, prompt);
  if (found !== null) return refusedFor(found);
  if (choice === 'grant' && !discloses(state, event.disclosure ?? null))
    return refused('CONSENT_DISCLOSURE', 'Before a grant the person is shown what the agent can do now.');
  return null;
}

/** Who was asked in another's place is proven, and what a person took back is not given again over the host. */
function isRightChannel(state: ConsentState, prompt: Prompt, event: AnswerEvent, rules: Rules): boolean {
  const { kind } = event.channel;
  if (!satisfies(kind, channelRule(prompt.sensitivity, rules))) return false;
  if (prompt.escalation !== null) return satisfies(kind, 'authenticated');
  return event.choice !== 'grant' || !takenBack(state, prompt.scope) || satisfies(kind, 'out-of-band');
}

/**
 * For a host the very device and session that called, as far as its transport knows them. Besides, the devices that
 * were named; where none were, any if the person is proven, else the device that called.
 */
function isAskedDevice(prompt: Prompt, { kind, device, session }: Channel): boolean {
  if ([device, session].some((name) => name !== null && !isText(name))) return false;
  if (kind === 'host' && (device !== prompt.device || session !== prompt.session)) return false;
  if (prompt.devices !== null) return device !== null && prompt.devices.includes(device);
  if (!isChannelKind(kind)) return false;
  if (kind === 'host' || provesPerson(kind)) return true;
  return device !== null && device === prompt.device;
}

function approval(state: ConsentState, decision: Decision): Change {
  const { id, tool, server, declared, locked, args, decided_at } = decision;
  return put(state, 'approvals', {
    tool: tool!,
    decision: id,
    server,
    declared: declared!,
    locked,
    args: args!,
    at: decided_at,
  });
}

function silence(state: ConsentState, prompt: Prompt, { id, decided_at }: Decision): Change {
  return put(state, 'silences', {
    scope: prompt.scope,
    device: prompt.device!,
    session: prompt.session!,
    server: prompt.server,
    lock: prompt.lock,
    tool: prompt.tool!,
    locked: prompt.locked,
    grant: prompt.grant!,
    decision: id,
    shown: prompt.shown,
    declared: manifestOf(state)!.rev,
    used_at: decided_at,
    until: decided_at + SILENCE_MS,
  });
}

export function escalate(state: ConsentState, event: EscalateEvent, rules: Rules): Step {
  const prompt = state.rows.prompts.get(event.prompt);
  if (prompt === undefined) return unanswered(state, event.prompt);
  const { at, to, why } = event;
  if (at < prompt.opened_at) return refused(...NO_MOMENT);
  if (isLate(prompt, at)) return refused('CONSENT_EXPIRED', 'The deadline is over.');
  if (prompt.kind !== 'call' || to === prompt.asked || !isText(why) || !rules.approvers.includes(to))
    return refused(
      'CONSENT_ESCALATION',
      'A call can be escalated, with a reason, to an approver of the operator.',
    );
  // Another person decides about this call, not about what the user will be asked later.
  const choices = ['allow-once', 'deny-once'] as const;
  const open = { ...prompt, asked: to, escalation: why, choices, devices: null };
  const moved: Prompt = { ...open, shown: shownDigest(open), rev: prompt.rev + 1 };
  return done([put(state, 'prompts', moved)], [], moved);
}
