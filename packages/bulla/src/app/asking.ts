import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Decision, Prompt, Rules } from '@bulla/core/consent';
import { type Consent, createConsent } from '../consent/index.ts';
import { holderName, isHolderGone } from '../os/index.ts';
import type { Recorder } from '../record/index.ts';
import type { Store } from '../store/index.ts';

// Consent in a process that serves agents for a long time: it ends what is overdue, what a process held that is gone,
// and, with itself, what it held.

export interface AskingOptions {
  readonly chain: string;
  readonly record: Recorder;
  /** A person is asked. */
  onAsked?(prompt: Prompt): void;
  /** A question of this process was decided, or something ended that nobody waited for. */
  onDecided?(decision: Decision): void;
  /** What was due could not be ended. It is tried again. */
  onError?(error: unknown): void;
  /** How often it is looked for what is due, in milliseconds. Default 5000. */
  readonly sweepMs?: number;
}

export interface Asking extends AsyncDisposable {
  /** Consent under these rules, in the name of this process. */
  under(rules: Partial<Rules>): Consent;
}

/** Resolves when what processes held that are gone has ended. */
export async function openAsking(store: Store, options: AskingOptions): Promise<Asking> {
  const { chain, record, sweepMs = 5000 } = options;
  const holder = holderName(randomUUID());
  const plain = createConsent(store, { chain, record, holder });
  /** The questions on whose answers a call waits here, and which are told of when that ends. */
  const waiting = new Set<string>();
  const told = (decisions: readonly Decision[]) => {
    for (const decision of decisions) if (!waiting.has(decision.id)) options.onDecided?.(decision);
  };
  const endGone = async () => {
    for (const other of await plain.holders()) if (isHolderGone(other)) told(await plain.restart(other));
  };
  let known: { readonly rules: Partial<Rules>; readonly consent: Consent } | null = null;
  const under = (rules: Partial<Rules>): Consent => {
    if (known === null || !isDeepStrictEqual(known.rules, rules))
      known = {
        rules,
        consent: observed(createConsent(store, { chain, record, rules, holder }), waiting, options),
      };
    return known.consent;
  };
  await endGone();
  let sweeping: Promise<void> = Promise.resolve();
  const sweep = async () => {
    try {
      told(await plain.sweep());
      await endGone();
    } catch (error) {
      options.onError?.(error);
    }
  };
  const timer = setInterval(() => {
    sweeping = sweeping.then(sweep);
  }, sweepMs).unref();
  return {
    under,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await sweeping;
      told(await plain.restart(holder));
    },
  };
}

/** The same, and tells of each question that a call is asked about, and of what became of it. */
function observed(consent: Consent, waiting: Set<string>, { onAsked, onDecided }: AskingOptions): Consent {
  return {
    ...consent,
    async rule(call, options) {
      const ruling = await consent.rule(call, options);
      if (!('ask' in ruling)) return ruling;
      const { id } = ruling.prompt;
      waiting.add(id);
      if (options?.prompt === undefined) onAsked?.(ruling.prompt);
      ruling.ask
        .then(({ decision }) => decision && onDecided?.(decision))
        .catch(() => undefined) // whoever waits for it tells why
        .then(() => waiting.delete(id));
      return ruling;
    },
  };
}
