import type { People, Rules } from '@bulla/core/consent';
import { readOperator } from '../consent/index.ts';
import type { LoadedConfig } from './config/config.ts';

/** What the operator decides about consent. */
export interface Decided {
  readonly rules: Partial<Rules>;
  /** Which principals are one person. */
  readonly people: People;
}

/**
 * What `consent.json` in the data directory says, and, member by member in its place, the `consent` of a configuration.
 * Throws as `readOperator`.
 */
export function operatorOf(home: string, consent: LoadedConfig['consent']): Decided {
  const { rules, people } = readOperator(home);
  const { park, highChannels, startWithin, mediumPrompt, grantPrompt, maxOpenPrompts, approvers } =
    consent ?? {};
  return {
    people,
    rules: {
      ...rules,
      ...(park !== undefined && { parkMs: park }),
      ...(highChannels !== undefined && { highChannels }),
      ...(startWithin !== undefined && { startWithinMs: startWithin }),
      ...(mediumPrompt !== undefined && { mediumPromptMs: mediumPrompt }),
      ...(grantPrompt !== undefined && { grantPromptMs: grantPrompt }),
      ...(maxOpenPrompts !== undefined && { maxOpenPrompts }),
      ...(approvers !== undefined && { approvers }),
    },
  };
}
