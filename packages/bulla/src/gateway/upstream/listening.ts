import { BullaError } from '@bulla/core/error';
import { JsonObject, type JsonValue, memberAt, stringify } from '@bulla/core/json';
import { type Id, idKey, type NotificationFrame, type RequestFrame, RpcError } from '../../mcp/index.ts';
import { locate, raw, setMembers, splice } from '../wire/splice.ts';
import { idOf, SUBSCRIPTION_ID } from '../wire/tokens.ts';
import { type Ends, hasCapability, objectBytes } from './ends.ts';
import { cancelledBytes, read, requestBytes } from './life.ts';

/** What can be listened to, and the capability that it needs (2026-07-28, Subscriptions). */
const CHANGES = [
  ['toolsListChanged', 'tools'],
  ['promptsListChanged', 'prompts'],
  ['resourcesListChanged', 'resources'],
] as const;

/** How long the acknowledgement may take. */
const ACKNOWLEDGE_MS = 30_000;
/** How long to leave alone a server that ended what was listened to. */
const REST_MS = 1000;

/** One `subscriptions/listen`. */
interface Listen {
  readonly id: Id;
  readonly filter: string;
  readonly stop: AbortController;
  /** What the server agreed to tell; null before it did. */
  accepted: JsonObject | null;
  readonly acknowledged: PromiseWithResolvers<JsonObject>;
}

/**
 * What a host of the initialize era subscribed to at a server of the stateless one: one `subscriptions/listen`, which is
 * made again when the set changes. Of two that are open for a moment, the older one counts until the newer one is
 * acknowledged.
 */
export class Listening {
  readonly #ends: Ends;
  #listen: Listen | null = null;
  #next: Listen | null = null;
  #turn: Promise<unknown> = Promise.resolve();
  #endedAt = Number.NEGATIVE_INFINITY;

  constructor(ends: Ends) {
    this.#ends = ends;
  }

  /** Listens to what the host wants now. Resolves with what the server agreed to. Rejects with an `MCP_…` code. */
  update(): Promise<JsonObject> {
    const turn = this.#turn.then(() => this.#open());
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** Listens again if the server ended that. */
  ensure(): void {
    const { host, life } = this.#ends;
    if (!host.isInitialized || this.#listen !== null || this.#next !== null || life.ended !== null) return;
    if (performance.now() - this.#endedAt < REST_MS || this.#filter() === '{}') return;
    this.#endedAt = performance.now();
    void this.update().catch(() => {});
  }

  #filter(): string {
    const { life, host } = this.#ends;
    const capabilities = life.discovered!.result.get('capabilities') as JsonObject;
    const wanted: Record<string, unknown> = {};
    for (const [name, capability] of CHANGES) {
      if (hasCapability(capabilities, capability, 'listChanged')) wanted[name] = true;
    }
    if (host.uris.size > 0) wanted.resourceSubscriptions = [...host.uris].sort();
    return stringify(wanted);
  }

  async #open(): Promise<JsonObject> {
    const { life, host } = this.#ends;
    const filter = this.#filter();
    if (this.#listen?.filter === filter) return this.#listen.accepted!;
    if (filter === '{}') {
      this.#stop(this.#listen);
      this.#listen = null;
      return new JsonObject();
    }
    const params = raw('{"notifications":', filter, ',"_meta":', objectBytes(host.meta()), '}');
    const id = life.freshId();
    const frame = read(requestBytes(id, 'subscriptions/listen', params)) as RequestFrame;
    const acknowledged = Promise.withResolvers<JsonObject>();
    const listen: Listen = { id, filter, stop: new AbortController(), accepted: null, acknowledged };
    this.#next = listen;
    life.expect(id, {
      answered: (answer) => {
        const refusal = answer.kind === 'error' ? new RpcError(frame.method, answer.error) : notListening();
        this.#over(listen, refusal);
      },
      failed: (error) => this.#over(listen, error),
    });
    life.send(frame, listen.stop.signal).catch((error) => {
      life.forget(id);
      this.#over(listen, error);
    });
    const late = new BullaError('MCP_TIMEOUT', 'The server did not acknowledge the subscription in time.');
    const timer = setTimeout(() => acknowledged.reject(late), ACKNOWLEDGE_MS);
    try {
      const accepted = await acknowledged.promise;
      this.#stop(this.#listen);
      // It may have ended with the same breath.
      this.#listen = this.#next === listen ? listen : null;
      return accepted;
    } catch (error) {
      this.#stop(listen);
      throw error;
    } finally {
      if (this.#next === listen) this.#next = null;
      clearTimeout(timer);
    }
  }

  #over(listen: Listen, error: BullaError): void {
    listen.acknowledged.reject(error);
    listen.acknowledged.promise.catch(() => {});
    this.#endedAt = performance.now();
    if (this.#next === listen) this.#next = null;
    if (this.#listen === listen) this.#listen = null;
  }

  /** Ends a subscription at the server. */
  #stop(listen: Listen | null): void {
    const { life } = this.#ends;
    if (listen === null || !life.expects(listen.id)) return;
    life.forget(listen.id);
    listen.stop.abort();
    if (!life.isPerRequest) void life.tell(cancelledBytes(listen.id));
  }

  /** Takes a notification that belongs to the subscription; false for any other. */
  notified(frame: NotificationFrame): false | void | Promise<void> {
    if (frame.method === 'notifications/cancelled') {
      const listen = this.#find(idOf(frame.params ?? undefined, 'requestId'));
      if (listen === null) return false;
      this.#ends.life.forget(listen.id);
      return this.#over(listen, notListening());
    }
    const listen = this.#find(idOf(frame.params?.get('_meta'), SUBSCRIPTION_ID));
    if (listen === null) return false;
    if (frame.method === 'notifications/subscriptions/acknowledged') {
      const accepted = frame.params?.get('notifications');
      if (!(accepted instanceof JsonObject)) return this.#over(listen, notListening());
      listen.accepted = accepted;
      return listen.acknowledged.resolve(accepted);
    }
    // The older one tells until the newer one is acknowledged, and then both for a moment.
    if (listen !== this.#listen && listen.accepted === null) return;
    if (listen === this.#listen && this.#next?.accepted) return;
    const edits = setMembers(locate(frame, 'params', '_meta')!, [], [SUBSCRIPTION_ID]);
    return this.#ends.deliver(splice(frame.bytes, edits));
  }

  #find(id: Id | null): Listen | null {
    if (id === null) return null;
    const key = idKey(id);
    return [this.#listen, this.#next].find((listen) => listen && idKey(listen.id) === key) ?? null;
  }
}

/** Whether a server agreed to tell of a resource. */
export function tellsOf(accepted: JsonObject, uri: string): boolean {
  const uris: JsonValue | undefined = memberAt(accepted, ['resourceSubscriptions']);
  return Array.isArray(uris) && uris.includes(uri);
}

function notListening(): BullaError {
  return new BullaError('MCP_HANDSHAKE', 'The server ended the subscription.');
}
