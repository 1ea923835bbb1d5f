import { randomBytes, randomUUID } from 'node:crypto';
import { canonicalize, commit, SALT_BYTES } from '@bulla/core/canon';
import {
  type AnswerEvent,
  type Channel,
  type ConsentEvent,
  type ConsentState,
  covered,
  DEFAULT_RULES,
  type Decision,
  type Detail,
  type Disclosure,
  disclose,
  ENGLISH,
  type EscalateEvent,
  type FinishEvent,
  type Identity,
  type Prompt,
  type Raise,
  type Rules,
  type Showing,
  type StartEvent,
  scopeObstacle,
  showing,
  type Words,
} from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { parse } from '@bulla/core/json';
import { createManifests, namedOf } from '../manifest/index.ts';
import type { Store } from '../store/index.ts';
import type { About } from './capsules.ts';
import {
  allGrants,
  findMatter,
  held,
  type Matter,
  openPrompts,
  overdue,
  type Pair,
  type PersonsGrant,
} from './rows.ts';
import { createRunner, type Decided, type Extra, type OpeningOf } from './runner.ts';
import { waitForDecision } from './wait.ts';

export interface ConsentOptions {
  /** The chain of the store into which everything is sealed. */
  readonly chain: string;
  /**
   * Unix time in milliseconds. Default: the clock of the store's database, so that a deadline which one process set is
   * the same moment for another one that answers, whatever their own clocks say.
   */
  readonly now?: () => number;
  /** What the operator decides beyond the defaults. */
  readonly rules?: Partial<Rules>;
  /** Ids that nobody can guess and nobody had before. Default: random UUIDs. */
  readonly newId?: () => string;
  /** The name of this process among those that wait. Who uses a fixed one calls `restart` with it when it starts. */
  readonly holder?: string;
  /** How often `waitFor` looks whether another process answered, in milliseconds. Default 200. */
  readonly pollMs?: number;
}

/** An agent wants to call a tool. */
export interface Call {
  readonly identity: Identity;
  /** What the agent calls the call; it comes back in the result, beside our own id. */
  readonly call_id?: string | null;
  readonly tool: string;
  readonly tool_digest: string;
  readonly args: unknown;
  /** Of the commitment to the arguments. Default: a fresh one. */
  readonly salt?: Uint8Array;
  readonly raises?: readonly Raise[];
  readonly devices?: readonly string[] | null;
  readonly about?: About;
}

/** An agent asks for a scope. */
export interface Request {
  readonly identity: Identity;
  readonly scope: string;
  readonly devices?: readonly string[] | null;
  readonly about?: About;
}

/** Who says something, and over what. */
export interface Said {
  readonly who: string;
  readonly channel: Channel;
}

/** What a person last said of a scope, and what stands in the way of using it now. */
export interface ListedGrant extends PersonsGrant {
  readonly obstacle: Detail | null;
}

type Timeless<E extends ConsentEvent> = Omit<E, 'type' | 'at'>;

/** What a person is to see. */
export interface Shown {
  readonly prompt: Prompt;
  /** Of a call. */
  readonly showing: Showing | null;
  /** Of a request for a scope: what the agent can do. */
  readonly disclosure: Disclosure | null;
}

/**
 * Consent over a store. Each event is decided on the rows as they are, written together with a capsule for each
 * decision, or refused: a step with a `refusal` changed nothing. What is rejected left nothing behind either, but for
 * `STORE_UNCERTAIN`; a call is allowed only by a decision that was returned.
 */
export interface Consent {
  readonly holder: string;
  /** Rejects with `KILLED` while a kill switch stands, as `start` does. Keeps the arguments if a person is asked. */
  call(call: Call): Promise<Decided>;
  request(request: Request): Promise<Decided>;
  answer(answer: Timeless<AnswerEvent>): Promise<Decided>;
  escalate(escalation: Timeless<EscalateEvent>): Promise<Decided>;
  /** Begins an allowed call, once. */
  start(start: Timeless<StartEvent>, about?: About): Promise<Decided>;
  finish(finish: Timeless<FinishEvent>, about?: About): Promise<Decided>;
  withdraw(id: string): Promise<Decided>;
  /** What the agent can do, as a person is told; null before it has a manifest. */
  disclosure(agent: string, words?: Words): Promise<Disclosure | null>;
  disclose(user: string, disclosure: Disclosure, said: Said): Promise<Decided>;
  grant(
    pair: Pair,
    scopes: readonly string[],
    said: Said & { readonly disclosure: string },
  ): Promise<Decided>;
  revoke(pair: Pair, scopes: readonly string[] | 'all', said: Said): Promise<Decided>;
  endSession(pair: Pair, device: string, session: string): Promise<Decided>;
  /** The questions that can still be answered, the oldest first. */
  pending(of?: Partial<Pair>): Promise<readonly Prompt[]>;
  /** A question that is open; null if it was decided or never asked. */
  prompt(id: string): Promise<Prompt | null>;
  grants(of?: Partial<Pair>): Promise<readonly ListedGrant[]>;
  /** What became of a call or a request; null while it is open, or if there was none. */
  decision(id: string): Promise<Decision | null>;
  /**
   * Rejects with `CONSENT_UNKNOWN`, `CONSENT_ANSWERED`, `CONSENT_NOT_KEPT` when the arguments were erased, and
   * `CONSENT_SHOWING` when they are not the committed ones.
   */
  show(prompt: string, words?: Words): Promise<Shown>;
  /** Ends what is overdue or can no longer be answered; the decisions. */
  sweep(): Promise<readonly Decision[]>;
  /** Ends what a process held that is gone; everything that is open, for null. */
  restart(holder: string | null): Promise<readonly Decision[]>;
  /**
   * Resolves when a question is decided, by whom and in which process ever; at its deadline it is denied. When the
   * signal is aborted the question is withdrawn. Rejects with `CONSENT_UNKNOWN`.
   */
  waitFor(prompt: string, signal?: AbortSignal): Promise<Decision>;
}

export function createConsent(store: Store, options: ConsentOptions): Consent {
  const { chain, newId = randomUUID, pollMs = 200 } = options;
  const now = async (within: Pick<Store, 'time'> = store) => options.now?.() ?? within.time();
  const holder = options.holder ?? newId();
  const rules = { ...DEFAULT_RULES, ...options.rules };
  const { reading } = store;
  const runner = createRunner({ store, chain, now, rules });
  const manifests = createManifests(store, options.now === undefined ? {} : { now: options.now });

  const ask = (identity: Identity, event: (at: number) => ConsentEvent, extra: Extra): Promise<Decided> => {
    const { user, agent } = identity;
    if (user !== null && agent !== null) return runner.run({ user, agent }, event, extra);
    const known = { ...(user !== null && { user }), ...(agent !== null && { agent }) };
    return runner.runForNobody(known, event, extra);
  };

  /** Runs an event in the relation that its id belongs to; of no id at all nobody's rows know anything. */
  const about = async (id: string, event: (at: number) => ConsentEvent, extra?: Extra): Promise<Decided> => {
    const matter = await findMatter(reading, id);
    return matter === null ? runner.runForNobody({}, event) : runner.run(matter, event, extra);
  };

  const sweepPair = (pair: Pair) => runner.run(pair, (at) => ({ type: 'sweep', at }));
  const each = async (pairs: readonly Pair[], work: (pair: Pair) => Promise<Decided>) => {
    const decisions: Decision[] = [];
    for (const pair of pairs) for (const decision of (await work(pair)).decisions) decisions.push(decision);
    return decisions;
  };

  const kept = async (commitment: string) => {
    const opening = await store.opening(commitment);
    if (opening === null || opening.payload === null) return null;
    return { args: parse(opening.payload), salt: opening.salt };
  };

  const disclosure = async (agent: string, words: Words = ENGLISH): Promise<Disclosure | null> => {
    const current = await manifests.current(agent);
    if (current === null) return null;
    const { version, hash, manifest } = current;
    return disclose(
      { agent, version, hash, ...namedOf(manifest), flags: { ...manifest.capability_flags } },
      words,
    );
  };

  return {
    holder,
    async call({ about: more, args, salt = new Uint8Array(randomBytes(SALT_BYTES)), ...given }) {
      if (given.identity.agent !== null) await store.assertMayAct(given.identity.agent);
      const id = newId();
      const commitment = commit('args', args, salt);
      const opening: OpeningOf = (capsuleId, asked) => ({
        commitment,
        capsuleId,
        kind: 'args',
        salt,
        payload: asked ? canonicalize(args, 'jcs') : null,
      });
      const event = (at: number): ConsentEvent => ({ type: 'call', id, at, commitment, holder, ...given });
      return ask(given.identity, event, { about: more, opening });
    },
    async request({ about: more, ...given }) {
      const id = newId();
      return ask(given.identity, (at) => ({ type: 'request', id, at, holder, ...given }), { about: more });
    },
    answer: (given) => about(given.prompt, (at) => ({ type: 'answer', at, ...given })),
    escalate: (given) => about(given.prompt, (at) => ({ type: 'escalate', at, ...given })),
    async start(given, more) {
      const matter = await findMatter(reading, given.id);
      if (matter !== null) await store.assertMayAct(matter.agent);
      const started = await about(given.id, (at) => ({ type: 'start', at, ...given }), { about: more });
      if (matter === null || started.refusal !== null) return started;
      try {
        // A kill switch that came while the start was written stands before the call, and stops it.
        await store.assertMayAct(matter.agent);
      } catch (error) {
        const end = { type: 'finish', id: given.id, status: 'error', reason: 'killed' } as const;
        // If that cannot be written, it ends when it is overdue; the call is not made either way.
        await about(given.id, (at) => ({ at, ...end }), { about: more }).catch(() => undefined);
        throw error;
      }
      return started;
    },
    finish: (given, more) => about(given.id, (at) => ({ type: 'finish', at, ...given }), { about: more }),
    withdraw: (id) => about(id, (at) => ({ type: 'withdraw', at, id })),
    disclosure,
    disclose: (user, shown, said) =>
      runner.run({ user, agent: shown.agent }, (at) => ({
        type: 'disclose',
        at,
        disclosure: shown,
        ...said,
      })),
    async grant(pair, scopes, said) {
      const grants = scopes.map((scope) => ({ scope, id: newId() }));
      return runner.run(pair, (at) => ({ type: 'grant', at, grants, ...said }));
    },
    revoke: (pair, scopes, said) => runner.run(pair, (at) => ({ type: 'revoke', at, scopes, ...said })),
    endSession: (pair, device, session) =>
      runner.run(pair, (at) => ({ type: 'end-session', at, device, session })),
    async pending(of = {}) {
      const at = await now();
      const prompts = await openPrompts(reading);
      return prompts.filter(
        ({ expires_at, ...prompt }) => (expires_at === null || at < expires_at) && isOf(prompt, of),
      );
    },
    prompt: async (id) => (await findMatter(reading, id))?.prompt ?? null,
    async grants(of = {}) {
      const states = new Map<string, ConsentState>();
      const listed: ListedGrant[] = [];
      for (const grant of (await allGrants(reading)).filter((each) => isOf(each, of))) {
        const { user, agent, scope } = grant;
        const name = JSON.stringify([user, agent]);
        const state = states.get(name) ?? (await runner.state({ user, agent }, null));
        states.set(name, state);
        listed.push({ ...grant, obstacle: scopeObstacle(state, scope) });
      }
      return listed;
    },
    decision: async (id) => (await findMatter(reading, id))?.decision ?? null,
    async show(id, words) {
      const { prompt, user, agent } = asked(await findMatter(reading, id));
      if (prompt.kind === 'grant')
        return { prompt, showing: null, disclosure: await disclosure(agent, words) };
      const call = await kept(prompt.commitment!);
      if (call === null)
        throw new BullaError('CONSENT_NOT_KEPT', 'The arguments are not kept, so nobody can be shown them.');
      const previous = prompt.previous === null ? null : await kept(prompt.previous.commitment);
      const covers = covered(await runner.state({ user, agent }, null), prompt.scope);
      const current = await manifests.current(agent);
      // Of another manifest than the question's nothing is said.
      const named = current?.hash === prompt.manifest ? namedOf(current.manifest) : null;
      const shown = showing(prompt, call, {
        covers,
        ...(words !== undefined && { words }),
        tool: named?.tools.find(({ name }) => name === prompt.tool),
        scope: named?.scopes.find(({ id: scope }) => scope === prompt.scope),
        ...(previous !== null && { previous }),
      });
      return { prompt, showing: shown, disclosure: null };
    },
    sweep: async () => each(await overdue(reading, await now()), sweepPair),
    restart: async (gone) =>
      each(await held(reading, gone), (pair) =>
        runner.run(pair, (at) => ({ type: 'restart', at, holder: gone })),
      ),
    waitFor: (id, signal) =>
      waitForDecision(id, signal, {
        find: () => findMatter(reading, id),
        onDecided: (listener) => runner.onDecided(id, listener),
        sweep: sweepPair,
        withdraw: async (pair) => void (await runner.run(pair, (at) => ({ type: 'withdraw', at, id }))),
        now,
        pollMs,
      }),
  };
}

function isOf(row: Pair, of: Partial<Pair>): boolean {
  return (of.user ?? row.user) === row.user && (of.agent ?? row.agent) === row.agent;
}

/** The question, if it is open. */
export function asked(matter: Matter | null): Matter & { readonly prompt: Prompt } {
  if (matter === null) throw new BullaError('CONSENT_UNKNOWN', 'There is no such question.');
  const { prompt } = matter;
  if (prompt === null) throw new BullaError('CONSENT_ANSWERED', 'This was decided already.');
  return { ...matter, prompt };
}
