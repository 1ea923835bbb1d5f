import { visible } from '../text/index.ts';
import { isChannelKind, satisfies } from './channel.ts';
import { isRow } from './check-row.ts';
import { ended, granted, lapsed, NO_BASIS } from './decision.ts';
import { type Disclosure, disclosureDigest, namesEverything } from './disclose.ts';
import {
  type DiscloseEvent,
  done,
  type EndSessionEvent,
  type GrantEvent,
  isMoment,
  isText,
  type ManifestEvent,
  NO_MOMENT,
  type RevokeEvent,
  refused,
  type Step,
} from './event.ts';
import type { Change, Decision, GrantStatus, Tool } from './rows.ts';
import { channelRule, type Rules } from './rules.ts';
import { manifestOf, scopeObstacle, takenBack } from './standing.ts';
import { applyChanges, type ConsentState, put, remove } from './state.ts';
import { sweep } from './sweep.ts';

// What stands between calls: what an agent declares, what the person was told, gave and took back.

export function declare(state: ConsentState, event: ManifestEvent): Step {
  if (!isMoment(event.at)) return refused(...NO_MOMENT);
  const before = manifestOf(state);
  const { agent, version, hash, scopes, tools } = event.manifest;
  if (agent !== state.agent) return refused('CONSENT_STATE', 'The rows are those of another agent.');
  if (!Number.isSafeInteger(version) || version <= (before?.version ?? 0))
    return refused('CONSENT_MANIFEST', 'The version of a manifest only grows.');
  const breaking = event.breaking ? version : (before?.breaking ?? 0);
  const dated = tools.map((tool) => ({ ...tool, since: since(state, tool) ?? version }));
  const row = { agent, version, hash, breaking, scopes: [...scopes], tools: dated };
  const change = put(state, 'manifests', row);
  if (!isRow('manifests', change.row))
    return refused('CONSENT_MANIFEST', 'A tool or a scope of the manifest is not a valid one.');
  const after = sweep(applyChanges(state, [change]), { type: 'sweep', at: event.at });
  return { ...after, changes: [change, ...after.changes] };
}

/** The version since which a tool is defined as it is now; undefined if that is new. */
function since({ tools }: ConsentState, { name, digest, permission_scope }: Tool): number | undefined {
  const before = tools.get(name);
  const same = before?.digest === digest && before.permission_scope === permission_scope;
  return same ? before.since : undefined;
}

export function disclosed(state: ConsentState, event: DiscloseEvent): Step {
  const { at, disclosure, who, channel } = event;
  if (!isMoment(at)) return refused(...NO_MOMENT);
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
  return row !== undefined && row.manifest === manifestOf(state)?.hash;
}

export function grant(state: ConsentState, event: GrantEvent, rules: Rules): Step {
  const { at, grants, channel } = event;
  if (!isMoment(at)) return refused(...NO_MOMENT);
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
    if (scopeObstacle(state, scope) === null) continue;
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
      if (prompt.kind !== 'grant' || prompt.scope !== scope) continue;
      const decision = granted({ ...prompt, grant: id }, NO_BASIS, at);
      decisions.push(decision);
      changes.push(remove('prompts', prompt), put(state, 'decisions', decision));
    }
  }
  return done(changes, decisions);
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
  const { version } = manifestOf(state)!;
  const sensitivity = state.scopes.get(scope)!;
  const old = [...state.rows.silences.values()].filter((silence) => silence.scope === scope);
  const row = {
    id,
    scope,
    status: 'granted' as const,
    sensitivity,
    version,
    disclosure,
    who,
    channel: kind,
    at,
  };
  return [put(state, 'grants', row), ...old.map((silence) => remove('silences', silence))];
}

export function revoke(state: ConsentState, event: RevokeEvent, rules: Rules): Step {
  if (!isMoment(event.at)) return refused(...NO_MOMENT);
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
    const version = manifestOf(state)?.version ?? 0;
    const row = { id, scope, status, sensitivity, version, disclosure: null, who, channel: channel.kind, at };
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

export function endSession(state: ConsentState, { at, device, session }: EndSessionEvent): Step {
  if (!isMoment(at)) return refused(...NO_MOMENT);
  const over = [...state.rows.silences.values()].filter(
    (silence) => silence.device === device && silence.session === session,
  );
  return done(over.map((silence) => remove('silences', silence)));
}
