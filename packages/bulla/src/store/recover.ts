import { randomUUID } from 'node:crypto';
import { createCapsule } from '@bulla/core/capsule';
import { toHex } from '@bulla/core/crypto';
import { environmentOf } from '@bulla/core/evidence';
import type { Checkpoint } from '@bulla/core/log';
import type { Draft } from './appender.ts';
import type { Tip } from './driver.ts';

/**
 * The name under which a chain goes on that does not continue its checkpoints. A log must never sign two that
 * contradict each other, and witnesses would refuse them; so what comes now belongs to another log.
 */
export function nextOrigin(origin: string): string {
  const match = /^(.*)~([1-9][0-9]*)$/.exec(origin);
  return match === null ? `${origin}~2` : `${match[1]}~${Number(match[2]) + 1}`;
}

/** The record that says that a chain goes on although records are missing or were replaced, and why. */
export function recoveryDraft(
  tip: Tip & { readonly origin: string },
  known: Checkpoint,
  reason: string,
  specVersion: boolean,
): Draft {
  const origin = nextOrigin(tip.origin);
  const recovered = { origin: tip.origin, size: known.size, root: toHex(known.root), length: tip.length };
  const content = createCapsule(
    {
      type: 'system',
      domain: 'system',
      trigger: { type: 'system', source: 'bulla', request: 'chain recover' },
      context: { agent_id: 'bulla', environment: environmentOf({ origin, recovered }) },
      outcome: { status: 'success', summary: reason },
    },
    { id: randomUUID(), now: new Date(), specVersion },
  );
  return {
    at: ({ length, hash }) => ({ ...content, sequence: length, previous_hash: hash }),
    origin,
  };
}
