import { BullaError } from '@bulla/core/error';
import { JsonObject, type JsonValue, memberAt } from '@bulla/core/json';
import {
  type Authorization,
  type Drift,
  drift,
  type Era,
  type Identity,
  LIST_KINDS,
  type ListKind,
  type Lock,
  type PolicyResult,
  SEVERITIES,
  type Severity,
  type Surface,
  verdict,
} from '@bulla/core/lock';
import type { Policy } from '@bulla/core/policy';
import { LISTS, quote, type ResultFrame, RpcError, readContents, readList } from '../mcp/index.ts';
import type { Context } from './context.ts';
import { asDenial, Denial } from './denial.ts';
import { faultOf, type UriRules } from './gates/uris.ts';
import { refused } from './lists/page.ts';
import { checkSelf } from './lists/self.ts';
import { isPlain } from './lists/uri.ts';
import { boundedName, causeOf } from './notices.ts';
import { SERVER_INFO } from './wire/tokens.ts';

/** What rules say of a whole server. */
export interface ServerVerdict extends PolicyResult {
  /** The digest of the policy. */
  readonly digest: string;
  /** The rules of severity `error` that do not hold. */
  readonly failed: readonly { readonly name: string; readonly message: string }[];
}

/** A policy: its rules about the server are asked before anything passes, those about tools and calls at each call. */
export interface ServerPolicy {
  readonly policy: Policy;
  judge(lock: Lock, surface: Surface, drift: Drift): ServerVerdict;
}

/** What is asked about a server before the first list or call passes. */
export interface PreflightOptions {
  /** The mildest difference from the lock with which nothing passes. Default: none is looked for. */
  readonly failOn?: Severity | undefined;
  readonly policies?: readonly ServerPolicy[] | undefined;
  /** With a lock that pins no resources: those of the first complete list count as locked. Default false. */
  readonly staticResources?: boolean | undefined;
  /** With which rights the server is asked, where that is known. */
  readonly authorization?: (() => Authorization) | undefined;
  /** Takes what was found, once a session and era. */
  readonly onPreflight?: ((found: Preflighted) => void) | undefined;
}

/** What a server differs in from its lock, and what the rules say of it. */
export interface Preflighted {
  readonly drift: Drift;
  readonly failOn: Severity | undefined;
  readonly policies: readonly ServerVerdict[];
  /** False where the gateway only watches. */
  readonly isRefused: boolean;
}

interface PreflightContext extends PreflightOptions {
  /** Where the URIs of resources may lead that no lock pins. */
  readonly uris?: UriRules | undefined;
  readonly lock: Lock;
  /** How the server is reached; null where the operator allows another one. */
  readonly identity: Identity | null;
  /** Nothing more passes, and the session ends. */
  refuse(denial: Denial): void;
}

/** How often lists that change while they are read are read again. */
const MAX_READINGS = 3;
/** Limits on what a sentence names. */
const MAX_NAMED = 3;
const MAX_FACTS = 64;

type Lists = Record<ListKind, readonly JsonObject[]>;
type Self = Pick<Surface, 'serverInfo' | 'capabilities' | 'instructions'>;

/**
 * Compares the server with its lock before the first list or call of an era passes: over the same connection, in the
 * same process. What cannot be read whole is not decided, and refused too. Where the gateway only watches, it is told
 * and recorded, and everything goes on.
 */
export class Preflight {
  readonly #context: Omit<Context, 'gates' | 'preflight'>;
  readonly #options: PreflightContext;
  #isRetired = false;
  readonly #decided = new Set<Era>();
  readonly #deciding = new Map<Era, Promise<void>>();

  constructor(context: Omit<Context, 'gates' | 'preflight'>, options: PreflightContext) {
    this.#context = context;
    this.#options = options;
  }

  /** Another one took its place: what it finds from now on is neither told nor applied. */
  retire(): void {
    this.#isRetired = true;
  }

  /** Null when it was decided; else resolves when it is. If the server is refused, every request is closed then. */
  before(era: Era, meta: JsonObject | null): Promise<void> | null {
    if (this.#decided.has(era)) return null;
    let deciding = this.#deciding.get(era);
    if (deciding === undefined) {
      deciding = this.#decide(era, meta).finally(() => this.#decided.add(era));
      this.#deciding.set(era, deciding);
    }
    return deciding;
  }

  async #decide(era: Era, meta: JsonObject | null): Promise<void> {
    const { wire } = this.#context;
    const { failOn, policies = [] } = this.#options;
    const ask = this.#asker(meta);
    const isCompared = failOn !== undefined || policies.length > 0;
    try {
      const self = await this.#selfOf(era, ask);
      const kinds = (isCompared ? LIST_KINDS : (['resources'] as const)).filter((kind) =>
        self.capabilities.has(LISTS[kind].capability),
      );
      const lists = await this.#read(kinds, ask);
      if (isCompared) await this.#compare(self, lists, ask);
      if (this.#options.staticResources && !this.#isRetired) this.#pin(lists.resources);
    } catch (error) {
      // The session is over anyway.
      if (wire.ended !== null || this.#isRetired) return;
      const denial = isCompared ? undecided(error) : noResources(error);
      this.#context.log(`${denial.message} (${quote(causeOf(denial))}) [${denial.code}]`);
      this.#tell(denial, null, !isCompared);
    }
  }

  /** A request of our own, for the functions that read surfaces. */
  #asker(meta: JsonObject | null): Ask {
    return async (method, params = {}) => {
      const entries = Object.entries(params) as [string, JsonValue][];
      if (meta !== null) entries.push(['_meta', meta]);
      try {
        const frame = await this.#context.wire.ask(method, JsonObject.from(entries));
        if ((frame.result.get('resultType') ?? 'complete') === 'complete') return frame;
      } catch (error) {
        throw error instanceof Denial && error.cause instanceof RpcError ? error.cause : error;
      }
      throw refused(`answer to ${method} is not complete`);
    };
  }

  /** What the server says of itself. In the stateless era it is asked; a host need not ask. */
  async #selfOf(era: Era, ask: Ask): Promise<Self> {
    const introduced = this.#context.session.introduced;
    if (era === 'initialize') return selfIn(introduced!, introduced!.get('serverInfo'));
    const frame = await ask('server/discover');
    checkSelf(frame, this.#context.pins);
    return selfIn(frame.result, memberAt(frame.result, ['_meta', SERVER_INFO]));
  }

  /** Reads lists to their ends, all of one time: none of them was told to have changed meanwhile. */
  async #read(kinds: readonly ListKind[], ask: Ask): Promise<Lists> {
    const { offers } = this.#context;
    const generations = () => kinds.map((kind) => offers.generation(kind)).join();
    for (let i = 0; i < MAX_READINGS; i++) {
      const before = generations();
      const read = await Promise.all(kinds.map((kind) => readList({ ask }, kind)));
      if (generations() !== before) continue;
      return Object.fromEntries(
        LIST_KINDS.map((kind) => [kind, read[kinds.indexOf(kind)] ?? []]),
      ) as unknown as Lists;
    }
    throw new BullaError('MCP_LIST_CHANGED', "The server's lists changed each time they were read.");
  }

  /** Nobody has reviewed these resources, so that their URIs may lead no further than those in arguments. */
  #pin(resources: readonly JsonObject[]): void {
    const { uris = {} } = this.#options;
    const safe = resources.filter((resource) => {
      const uri = resource.get('uri') as string;
      return isPlain(uri) && faultOf(uri, uris) === null;
    });
    this.#context.pins.pinResources(safe);
    const left = resources.length - safe.length;
    if (left > 0)
      this.#context.log(`of the resources of the server, ${left} lead where they may not, and do not pass`);
  }

  async #compare(self: Self, lists: Lists, ask: Ask): Promise<void> {
    const { lock, identity, failOn, policies = [], authorization, onPreflight } = this.#options;
    const { pins, enforce } = this.#context;
    const request = async (method: string, params?: object) => (await ask(method, params)).result;
    const { contents } =
      (lock.native?.contents.size ?? 0) === 0
        ? { contents: [] }
        : await readContents({ ...self, connection: { request } }, lists, {});
    if (this.#isRetired) return;
    const surface: Surface = {
      // The version is agreed on with the host, and says nothing of the server.
      protocolVersion: lock.native?.protocolVersion ?? '',
      era: lock.native?.era ?? 'initialize',
      ...{ ...self, ...lists, contents },
      // A tool that the operator leaves out here does not pass anyway.
      tools: lists.tools.filter((tool) => !pins.isLeftOut('tools', tool.get('name') as string)),
    };
    const whole = comparing(() =>
      drift(lock, surface, {
        ...(identity !== null && { identity }),
        ...(authorization !== undefined && { authorization: authorization() }),
      }),
    );
    const found = lock.native === null ? whole : withHidden(whole);
    const verdicts = policies.map(({ judge }) => comparing(() => judge(lock, surface, found)));
    const failing = failOn === undefined ? 0 : verdict(found, failOn).failing;
    const denial = failing > 0 ? drifted(found, failOn!, failing) : denied(verdicts);
    const isRefused = denial !== null && enforce.calls;
    onPreflight?.({ drift: found, failOn, policies: verdicts, isRefused });
    if (denial !== null) this.#tell(denial, { drift: found, failOn, verdicts }, false);
  }

  /** Records why the server would not pass, and refuses it unless the gateway only watches. */
  #tell(denial: Denial, found: Found | null, isHarmless: boolean): void {
    const { record, enforce, log } = this.#context;
    const waived = isHarmless || !enforce.calls;
    const facts = found === null ? {} : { facts: factsOf(found) };
    record.incident({ denial, method: 'preflight', waived, key: denial.message, ...facts });
    if (!waived) this.#options.refuse(denial);
    else if (!isHarmless) log(`would refuse the server: ${denial.message} [${denial.code}]`);
  }
}

type Ask = (method: string, params?: object) => Promise<ResultFrame>;

interface Found {
  readonly drift: Drift;
  readonly failOn: Severity | undefined;
  readonly verdicts: readonly ServerVerdict[];
}

function selfIn(result: JsonObject, serverInfo: JsonValue | undefined): Self {
  return {
    serverInfo: serverInfo instanceof JsonObject ? serverInfo : new JsonObject(),
    // `checkSelf` has seen both.
    capabilities: result.get('capabilities') as JsonObject,
    instructions: (result.get('instructions') ?? null) as string | null,
  };
}

const LISTED: readonly string[] = ['tool', 'prompt', 'resource', 'template'];

/**
 * Our scan declares every capability of a client, and this host fewer, so that the server may hide definitions from it.
 * What is missing is less than was approved, and cannot be called: it counts as `info`.
 */
function withHidden(found: Drift): Drift {
  const items = found.items.map((item) =>
    item.change === 'removed' && LISTED.includes(item.kind) ? { ...item, severity: 'info' as const } : item,
  );
  const counts = { critical: 0, moderate: 0, info: 0, total: items.length };
  for (const { severity } of items) counts[severity]++;
  return { ...found, items, counts };
}

/** Names, counts and digests, for the record. */
function factsOf({ drift: { counts, items }, failOn, verdicts }: Found) {
  return {
    fail_on: failOn ?? null,
    ...{ critical: counts.critical, moderate: counts.moderate, info: counts.info },
    differences: items.slice(0, MAX_FACTS).map(itemWords),
    policies: verdicts.map(({ digest, passed, failed }) => ({
      digest,
      passed,
      failed: failed.slice(0, MAX_FACTS).map(({ name }) => boundedName(name)),
    })),
  };
}

function itemWords({ kind, name, code }: Drift['items'][number]): string {
  return name === '' ? `${kind}: ${code}` : `${kind} ${quote(boundedName(name))}: ${code}`;
}

const THRESHOLDS = { critical: 'critical', moderate: 'moderate or worse', info: 'info or worse' } as const;

function drifted({ items }: Drift, failOn: Severity, failing: number): Denial {
  const failed = SEVERITIES.slice(0, SEVERITIES.indexOf(failOn) + 1);
  const worst = items.filter(({ severity }) => failed.includes(severity)).slice(0, MAX_NAMED);
  const more = failing > worst.length ? `; and ${failing - worst.length} more` : '';
  const count = failing === 1 ? '1 difference is' : `${failing} differences are`;
  const named = `${worst.map(itemWords).join('; ')}${more}`;
  const message = `The server is not as it was locked, so nothing passes: ${count} ${THRESHOLDS[failOn]} (${named}).`;
  return new Denial('lists', 'GATEWAY_DRIFT', message);
}

function denied(verdicts: readonly ServerVerdict[]): Denial | null {
  const failed = verdicts.flatMap((one) => one.failed);
  if (failed.length === 0) return null;
  const named = failed
    .slice(0, MAX_NAMED)
    .map(({ name, message }) => `${boundedName(name)}: ${boundedName(message)}`);
  const more = failed.length > named.length ? ` And ${failed.length - named.length} more.` : '';
  return new Denial(
    'policy',
    'POLICY_DENIED',
    `A rule forbids this server, so nothing passes. ${named.join(' ')}${more}`,
  );
}

/** What keeps a surface from being compared is a verdict on the server. */
function comparing<Result>(compare: () => Result): Result {
  try {
    return compare();
  } catch (cause) {
    if (!(cause instanceof BullaError)) throw cause;
    const message = `The server cannot be compared with its lock (${cause.code}), so nothing passes.`;
    throw new Denial('lists', 'GATEWAY_DRIFT', message, { cause });
  }
}

/** The server's own words are for the operator, not for a model. */
function undecided(error: unknown): Denial {
  if (error instanceof Denial && error.code === 'GATEWAY_DRIFT') return error;
  if (!(error instanceof BullaError)) return asDenial(error);
  const message = `What the server offers cannot be read whole (${error.code}), so that it cannot be compared with its lock, and nothing passes.`;
  return new Denial('lists', error.code, message, { cause: error });
}

function noResources(error: unknown): Denial {
  if (!(error instanceof BullaError)) return asDenial(error);
  const message = `The resources of the server cannot be read whole (${error.code}), so that none of them passes.`;
  return new Denial('lists', error.code, message, { cause: error });
}
