import type { ChannelRule } from './channel.ts';
import type { Sensitivity } from './sensitivity.ts';

/** How long a `high` question waits, by the seed. Only `parkMs` makes it longer. */
export const HIGH_PROMPT_MS = 30_000;
/** How long `medium` is silent after its last use, by the seed. */
export const SILENCE_MS = 86_400_000;

/** What the operator decides. */
export interface Rules {
  /** Over what `high` may be answered. */
  readonly highChannels: ChannelRule;
  /** How long an allowed call may wait until it is started. */
  readonly startWithinMs: number;
  /** How long a `medium` prompt waits; the seed sets no limit, so null is the default. */
  readonly mediumPromptMs: number | null;
  /** How long a person may think about a grant that an agent asks for. */
  readonly grantPromptMs: number | null;
  /**
   * How long a question about a call waits, whatever its level, when it may outlive the call; an answer waits as long for
   * the call to come again. A deviation from the seed that the operator chooses. Null: it ends with the call.
   */
  readonly parkMs: number | null;
  /** How many prompts of one agent may wait for one person, so that nobody is worn down. */
  readonly maxOpenPrompts: number;
  /** Whom a prompt may be escalated to; they may revoke, too. */
  readonly approvers: readonly string[];
}

export const DEFAULT_RULES: Rules = Object.freeze({
  highChannels: 'authenticated',
  startWithinMs: 300_000,
  mediumPromptMs: null,
  grantPromptMs: null,
  parkMs: null,
  maxOpenPrompts: 16,
  approvers: Object.freeze([]),
});

/** Over what a question of this level may be answered. */
export function channelRule(sensitivity: Sensitivity, rules: Rules): ChannelRule {
  return sensitivity === 'high' ? rules.highChannels : 'any';
}
