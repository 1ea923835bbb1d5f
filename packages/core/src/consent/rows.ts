import type { Commitment } from '../canon/index.ts';
import type { ChannelKind } from './channel.ts';
import type { Raise, Sensitivity } from './sensitivity.ts';

// What the engine remembers of one person and one agent, row by row, as a database holds it: plain values, snake_case
// columns. `rev` counts the writes of a row, so that a writer can say which one it saw. Times are Unix milliseconds.

/** A tool as the engine needs it. */
export interface Tool {
  readonly name: string;
  readonly permission_scope: string;
  /** Of its scope, or higher; nothing lower counts. */
  readonly sensitivity: Sensitivity;
  /** Of the whole definition. */
  readonly digest: string;
  readonly timeout_ms: number;
  /** The tool of a server that it is; null for one that is called without a server. */
  readonly bound: Bound | null;
}

/** A tool by what its server calls it. */
export interface Bound {
  readonly server: string;
  readonly tool: string;
}

export interface DeclaredTool extends Tool {
  /** The revision of the declaration since which it is defined and bound exactly so. */
  readonly since: number;
}

export interface DeclaredScope {
  readonly id: string;
  readonly sensitivity: Sensitivity;
}

/**
 * What an agent declares at a version of its manifest, and which tools of servers that is. The one row that all people of
 * the agent share. `rev` also counts changes of the bindings alone.
 */
export interface Declared {
  readonly agent: string;
  readonly version: number;
  readonly hash: string;
  /** The digest of the bindings of its tools. */
  readonly bindings: string;
  /** The last revision that broke with the one before it: grants from before it rest until they are reviewed. */
  readonly breaking: number;
  readonly scopes: readonly DeclaredScope[];
  readonly tools: readonly DeclaredTool[];
  readonly rev: number;
}

/** That the person was told what the agent can do. */
export interface Disclosed {
  readonly digest: string;
  readonly manifest: string;
  readonly bindings: string;
  readonly locale: string;
  readonly who: string;
  readonly channel: ChannelKind;
  readonly at: number;
  readonly rev: number;
}

/** `refused` is Never: only the person takes it back, and an agent is not asked about. */
export const GRANT_STATUSES = ['granted', 'revoked', 'refused'] as const;
export type GrantStatus = (typeof GRANT_STATUSES)[number];

/** What the person said of a scope, last. A scope without a row was never granted. */
export interface Grant {
  readonly id: string;
  readonly scope: string;
  readonly status: GrantStatus;
  /** As it was declared when it was granted; another one needs another grant. */
  readonly sensitivity: Sensitivity;
  /** The revision of the declaration that the person had before them. */
  readonly declared: number;
  /** The digest of the disclosure; null where there is nothing granted. */
  readonly disclosure: string | null;
  readonly who: string;
  readonly channel: ChannelKind;
  readonly at: number;
  readonly rev: number;
}

/**
 * That `medium` calls of a scope are not asked for a while, on one device in one session, of the tools of one server
 * under one lock. What the lock pins of the other tools is not known here, so that any other lock ends it.
 */
export interface Silence {
  readonly scope: string;
  readonly device: string;
  readonly session: string;
  readonly server: string | null;
  /** The digest of the lock that it began under; null without a lock. */
  readonly lock: string | null;
  /** The tool that the person was asked about, and the digest of it that they were shown. */
  readonly tool: string;
  readonly locked: string | null;
  readonly grant: string;
  /** The decision whose answer began it, and what that answer was shown. */
  readonly decision: string;
  readonly shown: string;
  /** The revision of the declaration when it began: a tool that came or changed since is not covered. */
  readonly declared: number;
  /** When it was last used, and until when it holds. */
  readonly used_at: number;
  readonly until: number;
  readonly rev: number;
}

export const CHOICES = ['allow-once', 'allow-session', 'grant', 'deny-once', 'never'] as const;
export type Choice = (typeof CHOICES)[number];

/** The last time that a person allowed a tool, with which the next question is compared. */
export interface Approved {
  readonly tool: string;
  readonly decision: string;
  readonly server: string | null;
  readonly declared: string;
  readonly locked: string | null;
  readonly args: Commitment;
  readonly at: number;
  readonly rev: number;
}

export type Previous = Omit<Approved, 'tool' | 'rev'>;

/** What a question, or a decision, is about. The fields of a tool are null for a grant. */
export interface Subject {
  readonly id: string;
  /** What the agent calls the call; null where it gave no name, and for a grant. Never shown to a person. */
  readonly call_id: string | null;
  readonly kind: 'call' | 'grant';
  readonly user: string | null;
  readonly agent: string | null;
  readonly scope: string | null;
  readonly sensitivity: Sensitivity | null;
  /** The tool, as the manifest calls it; null also where the manifest has none for what was called. */
  readonly tool: string | null;
  /** The server that it is called on, and what the server calls it; null for a call without a server. */
  readonly server: string | null;
  readonly server_tool: string | null;
  /** The digest of the tool's definition in the manifest. */
  readonly declared: string | null;
  /** The digest of the tool as the lock pins it, and of that lock; null without a lock. */
  readonly locked: string | null;
  readonly lock: string | null;
  /** The salted commitment to the arguments. */
  readonly args: Commitment | null;
  readonly timeout_ms: number | null;
  /** The hash of the manifest. */
  readonly manifest: string | null;
  readonly grant: string | null;
  readonly device: string | null;
  readonly session: string | null;
  /** Who waits for the answer, such as one process of the gateway. */
  readonly holder: string | null;
}

/** A question that is open. When it is decided, the row goes and a decision of the same id comes. */
export interface Prompt extends Subject {
  readonly user: string;
  readonly agent: string;
  readonly scope: string;
  readonly sensitivity: Sensitivity;
  readonly manifest: string;
  readonly raised: readonly Raise['why'][];
  /** Who must answer: the user, or whom it was escalated to. */
  readonly asked: string;
  readonly escalation: string | null;
  readonly choices: readonly Choice[];
  /** The devices that it was sent to; null leaves it to the channel. */
  readonly devices: readonly string[] | null;
  readonly previous: Previous | null;
  /** The digest of what is shown; an answer names it. */
  readonly shown: string;
  readonly opened_at: number;
  /** The first moment that is too late. */
  readonly expires_at: number | null;
  readonly rev: number;
}

/** Every way to be allowed. There is no other. */
export const ALLOWED_BY = [
  'low-silent',
  'medium-window',
  'medium-allowed-once',
  'medium-session',
  'high-allowed-once',
] as const;
export type AllowedBy = (typeof ALLOWED_BY)[number];

/** The seed's reasons of a denial. */
export const DENIED_REASONS = [
  'user_rejected',
  'user_timeout',
  'tool_not_supported_in_group',
  'permission_revoked',
] as const;
export type DeniedReason = (typeof DENIED_REASONS)[number];

/** Why a scope may not be used. */
const SCOPE_OBSTACLES = [
  'scope_not_granted',
  'scope_revoked',
  'scope_refused',
  'suspended',
  'sensitivity_changed',
  'scope_unknown',
] as const;
export type ScopeObstacle = (typeof SCOPE_OBSTACLES)[number];

/** What lies behind a reason, for people and records; an agent gets the seed's reason alone. */
export const DETAILS = [
  'answered',
  'deadline',
  'withdrawn',
  'restart',
  'not_started',
  'group',
  'conversation_unknown',
  'user_unknown',
  'agent_unknown',
  ...SCOPE_OBSTACLES,
  'tool_unknown',
  'tool_changed',
  'manifest_changed',
  'too_many_prompts',
  'executed',
] as const;
export type Detail = (typeof DETAILS)[number];

/** Those that say that the agent does not declare it, or no longer so. */
export const UNDECLARED: ReadonlySet<Detail> = new Set([
  'scope_unknown',
  'tool_unknown',
  'tool_changed',
  'manifest_changed',
]);

/** `allowed` may be started once; `running` was; the others are the end. A grant ends at once. */
export const STAGES = ['allowed', 'running', 'ok', 'denied', 'error'] as const;
export type Stage = (typeof STAGES)[number];

/** How a person answered. */
export interface Answered {
  readonly who: string;
  readonly choice: Choice;
  readonly channel: ChannelKind;
  readonly device: string | null;
  readonly session: string | null;
  readonly at: number;
  /** Why it was escalated to them; null if it was not. */
  readonly escalation: string | null;
}

/** What became of a call or a request, for ever. */
export interface Decision extends Subject {
  readonly stage: Stage;
  /** How it was allowed; null if it was not, and for a grant. */
  readonly by: AllowedBy | null;
  /** Of `denied` one of the seed's; of `error` a code such as `timeout`. */
  readonly reason: string | null;
  readonly detail: Detail | null;
  readonly answer: Answered | null;
  /** The digest of what a person saw: of the question, or where none was asked of what the standing answer rests on. */
  readonly shown: string | null;
  /** The decision whose answer began the silence. */
  readonly rests_on: string | null;
  readonly decided_at: number;
  /** The first moment at which an allowed call can no longer start. */
  readonly start_before: number | null;
  /** Of the one envelope that it was started for. */
  readonly exec_hash: string | null;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly rev: number;
}

export interface Tables {
  readonly manifests: Declared;
  readonly disclosures: Disclosed;
  readonly grants: Grant;
  readonly silences: Silence;
  readonly prompts: Prompt;
  readonly decisions: Decision;
  readonly approvals: Approved;
}
export type Table = keyof Tables;

/** All rows of one person and one agent, plain enough for JSON. */
export type Rows = { readonly user: string; readonly agent: string } & {
  readonly [T in Table]: readonly Tables[T][];
};

/**
 * One row that is written: `row` replaces what is there, null deletes it. `rev` is what the engine saw there, null if
 * nothing. All changes of a step are written in one transaction, and only where each `rev` still holds.
 */
export type Change = {
  [T in Table]: {
    readonly table: T;
    readonly key: string;
    readonly rev: number | null;
    readonly row: Tables[T] | null;
  };
}[Table];
