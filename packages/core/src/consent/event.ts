import type { Commitment } from '../canon/index.ts';
import type { Code } from '../codes.ts';
import type { Channel } from './channel.ts';
import type { Disclosure } from './disclose.ts';
import type { Identity } from './identity.ts';
import {
  type Bound,
  type Change,
  type Choice,
  type Decision,
  type Declared,
  type Detail,
  type Prompt,
  type Tool,
  UNDECLARED,
} from './rows.ts';
import type { Raise } from './sensitivity.ts';

// What can happen, and what comes of it. Ids are drawn by our side from randomness: an id that an agent chose could be
// one that a person is about to allow.

interface Happening<Type extends string> {
  readonly type: Type;
  /** Unix time in milliseconds. */
  readonly at: number;
}

/** An agent wants to call a tool. */
export interface CallEvent extends Happening<'call'> {
  readonly id: string;
  /** What the agent calls the call, to know the answer by. It decides nothing, and may come twice. */
  readonly call_id?: string | null;
  readonly identity: Identity;
  /** The server, and what it calls the tool; without a server, what the manifest calls it. */
  readonly server: string | null;
  readonly tool: string;
  /** The digest of the definition that would run, where the caller knows it; it must be the declared one. */
  readonly declared?: string | null;
  /** The digest of the tool as the lock pins it, and of that lock; both null without a lock. */
  readonly locked: string | null;
  readonly lock: string | null;
  /** `commit('args', arguments, salt)`. */
  readonly args: Commitment;
  readonly raises?: readonly Raise[];
  /** The devices that a question is sent to, if only they may answer. */
  readonly devices?: readonly string[] | null;
  readonly holder?: string | null;
}

/** An agent asks for a scope. A grant takes the id of the request. */
export interface RequestEvent extends Happening<'request'> {
  readonly id: string;
  readonly identity: Identity;
  readonly scope: string;
  readonly devices?: readonly string[] | null;
  readonly holder?: string | null;
}

/** Somebody answers a prompt. */
export interface AnswerEvent extends Happening<'answer'> {
  readonly prompt: string;
  /** The digest of what they saw. */
  readonly shown: string;
  readonly choice: Choice;
  readonly who: string;
  readonly channel: Channel;
  /** With `grant`: the digest of the disclosure that they saw. */
  readonly disclosure?: string | null;
}

/** Somebody else is asked, whom the operator named. */
export interface EscalateEvent extends Happening<'escalate'> {
  readonly prompt: string;
  readonly to: string;
  readonly why: string;
}

/** An allowed call begins: exactly this one, now, and never again. */
export interface StartEvent extends Happening<'start'> {
  readonly id: string;
  readonly declared: string;
  readonly locked: string | null;
  readonly args: Commitment;
  /** Of the envelope that carries it; null without one. */
  readonly exec_hash?: string | null;
}

/** A call that was started ended. */
export interface FinishEvent extends Happening<'finish'> {
  readonly id: string;
  readonly status: 'ok' | 'error';
  /** Of an error: a code in small letters, digits and underscores. */
  readonly reason?: string | null;
}

/** The caller no longer waits for a call or a request that has not begun. */
export interface WithdrawEvent extends Happening<'withdraw'> {
  readonly id: string;
}

/** The person was shown what an agent can do. */
export interface DiscloseEvent extends Happening<'disclose'> {
  readonly disclosure: Disclosure;
  readonly who: string;
  readonly channel: Channel;
}

/** The person grants scopes: when adding an agent, later, or after reviewing a change. */
export interface GrantEvent extends Happening<'grant'> {
  readonly grants: readonly { readonly scope: string; readonly id: string }[];
  readonly disclosure: string;
  readonly who: string;
  readonly channel: Channel;
}

/** The person, or an approver, takes scopes back. */
export interface RevokeEvent extends Happening<'revoke'> {
  readonly scopes: readonly string[] | 'all';
  readonly who: string;
  readonly channel: Channel;
}

/** The agent has a new manifest; the diff engine says whether it breaks with the one before. */
export interface ManifestEvent extends Happening<'manifest'> {
  readonly manifest: Omit<Declared, 'breaking' | 'tools' | 'rev'> & { readonly tools: readonly Tool[] };
  readonly breaking: boolean;
}

/** The operator says anew which tools of servers the declared ones are. */
export interface BindEvent extends Happening<'bind'> {
  /** By the name of the declared tool; the others are bound to nothing. */
  readonly bound: ReadonlyMap<string, Bound>;
  /** The digest of all of them. */
  readonly bindings: string;
}

/** A session is over. */
export interface EndSessionEvent extends Happening<'end-session'> {
  readonly device: string;
  readonly session: string;
}

/** Time went on: what is overdue, or can no longer be answered, ends. */
export interface SweepEvent extends Happening<'sweep'> {}

/** A process is gone. What it held ends; without a holder everything that is open does. */
export interface RestartEvent extends Happening<'restart'> {
  readonly holder?: string | null;
}

export type ConsentEvent =
  | CallEvent
  | RequestEvent
  | AnswerEvent
  | EscalateEvent
  | StartEvent
  | FinishEvent
  | WithdrawEvent
  | DiscloseEvent
  | GrantEvent
  | RevokeEvent
  | ManifestEvent
  | BindEvent
  | EndSessionEvent
  | SweepEvent
  | RestartEvent;

/** Why an event was not accepted. Nothing changed. */
export interface Refusal {
  readonly code: Code;
  readonly message: string;
}

/** What comes of an event. */
export interface Step {
  readonly changes: readonly Change[];
  /** The decisions that were made or went on. */
  readonly decisions: readonly Decision[];
  /** The question that is open now because of the event. */
  readonly prompt: Prompt | null;
  readonly refusal: Refusal | null;
  /** Calls that run under what was just taken back. The engine cannot stop them; whoever runs them may. */
  readonly running: readonly string[];
}

const NONE: readonly never[] = Object.freeze([]);

export function refused(code: Code, message: string): Step {
  return { changes: NONE, decisions: NONE, prompt: null, refusal: { code, message }, running: NONE };
}

export function done(
  changes: readonly Change[],
  decisions: readonly Decision[] = NONE,
  prompt: Prompt | null = null,
  running: readonly string[] = NONE,
): Step {
  return { changes, decisions, prompt, refusal: null, running };
}

/** The last millisecond of the year 9999, beyond which capsules cannot write a moment. */
const LAST_MOMENT = 253_402_300_799_999;

/** Whether this is a moment. Without one nothing is decided. */
export function isMoment(at: number): boolean {
  return Number.isSafeInteger(at) && at >= 0 && at <= LAST_MOMENT;
}

export const NO_MOMENT: readonly [Code, string] = [
  'CONSENT_TIME',
  'The time is not known, or lies before what it follows.',
];

const MAX_TEXT = 4096;

/** Whether this can stand in a row and be hashed. */
export function isText(text: unknown): text is string {
  return typeof text === 'string' && text !== '' && text.length <= MAX_TEXT && text.isWellFormed();
}

/** What stands in the way, as the code of an answer or a start that came for nothing. */
export function refusedFor(detail: Detail): Step {
  return UNDECLARED.has(detail)
    ? refused('CONSENT_CHANGED', 'The agent no longer declares what was shown.')
    : refused('CONSENT_NOT_GRANTED', 'The scope is not granted, or no longer.');
}
