import { randomUUID } from 'node:crypto';
import type { CapsuleInput, SealedCapsule } from '@bulla/core/capsule';
import type { Code } from '@bulla/core/codes';
import {
  type Change,
  type ConsentEvent,
  type ConsentState,
  type Decision,
  type Declared,
  decide,
  disclosureDigest,
  emptyState,
  type Rules,
  type Step,
  stateOf,
} from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { declaredRow } from '../manifest/index.ts';
import { createQueue, untilSettled } from '../os/index.ts';
import { assertNotKilled, type Opening, type Store } from '../store/index.ts';
import { type About, actCapsule, askedCapsule, decisionCapsule, isAct } from './capsules.ts';
import { conflict, type Loaded, load, type Pair, write } from './rows.ts';

// One event of one person and one agent: read the rows, decide, and write what changed together with its capsules,
// only where nothing has moved since. What moved is read and decided again.

/** What came of an event, with the capsules that were sealed for it. */
export interface Decided extends Step {
  readonly capsules: readonly SealedCapsule[];
}

/** Whether others came between the parts of a step, so that some are left to do. */
type Attempted = Decided & { readonly left: boolean };

const sweeping = (at: number): ConsentEvent => ({ type: 'sweep', at });

/** What opens the commitment of a call, for the capsule that tells of it first. */
export type OpeningOf = (capsuleId: string, asked: boolean) => Opening;

export interface Extra {
  readonly about?: About | undefined;
  readonly opening?: OpeningOf;
}

export interface Runner {
  /** The rows of a pair; with them the decision that has this id, also if it ended. */
  state(pair: Pair, id: string | null): Promise<ConsentState>;
  /** Rejects with `CONSENT_STATE` for rows that were altered, and as appending to a chain does. */
  run(pair: Pair, event: (at: number) => ConsentEvent, extra?: Extra): Promise<Decided>;
  /** Seals what was decided about somebody who is not known; there are no rows of theirs. */
  runForNobody(of: Partial<Pair>, event: (at: number) => ConsentEvent, extra?: Extra): Promise<Decided>;
  /** Calls back when this process has decided something about this id, until the returned function is called. */
  onDecided(id: string, listener: () => void): () => void;
}

export interface RunnerOptions {
  readonly store: Store;
  readonly chain: string;
  /** As `ConsentOptions.now`, within a transaction or by itself. */
  readonly now: (within?: Pick<Store, 'time'>) => Promise<number>;
  readonly rules: Rules;
}

/** What is sealed in one capsule, and the changes that become true with it. */
interface Part {
  readonly capsuleId: string;
  readonly input: CapsuleInput;
  readonly changes: readonly Change[];
  readonly decision: Decision | null;
}

export function createRunner({ store, chain: name, now, rules }: RunnerOptions): Runner {
  const { reading } = store;
  const chain = store.chain(name);
  const inTurn = createQueue();
  const declarations = createDeclarations((agent) => declaredRow(reading, agent));
  const listeners = new Map<string, Set<() => void>>();

  const read = async (pair: Pair, id: string | null): Promise<{ loaded: Loaded; state: ConsentState }> => {
    for (;;) {
      const loaded = await load(reading, pair, id);
      const known = await declarations.at(pair.agent, loaded.declared);
      // A manifest that came between the two is seen together with rows that are as new.
      if (known === undefined) continue;
      const manifests = known === null ? [] : [known.row];
      const state = stateOf({ ...loaded.rows, manifests }, known?.state);
      if (known !== null) known.state = state;
      return { loaded, state };
    }
  };

  const tell = (decisions: readonly Decision[]) => {
    for (const { id } of decisions) for (const listener of listeners.get(id) ?? []) listener();
  };

  const attempt = async (
    pair: Pair,
    make: (at: number) => ConsentEvent,
    extra: Extra,
  ): Promise<Attempted> => {
    const { loaded, state } = await read(pair, idOf(make(0)));
    const event = make(await now());
    const step = decide(state, event, rules);
    if (step.refusal !== null) return { ...step, capsules: [], left: false };
    const seen = event.type === 'sweep' || loaded.rev === null ? (loaded.declared ?? 0) : loaded.seen;
    const writing = { pair, declared: loaded.declared, seen };
    const parts = partsOf(event, step, pair, loaded, extra.about ?? {});
    if (parts.length === 0) {
      if (step.changes.length > 0 || (loaded.rev !== null && seen !== loaded.seen))
        await store.transaction(
          write({ ...writing, rev: loaded.rev, changes: step.changes, capsuleId: null }),
        );
      return { ...step, capsules: [], left: false };
    }
    const written: boolean[] = [];
    const sealing = parts.map(({ capsuleId, input, changes }, i) => {
      const writePart = write({ ...writing, rev: revAfter(loaded.rev, i), changes, capsuleId });
      return chain.append(input, {
        id: capsuleId,
        openings:
          i > 0 || extra.opening === undefined ? [] : [extra.opening(capsuleId, step.prompt !== null)],
        async effect(transaction) {
          // The count alone would not tell a write of ours from one of others.
          if (i > 0 && !written[i - 1]) throw conflict('relation');
          written[i] = false;
          // Nothing begins beside a kill switch, however late it was thrown.
          if (event.type === 'start') await assertNotKilled(transaction, pair.agent);
          await writePart(transaction);
          // Others may have held the rows until a deadline was over; then it is decided anew.
          if (i === 0 && DUE.includes(event.type)) {
            const late = decide(state, make(await now(transaction)), rules);
            if (late.refusal !== null) throw conflict('relation');
          }
          written[i] = true;
        },
      });
    });
    return completed(step, parts, await Promise.allSettled(sealing));
  };

  /** The parts of a step share a transaction, unless so many records wait that it is full; then the rest follows. */
  const completed = (
    step: Step,
    parts: readonly Part[],
    results: readonly PromiseSettledResult<SealedCapsule>[],
  ): Attempted => {
    const first = results[0]!;
    if (first.status === 'rejected') throw first.reason;
    const sealed = results.flatMap((result, i) =>
      result.status === 'fulfilled' ? [{ capsule: result.value, decision: parts[i]!.decision }] : [],
    );
    const decisions = sealed.flatMap(({ decision }) => (decision === null ? [] : [decision]));
    tell(decisions);
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined && !isConflict(failed.reason)) throw failed.reason;
    const capsules = sealed.map(({ capsule }) => capsule);
    return { ...step, decisions, capsules, left: failed !== undefined };
  };

  return {
    state: async (pair, id) => (await read(pair, id)).state,
    async run(pair, event, extra = {}) {
      if (pair.user.includes('\0') || pair.agent.includes('\0'))
        return { ...refusal('CONSENT_ID', 'A name must not hold a zero character.'), capsules: [] };
      const settle = (make: typeof event, more: Extra) =>
        untilSettled('CONSENT_CONFLICT', () => attempt(pair, make, more));
      return inTurn(JSON.stringify([pair.user, pair.agent]), async () => {
        let { left, ...decided } = await settle(event, extra);
        while (left) {
          // What the first part did stands, so that what rested on it can be ended now.
          const rest = await settle(event(0).type === 'restart' ? event : sweeping, {});
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
    async runForNobody({ user = '', agent = '' }, make, { about = {}, opening } = {}) {
      const step = decide(emptyState(user, agent), make(await now()), rules);
      const capsules: SealedCapsule[] = [];
      for (const decision of step.decisions) {
        const id = randomUUID();
        const openings = opening === undefined ? [] : [opening(id, false)];
        capsules.push(await chain.append(decisionCapsule(decision, about), { id, openings }));
      }
      return { ...step, capsules };
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

/** What must be done before a deadline. */
const DUE: readonly ConsentEvent['type'][] = ['answer', 'start'];

function isConflict(error: unknown): boolean {
  return error instanceof BullaError && error.code === 'CONSENT_CONFLICT';
}

function refusal(code: Code, message: string): Step {
  return { changes: [], decisions: [], prompt: null, refusal: { code, message }, running: [] };
}

/** The revision of a relation after so many writes to it. */
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

/** A capsule for each decision. The first part has all that is of no other: the question, the act, the grants. */
function partsOf(
  event: ConsentEvent,
  { changes, decisions, prompt }: Step,
  pair: Pair,
  { capsules }: Loaded,
  about: About,
): Part[] {
  const ofDecision = (decision: Decision) => ({
    capsuleId: randomUUID(),
    input: { ...decisionCapsule(decision, about), parent_id: capsules.get(decision.id) ?? null },
    decision,
  });
  const parent_id = event.type === 'escalate' ? (capsules.get(event.prompt) ?? null) : null;
  const act =
    isAct(event) && changes.length > 0
      ? { ...actCapsule(event, pair, shownBy(event, prompt)), parent_id }
      : null;
  const first =
    act !== null
      ? { capsuleId: randomUUID(), input: act, decision: null }
      : prompt !== null
        ? { capsuleId: randomUUID(), input: askedCapsule(prompt, about), decision: null }
        : decisions[0] === undefined
          ? null
          : ofDecision(decisions[0]);
  if (first === null) return [];
  const others = decisions.filter(({ id }) => id !== first.decision?.id);
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

function shownBy(event: ConsentEvent, prompt: Step['prompt']): string | null {
  if (event.type === 'disclose') return disclosureDigest(event.disclosure);
  return event.type === 'grant' ? event.disclosure : (prompt?.shown ?? null);
}

interface Known {
  readonly row: Declared;
  /** A state that was read with it, from which its indexes are taken over. */
  state: ConsentState | undefined;
}

const KEPT = 64;

/** What agents declare, each revision read once. */
function createDeclarations(find: (agent: string) => Promise<Declared | null>) {
  const kept = new Map<string, Known>();
  return {
    /** Null if nothing is declared; undefined if by now it is another revision. */
    async at(agent: string, rev: number | null): Promise<Known | null | undefined> {
      if (rev === null) return null;
      const known = kept.get(agent);
      if (known?.row.rev === rev) return known;
      const row = await find(agent);
      if (row === null) return undefined;
      if (kept.size === KEPT) kept.delete(kept.keys().next().value!);
      const read: Known = { row, state: undefined };
      kept.set(agent, read);
      return row.rev === rev ? read : undefined;
    },
  };
}
