import type { DataObject } from '@bulla/core/capsule';
import { isoTimestamp } from '@bulla/core/capsule';
import {
  type ConsentEvent,
  consentAuthority,
  type Decision,
  type Declared,
  disclosureDigest,
  type Prompt,
  provesPerson,
  resultOf,
  type Step,
} from '@bulla/core/consent';
import type { AuthorityStep, Evidence, Failure } from '@bulla/core/evidence';
import type { Act, Door, Payload } from '../record/index.ts';
import type { Pair, Sealed } from './rows.ts';

// The records of consent: what people are asked, answer, give and take back. Each is one act. What becomes of a call
// stands in the records of the call.

/** Whence an event comes, as its records say. */
export interface About {
  readonly door: Door;
  /** The host as it names itself. Default: the agent, or the person. */
  readonly source?: string | undefined;
  readonly correlationId?: string | null | undefined;
  /** Arguments that a person is asked about, to be kept for them. */
  readonly payload?: Payload | undefined;
}

/** An act that is about to be recorded, without what becomes true with it. */
export type Draft = Omit<Act, 'effect' | 'id'>;

/** The manifest that was in force, as evidence. */
export function manifestEvidence(declared: Declared | undefined): Pick<Evidence, 'manifest'> {
  if (declared === undefined) return {};
  const { agent, version, hash, bindings } = declared;
  return { manifest: { agent_id: agent, version, hash, bindings } };
}

/** The failure of a decision that did not succeed; null for others. */
export function failureOf(decision: Decision): Failure | null {
  const result = resultOf(decision);
  return result === null || result.status === 'ok' ? null : { stage: 'consent', code: result.reason };
}

/** A person is asked. */
export function questionAct(prompt: Prompt, declared: Declared | undefined, about: About): Draft {
  const { shown, choices, raised, expires_at, asked } = prompt;
  const { door, correlationId = null, payload } = about;
  return {
    type: 'auth',
    trigger: 'agent',
    door,
    agentId: prompt.agent,
    sessionId: prompt.session,
    source: about.source ?? prompt.agent,
    request: requestOf('ask', prompt),
    correlationId,
    evidence: evidenceOf(prompt, null, declared, { shown, choices, raised, expires_at, asked }),
    authority: [{ type: 'policy', reference: 'consent:asked' }],
    ...(payload && { payloads: [payload] }),
    status: 'pending',
  };
}

/** A question is answered, or ends without an answer; or a request for a scope that nobody is asked about. */
export function endAct(
  decision: Decision,
  declared: Declared | undefined,
  sealed: Sealed | undefined,
  about: About,
): Draft {
  const { by, detail, shown, answer, agent, session } = decision;
  const failure = failureOf(decision);
  const said = answer && { choice: answer.choice, who: answer.who, device: answer.device };
  return {
    type: 'auth',
    trigger: answer === null ? 'system' : 'user_request',
    door: answer === null ? (sealed?.door ?? about.door) : about.door,
    agentId: agent ?? '',
    sessionId: session,
    source: answer?.who ?? about.source ?? agent ?? '',
    request: requestOf(answer === null ? 'end' : 'answer', decision),
    correlationId: about.correlationId ?? null,
    userId: answer !== null && provesPerson(answer.channel) ? answer.who : null,
    parentId: sealed?.asked ?? null,
    evidence: evidenceOf(decision, sealed?.asked ?? null, declared, { by, detail, shown, answer: said }),
    authority: [consentAuthority(decision)],
    status: failure === null ? 'success' : 'blocked',
    failure,
  };
}

function evidenceOf(
  subject: Prompt | Decision,
  asked: string | null,
  declared: Declared | undefined,
  more: DataObject,
): Evidence {
  const { id, kind, user, device, scope, sensitivity, grant, tool, server, server_tool, args } = subject;
  const known = sensitivity !== null;
  return {
    ...(subject.lock !== null && { lock: subject.lock }),
    ...(known &&
      tool !== null && {
        tool: {
          ...(server !== null && { server }),
          name: server_tool ?? tool,
          ...(subject.locked !== null && { locked: subject.locked }),
          ...(subject.declared !== null && { declared: subject.declared }),
        },
      }),
    ...(args !== null && { args }),
    ...manifestEvidence(declared),
    consent: { id, ...(asked !== null && { asked }) },
    facts: { kind, user, device, scope: known ? scope : null, sensitivity, grant, ...more },
  };
}

/** An agent could say anything in the name of a tool or a scope that it does not declare. */
function requestOf(verb: string, { kind, tool, scope, sensitivity }: Prompt | Decision): string {
  const name = sensitivity === null ? null : kind === 'call' ? tool : scope;
  return name === null ? `consent ${verb}` : `consent ${verb} ${name}`;
}

/** What a person does without being asked. */
type PersonsEvent = Extract<ConsentEvent, { type: 'disclose' | 'grant' | 'revoke' | 'escalate' }>;

export function isAct(event: ConsentEvent): event is PersonsEvent {
  return ['disclose', 'grant', 'revoke', 'escalate'].includes(event.type);
}

/** A person was shown what an agent can do, gave or took back, or somebody else is asked. */
export function personsAct(
  event: PersonsEvent,
  { user, agent }: Pair,
  step: Step,
  declared: Declared | undefined,
  sealed: Sealed | undefined,
): Draft {
  const request = `consent ${event.type}`;
  const shown = shownBy(event, step);
  const at = isoTimestamp(new Date(event.at));
  const channel = event.type === 'escalate' ? null : event.channel.kind;
  const who = event.type === 'escalate' ? user : event.who;
  const link = { step: 'consent', decision: event.type, channel: channel ?? 'none', shown, at };
  const proven = channel !== null && provesPerson(channel);
  const authority: AuthorityStep = proven
    ? { type: 'human_approved', approver: who, step: link }
    : {
        type: 'policy',
        reference: channel === null ? 'consent:escalated' : `consent:${channel}-reported`,
        step: link,
      };
  return {
    type: 'auth',
    trigger: 'user_request',
    door: 'admin',
    agentId: agent,
    source: who,
    request,
    userId: proven ? who : null,
    parentId: sealed?.asked ?? null,
    evidence: {
      ...manifestEvidence(declared),
      ...(event.type === 'escalate' && {
        consent: { id: event.prompt, ...(sealed?.asked != null && { asked: sealed.asked }) },
      }),
      facts: { user, ...factsOf(event) },
    },
    authority: [authority],
    status: 'success',
  };
}

function shownBy(event: PersonsEvent, { prompt }: Step): string | null {
  if (event.type === 'disclose') return disclosureDigest(event.disclosure);
  return event.type === 'grant' ? event.disclosure : (prompt?.shown ?? null);
}

function factsOf(event: PersonsEvent): DataObject {
  switch (event.type) {
    case 'disclose':
      return { locale: event.disclosure.locale };
    case 'grant':
      return { grants: event.grants.map(({ scope, id }) => ({ scope, id })), disclosure: event.disclosure };
    case 'revoke':
      return { revoked: event.scopes === 'all' ? 'all' : [...event.scopes] };
    case 'escalate':
      return { to: event.to, why: event.why };
  }
}
