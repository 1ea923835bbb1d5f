import { randomUUID } from 'node:crypto';
import type { Commitment } from '@bulla/core/canon';
import {
  type AnswerEvent,
  type Channel,
  type ChannelKind,
  type ConsentEvent,
  type ConsentState,
  channelRule,
  covered,
  DEFAULT_RULES,
  type Decision,
  type Disclosure,
  disclose,
  ENGLISH,
  type EscalateEvent,
  type Identity,
  type Prompt,
  type Rules,
  type ScopeObstacle,
  type Showing,
  satisfies,
  scopeObstacle,
  showing,
  type Words,
} from '@bulla/core/consent';
import { BullaError } from '@bulla/core/error';
import { parse } from '@bulla/core/json';
import { createManifests, namedOf, readContent } from '../manifest/index.ts';
import { createRecorder, type Door, frozenCopy, type Recorder } from '../record/index.ts';
import type { Store } from '../store/index.ts';
import type { About } from './acts.ts';
import { createArgumentCheck } from './arguments.ts';
import {
  allGrants,
  type Found,
  findSubject,
  held,
  openHolders,
  openPrompts,
  overdue,
  type PersonsGrant,
} from './found.ts';
import type { Pair } from './rows.ts';
import { type Call, createRuler, type Ruling, type RulingOptions } from './rule.ts';
import { type Action, type LibraryCall, type Outcome, runCall } from './run.ts';
import { createRunner, type Decided } from './runner.ts';
import { waitForDecision } from './wait.ts';

export interface ConsentOptions {
  /** The chain of the store into which everything is sealed. */
  readonly chain: string;
  /** The recorder of that chain. Default: one of its own. */
  readonly record?: Recorder;
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

/** An agent asks for a scope. */
export interface Request {
  readonly identity: Identity;
  readonly scope: string;
  readonly devices?: readonly string[] | null;
  /** The way on which it came. Default `agents`. */
  readonly door?: Door;
  /** The host as it names itself. Default: the agent. */
  readonly source?: string;
  readonly correlationId?: string | null;
}

/** Who says something, and over what. */
export interface Said {
  readonly who: string;
  readonly channel: Channel;
}

/** What a person last said of a scope, and what stands in the way of using it now. */
export interface ListedGrant extends PersonsGrant {
  readonly obstacle: ScopeObstacle | null;
}

type Timeless<E extends ConsentEvent> = Omit<E, 'type' | 'at'>;

/** An event before the time is known. */
type Untimed = {
  [T in ConsentEvent['type']]: Omit<Extract<ConsentEvent, { type: T }>, 'at'>;
}[ConsentEvent['type']];

/** What a person is to see. */
export interface Shown {
  readonly prompt: Prompt;
  /** Of a call. */
  readonly showing: Showing | null;
  /** Of a request for a scope: what the agent can do. */
  readonly disclosure: Disclosure | null;
}

/**
 * Consent over a store. Each event is decided on the rows as they are and written together with its records, or refused:
 * a step with a `refusal` changed nothing. What is rejected left nothing behind either, but for `STORE_UNCERTAIN`.
 */
export interface Consent {
  readonly holder: string;
  /** How long a question about a call may outlive it; null where it ends with the call. */
  readonly parkMs: number | null;
  /** Whether a question may be answered over a channel of this kind. */
  permits(kind: ChannelKind, prompt: Prompt): boolean;
  /**
   * Rules on a call before its intent. A question is recorded, with the arguments kept for whoever is asked; all else
   * becomes true with the records of the call. Arguments that the declared tool does not take are denied before anybody
   * is asked. An intent with the part of a pass is refused with a code where it is of another call
   * (`CONSENT_OTHER_CALL`), and where the pass no longer holds: `CONSENT_NOT_GRANTED`, `CONSENT_CHANGED`,
   * `CONSENT_EXPIRED`, `CONSENT_SPENT`, `CONSENT_NOT_ALLOWED`, `KILLED`.
   */
  rule(call: Call, options?: RulingOptions): Promise<Ruling>;
  /**
   * Rules on a call, waits for the answer, records the intent, does it, and records the outcome. The action gets the
   * arguments that were shown. Rejects with what the action rejects with, after that was recorded.
   */
  run<T, A>(call: LibraryCall<A>, action: Action<T, A>, options?: RulingOptions): Promise<Outcome<T>>;
  request(request: Request): Promise<Decided>;
  answer(answer: Timeless<AnswerEvent>, door?: Door): Promise<Decided>;
  escalate(escalation: Timeless<EscalateEvent>): Promise<Decided>;
  /** Ends a question, or a call that was allowed and not begun. */
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
  /** The processes that hold something that is open. */
  holders(): Promise<readonly string[]>;
  /** Ends what a process held that is gone; everything that is open, for null. */
  restart(holder: string | null): Promise<readonly Decision[]>;
  /**
   * Resolves when a question is decided, by whom and in which process ever; at its deadline it is denied. When the
   * signal is aborted the question is withdrawn. Rejects with `CONSENT_UNKNOWN`.
   */
  waitFor(prompt: string, signal?: AbortSignal): Promise<Decision>;
}

const ADMIN: About = { door: 'admin' };

export function createConsent(store: Store, options: ConsentOptions): Consent {
  const { chain, newId = randomUUID, pollMs = 200 } = options;
  const now = async (within: Pick<Store, 'time'> = store) => options.now?.() ?? within.time();
  const holder = options.holder ?? newId();
  const rules = { ...DEFAULT_RULES, ...options.rules };
  const { reading } = store;
  const record = options.record ?? createRecorder(store.chain(chain));
  const runner = createRunner({ store, record, now, rules });
  const manifests = createManifests(store, options.now === undefined ? {} : { now: options.now });
  const checkArguments = createArgumentCheck((hash) => readContent(reading, hash));

  /** Runs an event in the relation that its id belongs to; of no id at all nobody's rows know anything. */
  const about = async (id: string, given: Untimed, from = ADMIN): Promise<Decided> => {
    const event = timed(given);
    const found = await findSubject(reading, id);
    return found === null ? runner.runForNobody(event, from) : runner.run(found, event, from);
  };

  const run = async ({ user, agent }: Pair, event: Untimed) =>
    runner.run({ user, agent }, timed(event), ADMIN);
  const sweepPair = (pair: Pair) => run(pair, { type: 'sweep' });
  const each = async (pairs: readonly Pair[], work: (pair: Pair) => Promise<Decided>) => {
    const decisions: Decision[] = [];
    for (const pair of pairs) for (const decision of (await work(pair)).decisions) decisions.push(decision);
    return decisions;
  };

  const wait = (id: string, signal: AbortSignal | undefined) =>
    waitForDecision(id, signal, {
      find: () => findSubject(reading, id),
      onDecided: (listener) => runner.onDecided(id, listener),
      sweep: sweepPair,
      withdraw: async (pair) => void (await run(pair, { type: 'withdraw', id })),
      now,
      pollMs,
    });
  const rule = createRuler({ store, runner, rules, checkArguments, holder, newId, now, wait });

  const opened = async ({ commitment }: Commitment) => {
    const opening = await store.opening(commitment);
    if (opening === null || opening.payload === null) return null;
    return { args: parse(opening.payload), salt: opening.salt };
  };

  const disclosure = async (agent: string, words: Words = ENGLISH): Promise<Disclosure | null> => {
    const current = await manifests.current(agent);
    if (current === null) return null;
    const { version, hash, manifest, bindings } = current;
    return disclose(
      { agent, version, hash, ...namedOf(manifest, bindings), flags: { ...manifest.capability_flags } },
      words,
    );
  };

  return {
    holder,
    parkMs: rules.parkMs,
    permits: (kind, { sensitivity, escalation }) =>
      satisfies(kind, escalation === null ? channelRule(sensitivity, rules) : 'authenticated'),
    rule,
    run: (call, action, ruling) => runCall({ store, record, rule }, call, action, ruling),
    async request(given) {
      const { identity, scope, devices, door = 'agents', source, correlationId } = frozenCopy(given);
      const id = newId();
      const from = { door, source, correlationId };
      const { user, agent } = identity;
      const event = timed({
        type: 'request',
        id,
        identity,
        scope,
        holder,
        ...(devices !== undefined && { devices }),
      });
      if (user !== null && agent !== null) return runner.run({ user, agent }, event, from);
      const known = { ...(user !== null && { user }), ...(agent !== null && { agent }) };
      return runner.runForNobody(event, from, known);
    },
    async answer(given, door = 'admin') {
      const answer = frozenCopy(given);
      return about(answer.prompt, { ...answer, type: 'answer' }, { door });
    },
    async escalate(given) {
      const escalation = frozenCopy(given);
      return about(escalation.prompt, { ...escalation, type: 'escalate' });
    },
    withdraw: (id) => about(id, { type: 'withdraw', id }),
    disclosure,
    async disclose(user, shown, said) {
      const disclosed = frozenCopy(shown);
      return run({ user, agent: disclosed.agent }, { ...said, type: 'disclose', disclosure: disclosed });
    },
    async grant(pair, scopes, said) {
      const grants = scopes.map((scope) => ({ scope, id: newId() }));
      return run(pair, { ...said, type: 'grant', grants });
    },
    revoke: (pair, scopes, said) => run(pair, { ...said, type: 'revoke', scopes }),
    endSession: (pair, device, session) => run(pair, { type: 'end-session', device, session }),
    async pending(of = {}) {
      const at = await now();
      const prompts = await openPrompts(reading);
      return prompts.filter(
        ({ expires_at, ...prompt }) => (expires_at === null || at < expires_at) && isOf(prompt, of),
      );
    },
    prompt: async (id) => (await findSubject(reading, id))?.prompt ?? null,
    async grants(of = {}) {
      const states = new Map<string, ConsentState>();
      const listed: ListedGrant[] = [];
      for (const grant of (await allGrants(reading)).filter((each) => isOf(each, of))) {
        const { user, agent, scope } = grant;
        const name = JSON.stringify([user, agent]);
        const state = states.get(name) ?? (await runner.read({ user, agent }, null)).state;
        states.set(name, state);
        listed.push({ ...grant, obstacle: scopeObstacle(state, scope) });
      }
      return listed;
    },
    decision: async (id) => (await findSubject(reading, id))?.decision ?? null,
    async show(id, words) {
      const { prompt, user, agent } = open(await findSubject(reading, id));
      if (prompt.kind === 'grant')
        return { prompt, showing: null, disclosure: await disclosure(agent, words) };
      const call = await opened(prompt.args!);
      if (call === null)
        throw new BullaError('CONSENT_NOT_KEPT', 'The arguments are not kept, so nobody can be shown them.');
      const previous = prompt.previous === null ? null : await opened(prompt.previous.args);
      const { state } = await runner.read({ user, agent }, null);
      const current = await manifests.current(agent);
      // Of another manifest than the question's nothing is said.
      const named = current?.hash === prompt.manifest ? namedOf(current.manifest, current.bindings) : null;
      const toolOf = (name: string) => named?.tools.find((tool) => tool.name === name) ?? { name };
      const shown = showing(prompt, call, {
        covers: covered(state, prompt.scope, prompt.server).map(toolOf),
        ...(words !== undefined && { words }),
        tool: toolOf(prompt.tool!),
        scope: named?.scopes.find(({ id: scope }) => scope === prompt.scope),
        ...(previous !== null && { previous }),
      });
      return { prompt, showing: shown, disclosure: null };
    },
    sweep: async () => each(await overdue(reading, await now()), sweepPair),
    holders: () => openHolders(reading),
    restart: async (gone) =>
      each(await held(reading, gone), (pair) => run(pair, { type: 'restart', holder: gone })),
    waitFor: async (id, signal) => (await wait(id, signal)).decision,
  };
}

/** What a caller gave is read once; only the time is new whenever the event is decided. */
function timed(given: Untimed): (at: number) => ConsentEvent {
  const event = frozenCopy(given);
  return (at) => ({ ...event, at }) as ConsentEvent;
}

function isOf(row: Pair, of: Partial<Pair>): boolean {
  return (of.user ?? row.user) === row.user && (of.agent ?? row.agent) === row.agent;
}

/** The question, if it is open. */
function open(found: Found | null): Found & { readonly prompt: Prompt } {
  if (found === null) throw new BullaError('CONSENT_UNKNOWN', 'There is no such question.');
  const { prompt } = found;
  if (prompt === null) throw new BullaError('CONSENT_ANSWERED', 'This was decided already.');
  return { ...found, prompt };
}
