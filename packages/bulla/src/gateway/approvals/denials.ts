import type { Detail, Prompt } from '@bulla/core/consent';
import type { Deny } from '../../consent/index.ts';
import { Denial } from '../denial.ts';

/** What the agent is told, and should do. Denied, expired and withdrawn are different things. */
const SENTENCES: Readonly<Partial<Record<Detail, string>>> = {
  answered: 'The person who was asked denied this call. Do not call it again unless they ask for it.',
  deadline: 'Nobody answered in time, so the call was not made. It may be called again, and is asked again.',
  withdrawn: 'The question was closed before anybody decided, so the call was not made.',
  restart: 'The question ended with the process that asked it, so the call was not made. Call again.',
  not_started: 'The call was allowed, but not begun in time. Call again.',
  group: 'The tool cannot be used where several people take part.',
  conversation_unknown: 'It is not known who takes part, so the tool cannot be used.',
  user_unknown:
    'It is not known for whom the agent acts, so nobody can be asked. Its operator names the person.',
  agent_unknown: 'It is not known which agent calls.',
  scope_not_granted:
    'The person has not granted the scope of this tool to the agent; bulla grants grant does that.',
  scope_revoked: 'The person took the scope of this tool back.',
  scope_refused: 'The person refused the scope of this tool.',
  suspended:
    'The manifest of the agent changed: the person must review what they granted (bulla grants grant).',
  sensitivity_changed: 'The scope of this tool became more sensitive: the person must review the grant.',
  scope_unknown: 'The manifest of the agent does not declare the scope of this tool.',
  tool_unknown: 'The manifest of the agent does not declare this tool, or binds it to another one.',
  tool_changed: 'The tool is not the one that the manifest of the agent declares.',
  manifest_changed: 'The manifest of the agent changed while the person was asked. Call again.',
  too_many_prompts: 'Too many questions of this agent wait for the person. Call again later.',
};

/** The denial that a ruling of consent is. On the wire and in the record its `detail` says how it came to it. */
export function consentDenial({ deny, decision }: Deny): Denial {
  const detail = decision?.detail ?? null;
  const sentence = (detail && SENTENCES[detail]) ?? `The call is not allowed (${deny.code}).`;
  return new Denial(deny.stage, codeOf(detail), sentence, {
    failure: { ...deny, sentence },
    data: { reason: deny.code, ...(detail !== null && { detail }) },
  });
}

function codeOf(detail: Detail | null) {
  if (detail === 'deadline') return 'CONSENT_EXPIRED';
  return detail === 'withdrawn' ? 'CONSENT_WITHDRAWN' : 'CONSENT_DENIED';
}

/** The agent is told to call again for the answer to a question that stays open. */
export function toComeBack({ id, expires_at }: Prompt): Denial {
  const until = expires_at === null ? null : new Date(expires_at).toISOString();
  const message = `A person is asked about this call and has not answered yet. Call again later with exactly the same arguments${until === null ? '' : `, before ${until}`}; the answer waits.`;
  return new Denial('consent', 'CONSENT_PENDING', message, {
    failure: { stage: 'consent', code: 'CONSENT_PENDING', sentence: message },
    data: { question: id, ...(until !== null && { until }) },
  });
}
