import { randomUUID } from 'node:crypto';
import type { SealedCapsule } from '@bulla/core/capsule';
import type { Code } from '@bulla/core/codes';
import {
  type Change,
  type ConsentEvent,
  type ConsentState,
  type Decision,
  decide,
  emptyState,
  type Rules,
  type Step,
  stateOf,
} from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { declaredRow } from '../manifest/index.ts';
import { createQueue, untilSettled } from '../os/index.ts';
import type { Recorder } from '../record/index.ts';
import type { Store, Transaction } from '../store/index.ts';
import { type About, type Draft, endAct, isAct, personsAct, questionAct } from './acts.ts';
import {
  conflict,
  hold,
  type Loaded,
  load,
  type Pair,
  type Reading,
  type Sealed,
  type Texts,
  write,
} from './rows.ts';

// One event of one person and one agent: read the rows, decide, and write what changed together with its records,
// only where nothing has moved since. What moved is read and decided again.

/** What came of an event, with the capsules that were sealed for it. */
export interface Decided extends Step {
  readonly capsules: readonly SealedCapsule[];
}

/** A state, and what is recorded of its questions. */
export interface Read {
  readonly state: ConsentState;
  readonly loaded: Loaded;
}

/** Whether others came between the parts of a step, so that some are left to do. */
type Attempted = Decided & { readonly left: boolean };

/** Limit on the agents whose declarations are kept. */
const KNOWN = 64;

const sweeping = (at: number): ConsentEvent => ({ type: 'sweep', at });

export interface Runner {
  /** The rows of a pair; with them the decision that has this id, also if it ended. */
  read(pair: Pair, id: string | null): Promise<Read>;
  /**
   * Runs an event. Of a call only a question is written: what is decided at once becomes true with the records of the
   * call. Rejects with `CONSENT_STATE` for rows that were altered, and as appending to a chain does.
   */
  run(pair: Pair, event: (at: number) => ConsentEvent, about: About): Promise<Decided>;
  /** Decides about somebody who is not known; there are no rows of theirs. A request is recorded. */
  runForNobody(event: (at: number) => ConsentEvent, about: About, of?: Partial<Pair>): Promise<Decided>;
  /**
   * Decides on the rows as they are in a transaction, and writes what `step` says, which may throw to refuse. A decision
   * that is new among its changes came by this door.
   */
  within(
    transaction: Transaction,
    pair: Pair,
    id: string,
    door: About['door'],
    step: (read: Read, at: number) => readonly Change[],
  ): Promise<void>;
  /** Calls back when this process has decided something about this id, until the returned function is called. */
  onDecided(id: string, listener: () => void): () => void;
}

interface RunnerOptions {
  readonly store: Store;
  readonly record: Recorder;
  /** As `ConsentOptions.now`, within a transaction or by itself. */
  readonly now: (within?: Pick<Store, 'time'>) => Promise<number>;
  readonly rules: Rules;
}

/** One record, and the changes that become true with it. */
interface Part {
  readonly capsuleId: string;
  readonly act: Draft;
  readonly changes: readonly Change[];
  readonly decision: Decision | null;
}

export function createRunner({ store, record, now, rules }: RunnerOptions): Runner {
  const inTurn = createQueue();
  /** What was last read of each agent, whose indexes and checked rows the next state takes over. */
  const known = new Map<string, Pick<Read, 'state'> & { readonly texts: Texts }>();
  const listeners = new Map<string, Set<() => void>>();

  const read = async (reading: Reading, pair: Pair, id: string | null): Promise<Read> => {
    for (;;) {
      const { agent } = pair;
      const before = known.get(agent);
      const loaded = await load(reading, pair, id, before?.texts);
      if (loaded.declared === null) return { loaded, state: stateOf({ ...loaded.rows, manifests: [] }) };
      const last = before?.state.rows.manifests.get(agent);
      const row = last?.rev === loaded.declared ? last : await declaredRow(reading, agent);
      // A manifest that came between the two is seen together with rows that are as new.
      if (row?.rev !== loaded.declared) continue;
      const state = stateOf({ ...loaded.rows, manifests: [row] }, before?.state);
      if (before === undefined && known.size === KNOWN) known.delete(known.keys().next().value!);
      known.set(agent, { state, texts: loaded.texts });
      return { loaded, state };
    }
  };

  const tell = (decisions: readonly Decision[]) => {
    for (const { id } of decisions) for (const listener of listeners.get(id) ?? []) listener();
  };

  const attempt = async (
    pair: Pair,
    make: (at: number) => ConsentEvent,
    about: About,
  ): Promise<Attempted> => {
    const found = await read(store.reading, pair, idOf(make(0)));
    const { loaded, state } = found;
    const event = make(await now());
    const step = decide(state, event, rules);
    if (step.refusal !== null || (event.type === 'call' && step.prompt === null))
      return { ...step, capsules: [], left: false };
    const seen = event.type === 'sweep' || loaded.rev === null ? (loaded.declared ?? 0) : loaded.seen;
    const writing = { pair, declared: loaded.declared, seen };
    const parts = partsOf(event, step, pair, found, about);
    if (parts.length === 0) {
      if (step.changes.length > 0 || (loaded.rev !== null && seen !== loaded.seen))
        await store.transaction(
          write({ ...writing, rev: loaded.rev, changes: step.changes, sealed: sealedAt(loaded, about) }),
        );
      tell(step.decisions);
      return { ...step, capsules: [], left: false };
    }
    const written: boolean[] = [];
    const sealing = parts.map(({ capsuleId, act, changes, decision }, i) => {
      const sealed = sealedAt(loaded, about, { id: decision?.id ?? step.prompt?.id, capsuleId });
      const writePart = write({ ...writing, rev: revAfter(loaded.rev, i), changes, sealed });
      return record.act({
        ...act,
        id: capsuleId,
        async effect(transaction) {
          // The count alone would not tell a write of ours from one of others.
          if (i > 0 && !written[i - 1]) throw conflict('relation');
          written[i] = false;
          await writePart(transaction);
          // Others may have held the rows until a deadline was over; then it is decided anew.
          if (i === 0 && event.type === 'answer') {
            const late = decide(state, make(await now(transaction)), rules);
            if (late.refusal !== null) throw conflict('relation');
          }
          written[i] = true;
        },
      });
    });
    return completed(step, parts, await Promise.allSettled(sealing));
  };

  /** The parts of a step share a transaction, unless it is full; then the rest follows in the next one. */
  const completed = (
    step: Step,
    parts: readonly Part[],
    results: readonly PromiseSettledResult<SealedCapsule>[],
  ): Attempted => {
    const first = results[0]!;
    if (first.status === 'rejected') throw first.reason;
    const done = results.flatMap((result, i) =>
      result.status === 'fulfilled' ? [{ capsule: result.value, decision: parts[i]!.decision }] : [],
    );
    const failed = results.find((result) => result.status === 'rejected');
    const apart = new Set(parts.flatMap(({ decision }) => decision?.id ?? []));
    const recorded = new Set(done.flatMap(({ decision }) => decision?.id ?? []));
    // What has no record of its own became true with the first part.
    const decisions = step.decisions.filter(({ id }) => !apart.has(id) || recorded.has(id));
    tell(decisions);
    if (failed !== undefined && !isConflict(failed.reason)) throw failed.reason;
    return { ...step, decisions, capsules: done.map(({ capsule }) => capsule), left: failed !== undefined };
  };

  return {
    read: (pair, id) => read(store.reading, pair, id),
    async run(pair, event, about) {
      if (pair.user.includes('\0') || pair.agent.includes('\0'))
        return refusal('CONSENT_ID', 'A name must not hold a zero character.');
      const settle = (make: typeof event) =>
        untilSettled('CONSENT_CONFLICT', () => attempt(pair, make, about));
      return inTurn(JSON.stringify([pair.user, pair.agent]), async () => {
        let { left, ...decided } = await settle(event);
        while (left) {
          // What the first part did stands, so that what rested on it can be ended now.
          const rest = await settle(event(0).type === 'restart' ? event : sweeping);
          left = rest.left;
          decided = {
            ...decided,
            decisions: [...decided.decisions, ...rest.decisions],
            capsules: [...decided.capsules, ...rest.capsules],
          };
        }
        return decided;
      });
    },
    async runForNobody(make, about, { user = '', agent = '' } = {}) {
      const event = make(await now());
      const step = decide(emptyState(user, agent), event, rules);
      const capsules: SealedCapsule[] = [];
      if (event.type === 'request')
        for (const decision of step.decisions)
          capsules.push(await record.act(endAct(decision, undefined, undefined, about)));
      return { ...step, capsules };
    },
    async within(transaction, pair, id, door, step) {
      await hold(transaction, pair);
      const found = await read(transaction, pair, id);
      const { loaded } = found;
      const changes = step(found, await now(transaction));
      const seen = loaded.rev === 0 ? (loaded.declared ?? 0) : loaded.seen;
      const { rev, declared } = loaded;
      await write({ pair, rev, declared, seen, changes, sealed: sealedAt(loaded, { door }) })(transaction);
    },
    onDecided(id, listener) {
      const own = listeners.get(id) ?? new Set();
      listeners.set(id, own.add(listener));
      return () => {
        own.delete(listener);
        if (own.size === 0) listeners.delete(id);
      };
    },
  };
}

/** What is recorded of a question or decision: what was before, and the capsule that is being sealed. */
function sealedAt(
  { sealed }: Loaded,
  { door }: Pick<About, 'door'>,
  now?: { readonly id: string | undefined; readonly capsuleId: string },
): (id: string) => Sealed {
  return (id) => {
    const before = sealed.get(id);
    const capsuleId = now?.id === id ? now.capsuleId : null;
    return before === undefined
      ? { door, asked: capsuleId, answered: null }
      : { ...before, answered: capsuleId ?? before.answered };
  };
}

function isConflict(error: unknown): boolean {
  return error instanceof BullaError && error.code === 'CONSENT_CONFLICT';
}

function refusal(code: Code, message: string): Decided {
  return { changes: [], decisions: [], prompt: null, refusal: { code, message }, running: [], capsules: [] };
}

/** The revision of a relation after this number of writes to it. */
function revAfter(rev: number | null, writes: number): number | null {
  return writes === 0 ? rev : (rev ?? 0) + writes;
}

/** The id whose decision must be among the rows. */
function idOf(event: ConsentEvent): string | null {
  switch (event.type) {
    case 'call':
    case 'request':
    case 'start':
    case 'finish':
    case 'withdraw':
      return event.id;
    case 'answer':
    case 'escalate':
      return event.prompt;
    default:
      return null;
  }
}

/**
 * A record for the question, the act or the request, and one for each question that ends. The first one has all that is
 * of no other: the grants, and calls that were allowed or run, whose records are the call's own.
 */
function partsOf(event: ConsentEvent, step: Step, pair: Pair, { loaded, state }: Read, about: About): Part[] {
  const { changes, decisions, prompt } = step;
  const declared = state.rows.manifests.get(pair.agent);
  const ended = decisions.filter(({ id }) => state.rows.prompts.has(id) || event.type === 'request');
  const ofDecision = (decision: Decision) => ({
    capsuleId: randomUUID(),
    act: endAct(decision, declared, loaded.sealed.get(decision.id), about),
    decision,
  });
  const alone = (act: Draft) => ({ capsuleId: randomUUID(), act, decision: null });
  const first =
    isAct(event) && changes.length > 0
      ? alone(
          personsAct(
            event,
            pair,
            step,
            declared,
            event.type === 'escalate' ? loaded.sealed.get(event.prompt) : undefined,
          ),
        )
      : prompt !== null
        ? alone(questionAct(prompt, declared, about))
        : ended[0] === undefined
          ? null
          : ofDecision(ended[0]);
  if (first === null) return [];
  const others = ended.filter(({ id }) => id !== first.decision?.id);
  const apart = new Set(others.map(({ id }) => id));
  const isApart = ({ table, key }: Change) =>
    (table === 'prompts' || table === 'decisions') && apart.has(key);
  return [
    { ...first, changes: changes.filter((change) => !isApart(change)) },
    ...others.map((decision) => ({
      ...ofDecision(decision),
      changes: changes.filter((change) => isApart(change) && change.key === decision.id),
    })),
  ];
}
