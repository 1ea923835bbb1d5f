import { type Commitment, canonicalize, exactText, opens } from '../canon/index.ts';
import { sha256Hex } from '../crypto/index.ts';
import { BullaError } from '../error.ts';
import { type DiffPart, inspectText, type TextFinding, visible, wordDiff } from '../text/index.ts';
import type { Choice, Previous, Prompt } from './rows.ts';
import type { Raise, Sensitivity } from './sensitivity.ts';
import { ENGLISH, type NamedScope, type NamedTool, scopeText, toolText, type Words } from './words.ts';

// What a person sees when asked about a call. Its digest covers everything that is shown: the arguments through their
// salted commitment and not through their text, because no unsalted digest of arguments may exist.

/** Whom a question asks and where, who waits, its grant and the agent's name for the call are not shown. */
const NOT_SHOWN = ['shown', 'rev', 'asked', 'devices', 'holder', 'call_id', 'grant'] as const;

/** The digest of what a prompt shows. */
export function shownDigest(prompt: Omit<Prompt, (typeof NOT_SHOWN)[number]>): string {
  const hidden: readonly string[] = NOT_SHOWN;
  const claims = Object.entries(prompt).filter(([name]) => !hidden.includes(name));
  return sha256Hex(`bulla:shown:v1\u0000${canonicalize({ v: 1, ...Object.fromEntries(claims) }, 'jcs')}`);
}

/** Arguments, and the salt of the commitment to them. */
export interface Opening {
  readonly args: unknown;
  readonly salt: Uint8Array;
}

export interface Showing {
  readonly prompt: string;
  /** To be named by the answer. */
  readonly digest: string;
  readonly user: string;
  readonly agent: string;
  readonly tool: string;
  /** The server that it is called on, and what the server calls it; null without a server. */
  readonly server: string | null;
  readonly server_tool: string | null;
  /** The digests of the tool, as the manifest declares it and as the lock pins it. */
  readonly declared: string;
  readonly locked: string | null;
  /** What the tool does, in the words that were asked for; null where the manifest does not say. */
  readonly description: string | null;
  readonly scope: string;
  readonly scope_label: string;
  readonly sensitivity: Sensitivity;
  /** Why it is higher than the scope's, if it is. */
  readonly raised: readonly Raise['why'][];
  readonly escalation: string | null;
  /** The canonical arguments with every hidden character made visible. */
  readonly arguments: string;
  /** Where the arguments hold what a person would not see. */
  readonly hidden: readonly TextFinding[];
  readonly args: Commitment;
  /** The last time that this tool was allowed; null if it never was. */
  readonly previous: Previous | null;
  /** What changed in the arguments since; null where nothing did, there is no last time, or it was erased. */
  readonly changed: readonly DiffPart[] | null;
  /** What is another one since: the server, the definition in the manifest, or the one that the lock pins. */
  readonly redefined: readonly ('server' | 'declared' | 'locked')[];
  readonly choices: readonly Choice[];
  /** What `allow-session` would let run as well. */
  readonly session_covers: readonly { readonly name: string; readonly description: string | null }[];
  readonly opened_at: number;
  readonly expires_at: number | null;
}

export interface ShowOptions {
  /** The arguments of the last approval, where they were kept. */
  readonly previous?: Opening;
  /** The tools of the scope, which `covered(state, scope)` names. */
  readonly covers?: readonly NamedTool[];
  /** Default: English. The digest covers the manifest and the tool with their keys, not the translation of these. */
  readonly words?: Words;
  /** How the manifest of the prompt calls them. */
  readonly tool?: NamedTool | undefined;
  readonly scope?: NamedScope | undefined;
}

/**
 * What to show for a prompt about a call. Throws `CONSENT_SHOWING` when the prompt is about a grant, or when the
 * arguments, or those of the last approval, are not the ones that were committed to: what was shown is what runs.
 * Throws as `opens` does for arguments that have no canonical form.
 */
export function showing(prompt: Prompt, call: Opening, options: ShowOptions = {}): Showing {
  const { previous, covers = [], words = ENGLISH } = options;
  const { tool, server, server_tool, declared, locked, args } = prompt;
  if (tool === null || declared === null || args === null)
    throw new BullaError('CONSENT_SHOWING', 'The question is not about a call.');
  if (!opens(args, 'args', call.args, call.salt))
    throw new BullaError('CONSENT_SHOWING', 'These are not the arguments that were committed to.');
  if (previous !== undefined && !isOpening(prompt.previous, previous))
    throw new BullaError('CONSENT_SHOWING', 'These are not the arguments of the last approval.');
  const text = canonicalText(args, call);
  const last = prompt.previous;
  return {
    prompt: prompt.id,
    digest: prompt.shown,
    user: prompt.user,
    agent: prompt.agent,
    tool: visible(tool),
    server: server && visible(server),
    server_tool: server_tool && visible(server_tool),
    declared,
    locked,
    description: toolText(options.tool ?? { name: tool }, words),
    scope: visible(prompt.scope),
    scope_label: scopeText(options.scope ?? { id: prompt.scope }, words),
    sensitivity: prompt.sensitivity,
    raised: prompt.raised,
    escalation: prompt.escalation,
    arguments: visible(text),
    hidden: inspectText(text),
    args,
    previous: last,
    changed: changesSince(previous === undefined ? null : canonicalText(last!.args, previous), text),
    redefined: last === null ? [] : TOOL.filter((field) => last[field] !== prompt[field]),
    choices: prompt.choices,
    session_covers: prompt.choices.includes('allow-session')
      ? covers.map((each) => ({ name: visible(each.name), description: toolText(each, words) }))
      : [],
    opened_at: prompt.opened_at,
    expires_at: prompt.expires_at,
  };
}

function changesSince(before: string | null, now: string): readonly DiffPart[] | null {
  return before === null || before === now ? null : wordDiff(visible(before), visible(now));
}

const TOOL = ['server', 'declared', 'locked'] as const;

/** The arguments in the form that was committed to. */
function canonicalText({ of }: Commitment, { args }: Opening): string {
  return of === 'jcs' ? canonicalize(args, 'jcs') : exactText(args);
}

function isOpening(approved: Previous | null, { args, salt }: Opening): boolean {
  return approved !== null && opens(approved.args, 'args', args, salt);
}
