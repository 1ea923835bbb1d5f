import { visible } from '../text/index.ts';
import { isChannelKind, satisfies } from './channel.ts';
import { ended, granted, lapsed, NO_BASIS } from './decision.ts';
import { type Disclosure, disclosureDigest, namesEverything } from './disclose.ts';
import {
  type DiscloseEvent,
  done,
  type EndSessionEvent,
  type GrantEvent,
  isText,
  type RevokeEvent,
  refused,
  type Step,
} from './event.ts';
import type { Change, Decision, DeclaredTool, GrantStatus } from './rows.ts';
import { channelRule, type Rules } from './rules.ts';
import { isNew, manifestOf, scopeObstacle, takenBack } from './standing.ts';
import { type ConsentState, put, remove } from './state.ts';

// What stands between calls: what the person was told, gave and took back.

export function disclosed(state: ConsentState, event: DiscloseEvent): Step {
  const { at, disclosure, who, channel } = event;
  if (who !== state.user) return refused('CONSENT_PERSON', 'What an agent can do is shown to its user.');
  if (!isChannelKind(channel.kind)) return refused('CONSENT_CHANNEL', 'There is no such channel.');
  const manifest = manifestOf(state);
  const digest = tellable(disclosure);
  if (
    !isText(disclosure.locale) ||
    manifest === undefined ||
    digest === null ||
    !namesEverything(disclosure, manifest)
  )
    return refused('CONSENT_DISCLOSURE', 'This does not tell what the agent declares now.');
  const row = {
    digest,
    manifest: manifest.hash,
    bindings: manifest.bindings,
    locale: disclosure.locale,
    who,
    channel: channel.kind,
    at,
  };
  return done([put(state, 'disclosures', row)]);
}

/** The digest of what can be told; null where a text in it is not Unicode. */
function tellable(disclosure: Disclosure): string | null {
  try {
    return disclosureDigest(disclosure);
  } catch {
    return null;
  }
}

/** Whether the person was shown, under this digest, what the agent declares now. */
export function discloses(state: ConsentState, digest: string | null): boolean {
  const row = digest === null ? undefined : state.rows.disclosures.get(digest);
  const manifest = manifestOf(state);
  return row !== undefined && row.manifest === manifest?.hash && row.bindings === manifest.bindings;
}

export function grant(state: ConsentState, event: GrantEvent, rules: Rules): Step {
  const { at, grants, channel } = event;
  if (event.who !== state.user) return refused('CONSENT_PERSON', 'Only the user grants.');
  if (!discloses(state, event.disclosure))
    return refused('CONSENT_DISCLOSURE', 'Before a grant the person is shown what the agent can do now.');
  if (new Set(grants.map(({ scope }) => scope)).size < grants.length)
    return refused('CONSENT_SCOPE', 'A scope stands here twice.');
  const changes: Change[] = [];
  const decisions: Decision[] = [];
  for (const { scope, id } of grants) {
    const sensitivity = state.scopes.get(scope);
    if (sensitivity === undefined)
      return refused('CONSENT_SCOPE', `The agent declares no scope ${name(scope)}.`);
    if (!isText(id)) return refused('CONSENT_ID', 'A grant needs an id.');
    if (isGranted(state, scope)) continue;
    if (state.rows.grants.get(scope)?.id === id) return refused('CONSENT_ID', 'A new grant has a new id.');
    // What a person took back, the host cannot give again.
    const rule = takenBack(state, scope) ? 'out-of-band' : 'any';
    if (!satisfies(channel.kind, rule) || !satisfies(channel.kind, channelRule(sensitivity, rules)))
      return refused(
        'CONSENT_CHANNEL',
        `The scope ${name(scope)} may not be granted over this channel, so that nothing was granted.`,
      );
    for (const change of give(state, scope, id, event.disclosure, event)) changes.push(change);
    for (const prompt of state.rows.prompts.values()) {
      const isRequest = prompt.kind === 'grant';
      // A question about a call rests on the grant before, and ends with it; a sweep finds it where that did not hold.
      if (prompt.scope !== scope || (!isRequest && scopeObstacle(state, scope) !== null)) continue;
      const decision = isRequest
        ? granted({ ...prompt, grant: id }, NO_BASIS, at)
        : ended(prompt, 'scope_revoked', at);
      decisions.push(decision);
      changes.push(remove('prompts', prompt), put(state, 'decisions', decision));
    }
  }
  return done(changes, decisions);
}

/** Whether a grant would add nothing. One of a `low` scope adds the tools that the last one did not show. */
function isGranted(state: ConsentState, scope: string): boolean {
  if (scopeObstacle(state, scope) !== null) return false;
  const before = state.rows.grants.get(scope)!;
  const added = (tool: DeclaredTool) => tool.permission_scope === scope && isNew(tool, before);
  return before.sensitivity !== 'low' || ![...state.tools.values()].some(added);
}

/** A scope that somebody else named, no longer than a sentence should have it. */
function name(scope: string): string {
  return visible(scope.length > 200 ? `${scope.slice(0, 200).toWellFormed()}…` : scope);
}

type Said = Pick<GrantEvent, 'at' | 'who' | 'channel'>;

/** Grants a scope; nothing of an earlier grant lives on. */
export function give(
  state: ConsentState,
  scope: string,
  id: string,
  disclosure: string,
  { at, who, channel: { kind } }: Said,
): Change[] {
  const { rev: declared } = manifestOf(state)!;
  const sensitivity = state.scopes.get(scope)!;
  const old = [...state.rows.silences.values()].filter((silence) => silence.scope === scope);
  const row = {
    id,
    scope,
    status: 'granted' as const,
    sensitivity,
    declared,
    disclosure,
    who,
    channel: kind,
    at,
  };
  return [put(state, 'grants', row), ...old.map((silence) => remove('silences', silence))];
}

export function revoke(state: ConsentState, event: RevokeEvent, rules: Rules): Step {
  if (event.who !== state.user && !rules.approvers.includes(event.who))
    return refused('CONSENT_PERSON', 'Only the user or an approver revokes.');
  if (!isChannelKind(event.channel.kind)) return refused('CONSENT_CHANNEL', 'There is no such channel.');
  const scopes = event.scopes === 'all' ? [...state.rows.grants.keys()] : event.scopes;
  const unknown = scopes.find((scope) => !state.rows.grants.has(scope));
  if (unknown !== undefined) return refused('CONSENT_SCOPE', `The scope ${name(unknown)} was never granted.`);
  return takeBack(state, scopes, 'revoked', event);
}

/** Ends at once everything that rests on these scopes: silences, questions, and calls that were not started. */
export function takeBack(
  state: ConsentState,
  scopes: readonly string[],
  status: GrantStatus,
  { at, who, channel }: Said,
): Step {
  const lost = new Set(scopes);
  const changes: Change[] = [];
  const decisions: Decision[] = [];
  const running: string[] = [];
  const detail = status === 'refused' ? 'scope_refused' : 'scope_revoked';
  const close = (decision: Decision) => {
    decisions.push(decision);
    changes.push(put(state, 'decisions', decision));
  };
  for (const scope of lost) {
    const before = state.rows.grants.get(scope);
    // Never stays Never when it is revoked, too; and nobody takes back twice.
    if (before?.status === 'refused' || before?.status === status) continue;
    const sensitivity = before?.sensitivity ?? state.scopes.get(scope)!;
    const id = before?.id ?? `refused:${scope}`;
    const declared = manifestOf(state)?.rev ?? 0;
    const said = { disclosure: null, who, channel: channel.kind, at };
    const row = { id, scope, status, sensitivity, declared, ...said };
    changes.push(put(state, 'grants', row));
  }
  for (const silence of state.rows.silences.values())
    if (lost.has(silence.scope)) changes.push(remove('silences', silence));
  for (const prompt of state.rows.prompts.values()) {
    if (!lost.has(prompt.scope)) continue;
    changes.push(remove('prompts', prompt));
    close(ended(prompt, detail, at));
  }
  for (const decision of state.rows.decisions.values()) {
    if (decision.scope === null || !lost.has(decision.scope)) continue;
    if (decision.stage === 'allowed') close(lapsed(decision, detail, at));
    if (decision.stage === 'running') running.push(decision.id);
  }
  return done(changes, decisions, null, running);
}

export function endSession(state: ConsentState, { device, session }: EndSessionEvent): Step {
  const over = [...state.rows.silences.values()].filter(
    (silence) => silence.device === device && silence.session === session,
  );
  return done(over.map((silence) => remove('silences', silence)));
}
