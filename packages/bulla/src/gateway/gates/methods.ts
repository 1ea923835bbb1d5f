import type { Era, ListKind } from '@bulla/core/lock';
import { Denial, RPC } from '../denial.ts';

// The allowlist of methods, in both directions. A method of a later protocol version does not pass until somebody has
// decided how it is checked and added a row.

/** How a request of the host is handled. */
export type HostRequest = {
  readonly eras: readonly Era[];
  /** The members of its params beside `_meta`, in both eras. */
  readonly params: readonly string[];
} & (
  | { readonly kind: 'open' }
  /** Forwarded as it is. */
  | { readonly kind: 'pass' }
  | { readonly kind: 'list'; readonly list: ListKind }
  /** It names an item of a list: sealed before it is forwarded, and after. */
  | { readonly kind: 'call'; readonly names: Naming }
);

/** How a request says which item it is about. */
export type Naming = 'tool' | 'prompt' | 'resource' | 'reference' | 'subscriptions';

const BOTH: readonly Era[] = ['initialize', 'stateless'];
const INITIALIZE: readonly Era[] = ['initialize'];
const STATELESS: readonly Era[] = ['stateless'];

/** Members of a repeated request (2026-07-28, Multi Round-Trip Requests). */
export const AGAIN: readonly string[] = ['inputResponses', 'requestState'];
const PAGE = ['cursor'];
const NAMED = ['name', 'arguments', 'task', ...AGAIN];

const HOST_REQUESTS: Readonly<Record<string, HostRequest>> = {
  initialize: { kind: 'open', eras: INITIALIZE, params: ['protocolVersion', 'capabilities', 'clientInfo'] },
  'server/discover': { kind: 'open', eras: STATELESS, params: [] },
  ping: { kind: 'pass', eras: INITIALIZE, params: [] },
  'logging/setLevel': { kind: 'pass', eras: INITIALIZE, params: ['level'] },
  'tools/list': { kind: 'list', eras: BOTH, params: PAGE, list: 'tools' },
  'prompts/list': { kind: 'list', eras: BOTH, params: PAGE, list: 'prompts' },
  'resources/list': { kind: 'list', eras: BOTH, params: PAGE, list: 'resources' },
  'resources/templates/list': { kind: 'list', eras: BOTH, params: PAGE, list: 'resourceTemplates' },
  'tools/call': { kind: 'call', eras: BOTH, params: NAMED, names: 'tool' },
  'prompts/get': { kind: 'call', eras: BOTH, params: NAMED, names: 'prompt' },
  'resources/read': { kind: 'call', eras: BOTH, params: ['uri', ...AGAIN], names: 'resource' },
  'completion/complete': {
    kind: 'call',
    eras: BOTH,
    params: ['ref', 'argument', 'context'],
    names: 'reference',
  },
  'resources/subscribe': { kind: 'call', eras: INITIALIZE, params: ['uri'], names: 'resource' },
  'resources/unsubscribe': { kind: 'call', eras: INITIALIZE, params: ['uri'], names: 'resource' },
  'subscriptions/listen': {
    kind: 'call',
    eras: STATELESS,
    params: ['notifications'],
    names: 'subscriptions',
  },
};

/** The capabilities of a server whose methods are in the table; others are not shown to the host. */
export const SERVER_CAPABILITIES: readonly string[] = [
  'tools',
  'prompts',
  'resources',
  'completions',
  'logging',
];

/** What a server may request of a host, if the operator permits it. */
export const CLIENT_FEATURES = ['roots', 'sampling', 'elicitation'] as const;
export type ClientFeature = (typeof CLIENT_FEATURES)[number];

const SERVER_REQUESTS: Readonly<Record<string, ClientFeature | null>> = {
  ping: null,
  'roots/list': 'roots',
  'sampling/createMessage': 'sampling',
  'elicitation/create': 'elicitation',
};

/** `exact` is forwarded as it is; the others name a request by its id, its progress token or a subscription. */
type Notification = 'exact' | 'request' | 'token' | 'subscription';

interface NotificationRow {
  readonly carries: Notification;
  /** The members of its params beside `_meta`. */
  readonly params: readonly string[];
  readonly feature?: ClientFeature;
}

const CANCELLED: NotificationRow = { carries: 'request', params: ['requestId', 'reason'] };
const PROGRESS: NotificationRow = {
  carries: 'token',
  params: ['progressToken', 'progress', 'total', 'message'],
};

const HOST_NOTIFICATIONS: Readonly<Record<string, NotificationRow>> = {
  'notifications/initialized': { carries: 'exact', params: [] },
  'notifications/cancelled': CANCELLED,
  'notifications/progress': PROGRESS,
  'notifications/roots/list_changed': { carries: 'exact', params: [], feature: 'roots' },
};

const CHANGED: NotificationRow = { carries: 'subscription', params: [] };

const SERVER_NOTIFICATIONS: Readonly<Record<string, NotificationRow>> = {
  'notifications/message': { carries: 'exact', params: ['level', 'logger', 'data'] },
  'notifications/cancelled': CANCELLED,
  'notifications/progress': PROGRESS,
  'notifications/tools/list_changed': CHANGED,
  'notifications/prompts/list_changed': CHANGED,
  'notifications/resources/list_changed': CHANGED,
  'notifications/resources/updated': { carries: 'subscription', params: ['uri'] },
  'notifications/subscriptions/acknowledged': { carries: 'subscription', params: ['notifications'] },
  'notifications/elicitation/complete': {
    carries: 'exact',
    params: ['elicitationId'],
    feature: 'elicitation',
  },
};

/** Every method in the tables, by who sends it. */
export const METHODS: Readonly<Record<string, readonly string[]>> = {
  'Requests of the host': Object.keys(HOST_REQUESTS),
  'Requests of the server': Object.keys(SERVER_REQUESTS),
  'Notifications of the host': Object.keys(HOST_NOTIFICATIONS),
  'Notifications of the server': Object.keys(SERVER_NOTIFICATIONS),
};

/** The row of a method of the host. Throws a denial for one that is unknown, or not of this era if that is known. */
export function hostRequest(method: string, era?: Era): HostRequest {
  const row = own(HOST_REQUESTS, method);
  if (row !== undefined && (era === undefined || row.eras.includes(era))) return row;
  throw notPassed('The gateway does not forward this request from a host.');
}

/** Throws a denial for a request that a server may not send. */
export function serverRequest(method: string, features: ReadonlySet<ClientFeature>): void {
  const feature = own(SERVER_REQUESTS, method);
  if (feature === undefined) throw notPassed('The gateway does not forward this request from a server.');
  if (feature !== null && !features.has(feature)) {
    throw notPassed(`The gateway does not forward requests for ${feature}; its operator can permit them.`);
  }
}

/** The row of a notification. Throws a denial for one that may not be forwarded. */
export function notification(
  from: 'host' | 'server',
  method: string,
  features: ReadonlySet<ClientFeature>,
): NotificationRow {
  const row = own(from === 'host' ? HOST_NOTIFICATIONS : SERVER_NOTIFICATIONS, method);
  if (row === undefined || (row.feature !== undefined && !features.has(row.feature))) {
    throw notPassed(`The gateway does not forward this notification from a ${from}.`);
  }
  return row;
}

function own<Row>(table: Readonly<Record<string, Row>>, method: string): Row | undefined {
  return Object.hasOwn(table, method) ? table[method] : undefined;
}

function notPassed(message: string): Denial {
  return new Denial('method', 'GATEWAY_METHOD', message, { rpc: RPC.method });
}
