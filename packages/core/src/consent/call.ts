import { allow, deny, ended, fail, NO_BASIS } from './decision.ts';
import { type CallEvent, done, isText, type RequestEvent, refused, type Step } from './event.ts';
import type { Approved, Choice, Decision, Previous, Prompt, Subject } from './rows.ts';
import { HIGH_PROMPT_MS, type Rules, SILENCE_MS } from './rules.ts';
import { highest, RAISES, type Raise, raised, type Sensitivity } from './sensitivity.ts';
import { shownDigest } from './showing.ts';
import { calledTool, isNew, manifestOf, scopeObstacle } from './standing.ts';
import { type ConsentState, insert, silenceKey } from './state.ts';

// An agent calls a tool, or asks for a scope: allowed in silence, denied, or put before the person.

const COMMITMENT = /^[0-9a-f]{64}$/;
const FORMS: readonly string[] = ['jcs', 'exact'];

const NO_RAISES: readonly Raise[] = [];

type Asking = CallEvent | RequestEvent;

export function call(state: ConsentState, event: CallEvent, rules: Rules): Step {
  const { at } = event;
  const wrong = misplaced(state, event);
  if (wrong !== null) return wrong;
  if (!COMMITMENT.test(event.args.commitment) || !FORMS.includes(event.args.of))
    return refused('CONSENT_ID', 'The commitment to the arguments is not 64 hex digits and their form.');
  if ((event.locked === null) !== (event.lock === null))
    return refused('CONSENT_LOCK', 'A tool that is pinned comes with its lock, and no other does.');

  if (event.raises !== undefined && !isRaises(event.raises))
    return refused('CONSENT_ID', 'What raises the level is a list of objects with a level and a reason.');

  const tool = calledTool(state, event);
  const scope = tool?.permission_scope ?? null;
  const declared = scope === null ? undefined : state.scopes.get(scope);
  const grant = scope === null ? undefined : state.rows.grants.get(scope);
  const obstacle = scope === null ? null : scopeObstacle(state, scope);
  const given = event.raises ?? NO_RAISES;
  // Only what the person was shown with the grant runs unasked.
  const raises =
    tool !== undefined && obstacle === null && isNew(tool, grant!)
      ? [...given, { to: 'medium', why: 'new' } as const]
      : given;
  const sensitivity =
    tool === undefined || declared === undefined ? null : raised(highest(declared, tool.sensitivity), raises);
  const { user, agent, device, session } = event.identity;
  const subject: Subject = {
    id: event.id,
    call_id: event.call_id ?? null,
    kind: 'call',
    user,
    agent,
    scope,
    sensitivity,
    tool: tool?.name ?? (event.server === null ? event.tool : null),
    server: event.server,
    server_tool: event.server === null ? null : event.tool,
    declared: event.declared ?? tool?.digest ?? null,
    locked: event.locked,
    lock: event.lock,
    args: { commitment: event.args.commitment, of: event.args.of },
    timeout_ms: tool?.timeout_ms ?? null,
    manifest: manifestOf(state)?.hash ?? null,
    grant: grant?.id ?? null,
    device,
    session,
    holder: event.holder ?? null,
  };

  const nobody = unanswerable(subject, event);
  if (nobody !== null) return ending(nobody);
  if (tool === undefined) return ending(ended(subject, 'tool_unknown', at));
  if (tool.digest !== subject.declared) return ending(ended(subject, 'tool_changed', at));
  if (obstacle !== null) return ending(ended(subject, obstacle, at));

  if (sensitivity === 'low')
    return ending(allow(subject, 'low-silent', { ...NO_BASIS, shown: grant!.disclosure }, at, rules));
  if (sensitivity === 'medium') {
    const silent = inSilence(state, subject, at, rules);
    if (silent !== null) return silent;
  }
  return ask(state, subject, event, sensitivity!, raises, rules);
}

export function request(state: ConsentState, event: RequestEvent, rules: Rules): Step {
  const { at, scope } = event;
  const wrong = misplaced(state, event);
  if (wrong !== null) return wrong;
  const sensitivity = state.scopes.get(scope) ?? null;
  const { user, agent, device, session } = event.identity;
  const subject: Subject = {
    ...{ id: event.id, call_id: null, kind: 'grant', user, agent, scope, sensitivity, tool: null },
    ...{ server: null, server_tool: null, declared: null, locked: null, lock: null, args: null },
    ...{ timeout_ms: null, manifest: manifestOf(state)?.hash ?? null, grant: null, device, session },
    holder: event.holder ?? null,
  };
  const nobody = unanswerable(subject, event);
  if (nobody !== null) return ending(nobody);
  const obstacle = scopeObstacle(state, scope);
  if (obstacle === null) return refused('CONSENT_ALREADY_GRANTED', 'The scope is granted already.');
  if (obstacle === 'scope_unknown') return ending(ended(subject, obstacle, at));
  if (obstacle === 'scope_refused') return ending(deny(subject, 'user_rejected', obstacle, at));
  for (const prompt of state.rows.prompts.values())
    if (prompt.kind === 'grant' && prompt.scope === scope)
      return refused('CONSENT_ALREADY_ASKED', 'The person is being asked for this scope already.');
  return ask(state, subject, event, sensitivity!, [], rules);
}

/** Why nothing can be decided about what was asked in this state. */
function misplaced(state: ConsentState, event: Asking): Step | null {
  const { id, holder = null } = event;
  const { user, agent, device, session } = event.identity;
  const subject =
    event.type === 'call'
      ? isText(event.tool) &&
        [event.server, event.declared ?? null, event.locked, event.lock, event.call_id ?? null].every(
          (name) => isName(name),
        )
      : isText(event.scope);
  const caller = isName(user) && isName(agent) && isName(device) && isName(session) && isName(holder);
  if (!isText(id) || !subject || !caller || event.devices?.every(isText) === false)
    return refused('CONSENT_ID', 'An id or a name is a text of 1 to 4096 characters.');
  if ((user !== null && user !== state.user) || (agent !== null && agent !== state.agent))
    return refused('CONSENT_STATE', 'The rows are those of another person or agent.');
  if (state.rows.prompts.has(id) || state.rows.decisions.has(id))
    return refused('CONSENT_REPEATED', 'This id was used before; an answer is for one call alone.');
  return null;
}

/** A level that is none of ours counts as high, and what is no list of levels at all is refused. */
function isRaises(raises: unknown): boolean {
  return Array.isArray(raises) && raises.every((raise) => isText(raise?.to) && RAISES.includes(raise.why));
}

function isName(name: string | null): boolean {
  return name === null || isText(name);
}

/** The end of what nobody can be asked about. */
function unanswerable(subject: Subject, { identity, at }: Asking): Decision | null {
  if (identity.conversation !== 'direct') {
    const detail = identity.conversation === 'group' ? 'group' : 'conversation_unknown';
    return deny(subject, 'tool_not_supported_in_group', detail, at);
  }
  if (identity.user === null) return ended(subject, 'user_unknown', at);
  if (identity.agent === null) return ended(subject, 'agent_unknown', at);
  return null;
}

/** What nobody's rows can hold is decided without being kept. */
function ending(decision: Decision): Step {
  if (decision.user === null || decision.agent === null) return done([], [decision]);
  return done([insert('decisions', decision)], [decision]);
}

/** A `medium` call inside its window, which it moves on; null outside. A clock that went back is outside. */
function inSilence(state: ConsentState, subject: Subject, at: number, rules: Rules): Step | null {
  const { scope, device, session, server } = subject;
  if (device === null || session === null) return null;
  const key = silenceKey({ scope: scope!, device, session, server });
  const silence = state.rows.silences.get(key);
  if (
    silence === undefined ||
    silence.grant !== subject.grant ||
    silence.lock !== subject.lock ||
    (silence.tool === subject.tool && silence.locked !== subject.locked) ||
    at < silence.used_at ||
    at >= silence.until ||
    isNew(state.tools.get(subject.tool!)!, silence)
  )
    return null;
  const basis = { answer: null, shown: silence.shown, rests_on: silence.decision };
  const decision = allow(subject, 'medium-window', basis, at, rules);
  const { rev } = silence;
  const row = { ...silence, used_at: at, until: at + SILENCE_MS, rev: rev + 1 };
  return done([{ table: 'silences', key, rev, row }, insert('decisions', decision)], [decision]);
}

/** Puts the question. */
function ask(
  state: ConsentState,
  subject: Subject,
  event: Asking,
  sensitivity: Sensitivity,
  raises: readonly Raise[],
  rules: Rules,
): Step {
  const { at } = event;
  if (state.rows.prompts.size >= rules.maxOpenPrompts) return ending(fail(subject, 'too_many_prompts', at));
  const limit =
    subject.kind === 'grant'
      ? rules.grantPromptMs
      : (rules.parkMs ?? (sensitivity === 'high' ? HIGH_PROMPT_MS : rules.mediumPromptMs));
  const approved = subject.tool === null ? undefined : state.rows.approvals.get(subject.tool);
  const declared = state.scopes.get(subject.scope!)!;
  const open: Omit<Prompt, 'shown' | 'rev'> = {
    ...subject,
    user: state.user,
    agent: state.agent,
    scope: subject.scope!,
    sensitivity,
    manifest: subject.manifest!,
    raised: [
      ...new Set(raises.filter((raise) => raised(declared, [raise]) !== declared).map(({ why }) => why)),
    ],
    asked: state.user,
    escalation: null,
    choices: choicesOf(subject, sensitivity),
    devices: event.devices ?? null,
    previous: approved === undefined ? null : previousOf(approved),
    opened_at: at,
    expires_at: limit === null ? null : at + limit,
  };
  const prompt: Prompt = { ...open, shown: shownDigest(open), rev: 1 };
  return done([insert('prompts', prompt)], [], prompt);
}

function previousOf({ tool: _, rev: __, ...previous }: Approved): Previous {
  return previous;
}

/** `high` has no choice that outlives the call, and without a device and a session `medium` has none either. */
function choicesOf({ kind, device, session }: Subject, sensitivity: Sensitivity): Choice[] {
  if (kind === 'grant') return ['grant', 'deny-once', 'never'];
  const lasting = sensitivity !== 'high' && device !== null && session !== null;
  return lasting
    ? ['allow-once', 'allow-session', 'deny-once', 'never']
    : ['allow-once', 'deny-once', 'never'];
}
