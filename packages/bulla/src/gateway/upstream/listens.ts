import { JsonObject, stringify } from '@bulla/core/json';
import { type Id, idKey, type NotificationFrame, type RequestFrame } from '../../mcp/index.ts';
import { Denial, denialBytes } from '../denial.ts';
import { type Edit, locate, type Member, raw, setMembers, splice } from '../wire/splice.ts';
import { SUBSCRIPTION_ID } from '../wire/tokens.ts';
import { type Ends, hasCapability, MAX_URIS, objectBytes } from './ends.ts';
import { resultBytes } from './life.ts';

/** What can be listened to, the capability that it needs, and how a server of the initialize era tells it. */
const CHANGES = [
  ['toolsListChanged', 'tools', 'notifications/tools/list_changed'],
  ['promptsListChanged', 'prompts', 'notifications/prompts/list_changed'],
  ['resourcesListChanged', 'resources', 'notifications/resources/list_changed'],
] as const;
const UPDATED = 'notifications/resources/updated';

interface Listen {
  readonly id: Id;
  /** The notifications that it wants. */
  readonly methods: ReadonlySet<string>;
  readonly uris: ReadonlySet<string>;
}

/** The subscriptions of a host of the stateless era at a server of the initialize one. */
export class Listens {
  readonly #ends: Ends;
  readonly #open = new Map<string, Listen>();
  /** How many subscriptions want to know of a resource. */
  readonly #uris = new Map<string, number>();

  constructor(ends: Ends) {
    this.#ends = ends;
  }

  /** Whether a notification is one that subscriptions are for. */
  static isOf(method: string): boolean {
    return method === UPDATED || CHANGES.some(([, , changed]) => changed === method);
  }

  /** Whether the server declared that it tells of changes of this list. */
  isDeclared(method: string): boolean {
    const capabilities = this.#ends.life.session!.frame.result.get('capabilities') as JsonObject;
    return CHANGES.some(
      ([, capability, changed]) =>
        changed === method && hasCapability(capabilities, capability, 'listChanged'),
    );
  }

  /** Subscribes, and acknowledges what the server can tell. */
  async start({ id, params }: RequestFrame, signal?: AbortSignal): Promise<void> {
    const { life, deliver } = this.#ends;
    // The server knows nothing of this request.
    life.alias(id, null);
    const wanted = params!.get('notifications') as JsonObject;
    const capabilities = life.session!.frame.result.get('capabilities') as JsonObject;
    const changes = CHANGES.filter(
      ([name, capability]) =>
        wanted.get(name) === true && hasCapability(capabilities, capability, 'listChanged'),
    );
    const asked = (wanted.get('resourceSubscriptions') ?? []) as string[];
    if (this.#uris.size + asked.length > MAX_URIS) {
      const message = `The host is subscribed to ${MAX_URIS} resources already.`;
      return deliver(denialBytes(raw(idKey(id)), new Denial('server', 'GATEWAY_OVERLOADED', message)), id);
    }
    const canSubscribe = hasCapability(capabilities, 'resources', 'subscribe');
    const uris = canSubscribe ? await this.#subscribe([...new Set(asked)]) : [];
    const listen: Listen = {
      id,
      methods: new Set(changes.map(([, , method]) => method)),
      uris: new Set(uris),
    };
    if (signal?.aborted || life.ended !== null) return this.#release(listen);
    this.#open.set(idKey(id), listen);
    signal?.addEventListener('abort', () => this.#stop(listen), { once: true });
    const accepted = objectBytes([
      ...changes.map(([name]): Member => [name, raw('true')]),
      ...(uris.length > 0 ? [['resourceSubscriptions', raw(stringify(uris))] as const] : []),
    ]);
    const meta = raw(`{"${SUBSCRIPTION_ID}":${idKey(id)}}`);
    const bytes = objectBytes([
      ['jsonrpc', raw('"2.0"')],
      ['method', raw('"notifications/subscriptions/acknowledged"')],
      [
        'params',
        objectBytes([
          ['_meta', meta],
          ['notifications', accepted],
        ]),
      ],
    ]);
    await deliver(bytes, id);
    if (changes.length === 0 && uris.length === 0) await this.#finish(listen);
  }

  /** A notification goes to each subscription that wants it; false if none does. */
  changed(frame: NotificationFrame): false | Promise<void> {
    const uri = frame.params?.get('uri');
    const wanting = [...this.#open.values()].filter(({ methods, uris }) =>
      frame.method === UPDATED ? typeof uri === 'string' && uris.has(uri) : methods.has(frame.method),
    );
    return wanting.length > 0 && this.#tell(frame, wanting);
  }

  async #tell(frame: NotificationFrame, wanting: readonly Listen[]): Promise<void> {
    for (const { id } of wanting) {
      await this.#ends.deliver(splice(frame.bytes, withId(frame, raw(idKey(id)))), id);
    }
  }

  /** The server ended, and with it every subscription. */
  end(): void {
    for (const listen of this.#open.values()) this.#ends.follow(this.#finish(listen));
  }

  async #finish(listen: Listen): Promise<void> {
    this.#stop(listen);
    const result = raw(`{"resultType":"complete","_meta":{"${SUBSCRIPTION_ID}":${idKey(listen.id)}}}`);
    await this.#ends.deliver(resultBytes(listen.id, result), listen.id);
  }

  #stop(listen: Listen): void {
    if (this.#open.delete(idKey(listen.id))) this.#release(listen);
  }

  /** Subscribes to resources; gives those that the server took. */
  async #subscribe(uris: readonly string[]): Promise<string[]> {
    const taken = await Promise.all(
      uris.map(async (uri) => {
        const count = this.#uris.get(uri) ?? 0;
        this.#uris.set(uri, count + 1);
        if (count > 0) return true;
        try {
          await this.#ends.life.ask('resources/subscribe', raw(stringify({ uri })));
          return true;
        } catch {
          this.#uncount(uri);
          return false;
        }
      }),
    );
    return uris.filter((_, i) => taken[i]);
  }

  #release({ uris }: Listen): void {
    const { life } = this.#ends;
    for (const uri of uris) {
      if (!this.#uncount(uri) || life.ended !== null) continue;
      void life.ask('resources/unsubscribe', raw(stringify({ uri }))).catch(() => {});
    }
  }

  /** Whether nobody wants to know of the resource any more. */
  #uncount(uri: string): boolean {
    const count = (this.#uris.get(uri) ?? 0) - 1;
    if (count > 0) this.#uris.set(uri, count);
    else this.#uris.delete(uri);
    return count <= 0;
  }
}

function withId(frame: NotificationFrame, id: Uint8Array): Edit[] {
  const member: Member = [SUBSCRIPTION_ID, id];
  const meta = locate(frame, 'params', '_meta');
  if (meta?.value instanceof JsonObject) return setMembers(meta, [member]);
  const params = locate(frame, 'params');
  if (params !== null) return setMembers(params, [['_meta', objectBytes([member])]]);
  return setMembers(locate(frame)!, [['params', raw('{"_meta":', objectBytes([member]), '}')]]);
}
