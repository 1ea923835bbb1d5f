import type { CapsuleInput, DataObject } from '@bulla/core/capsule';
import { isoTimestamp } from '@bulla/core/capsule';
import {
  authorityOf,
  type Channel,
  type ConsentEvent,
  type Decision,
  type Prompt,
  provesPerson,
  resultOf,
} from '@bulla/core/consent';

// What the chain says of consent: ids and digests. Arguments stay outside, and so does what an agent calls a tool that
// its manifest does not declare.

/** What a caller adds to the capsules of one call. */
export interface About {
  /** The host as it names itself. Default: the agent. */
  readonly source?: string;
  readonly correlationId?: string | null;
  /** More members of `context.environment.bulla`: digests and ids, no payloads. */
  readonly bulla?: DataObject;
}

/** The record that a person is asked. */
export function askedCapsule(prompt: Prompt, about: About): CapsuleInput {
  const { shown, choices, raised, expires_at, asked } = prompt;
  return {
    ...frameOf(prompt, about, { stage: 'asked', shown, choices, raised, expires_at, asked }),
    authority: { type: 'policy', policy_reference: 'consent:asked' },
    outcome: { status: 'pending', summary: requestOf(prompt) },
  };
}

/** The record of what was decided about a call or a request, and of what came of it. */
export function decisionCapsule(decision: Decision, about: About): CapsuleInput {
  const { stage, by, detail, shown, rests_on, exec_hash, answer, started_at, ended_at, tool } = decision;
  const result = resultOf(decision);
  const said = result === null || result.status === 'ok' ? null : `consent: ${result.reason}`;
  const ran = started_at !== null && ended_at !== null;
  const success = stage === 'ok';
  return {
    ...frameOf(decision, about, {
      stage,
      by,
      detail,
      shown,
      rests_on,
      exec_hash,
      choice: answer?.choice ?? null,
      who: answer?.who ?? null,
    }),
    authority: authorityOf(decision),
    ...(ran && {
      execution: {
        duration_ms: ended_at - started_at,
        tool_calls: [{ tool: tool!, success, duration_ms: ended_at - started_at, error: said }],
      },
    }),
    outcome: {
      status: result === null ? 'pending' : success ? 'success' : ran ? 'failure' : 'blocked',
      summary: requestOf(decision),
      error: said,
    },
  };
}

function frameOf(matter: Prompt | Decision, about: About, consent: DataObject): CapsuleInput {
  const { id, kind, user, agent, session, device, commitment, manifest, grant, sensitivity } = matter;
  const answer = 'answer' in matter ? matter.answer : null;
  const bulla: DataObject = {
    v: 1,
    ...about.bulla,
    ...(kind === 'call' && {
      tool: { name: toolOf(matter), digest: matter.tool_digest },
      args: { commitment },
    }),
    manifest: { agent_id: agent, hash: manifest },
    consent: { id, kind, user, device, scope: scopeOf(matter), sensitivity, grant, ...consent },
  };
  return {
    type: kind === 'call' ? 'tool' : 'auth',
    domain: 'consent',
    trigger: {
      type: 'agent',
      source: about.source ?? agent ?? '',
      request: requestOf(matter),
      correlation_id: about.correlationId ?? null,
      user_id: answer !== null && provesPerson(answer.channel) ? answer.who : null,
    },
    context: { agent_id: agent ?? '', session_id: session, environment: { bulla } },
  };
}

/** Its name, if the manifest declares it; an agent could say anything in another one. */
function toolOf({ tool, sensitivity }: Prompt | Decision): string | null {
  return sensitivity === null ? null : tool;
}

function scopeOf({ scope, sensitivity }: Prompt | Decision): string | null {
  return sensitivity === null ? null : scope;
}

function requestOf(matter: Prompt | Decision): string {
  const name = matter.kind === 'call' ? toolOf(matter) : scopeOf(matter);
  const what = matter.kind === 'call' ? 'call' : 'request';
  return name === null ? what : `${what} ${name}`;
}

/** What a person does that is no answer to a question. */
export type ActEvent = Extract<ConsentEvent, { type: 'disclose' | 'grant' | 'revoke' | 'escalate' }>;

export function isAct(event: ConsentEvent): event is ActEvent {
  return ['disclose', 'grant', 'revoke', 'escalate'].includes(event.type);
}

/** The record of what a person was shown, gave or took back. */
export function actCapsule(
  event: ActEvent,
  { user, agent }: { readonly user: string; readonly agent: string },
  shown: string | null,
): CapsuleInput {
  const request = `consent ${event.type}`;
  const [who, channel]: [string, Channel['kind'] | null] =
    event.type === 'escalate' ? [user, null] : [event.who, event.channel.kind];
  const at = isoTimestamp(new Date(event.at));
  const link = { step: 'consent', decision: event.type, channel: channel ?? 'none', shown, at };
  const proven = channel !== null && provesPerson(channel);
  return {
    type: 'auth',
    domain: 'consent',
    trigger: { type: 'user_request', source: who, request, user_id: proven ? who : null },
    context: {
      agent_id: agent,
      environment: { bulla: { v: 1, consent: { user, ...factsOf(event) } } },
    },
    authority: proven
      ? { type: 'human_approved', approver: who, chain: [link] }
      : {
          type: 'policy',
          policy_reference: channel === null ? 'consent:escalated' : `consent:${channel}-reported`,
          chain: [link],
        },
    outcome: { status: 'success', summary: request },
  };
}

function factsOf(event: ActEvent): DataObject {
  switch (event.type) {
    case 'disclose':
      return { manifest: event.disclosure.manifest, locale: event.disclosure.locale };
    case 'grant':
      return { grants: event.grants.map(({ scope, id }) => ({ scope, id })), disclosure: event.disclosure };
    case 'revoke':
      return { revoked: event.scopes === 'all' ? 'all' : [...event.scopes] };
    case 'escalate':
      return { id: event.prompt, to: event.to, why: event.why };
  }
}
