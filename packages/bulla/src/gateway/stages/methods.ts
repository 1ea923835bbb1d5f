import type { Era, ListKind } from '@bulla/core/lock';
import { Denial, RPC } from '../denial.ts';

// The one table of what may pass. What is not in it does not pass, in either direction, whatever a later version of
// the protocol may say of it: somebody must first decide how it is checked.

/** How a request of the host is dealt with. */
export type HostRequest = {
  /** In which eras the method exists. */
  readonly eras: readonly Era[];
} & (
  | { readonly kind: 'open' }
  /** Forwarded as it is. */
  | { readonly kind: 'pass' }
  | { readonly kind: 'list'; readonly list: ListKind }
  /** It names an item of a list. With `recorded` it is a call: sealed before it is forwarded, and after. */
  | { readonly kind: 'call'; readonly names: Naming; readonly recorded: boolean }
);

/** How a request says which item it is about. */
export type Naming = 'tool' | 'prompt' | 'resource' | 'reference' | 'subscriptions';

const BOTH: readonly Era[] = ['initialize', 'stateless'];
const INITIALIZE: readonly Era[] = ['initialize'];
const STATELESS: readonly Era[] = ['stateless'];

const HOST_REQUESTS: Readonly<Record<string, HostRequest>> = {
  initialize: { kind: 'open', eras: INITIALIZE },
  'server/discover': { kind: 'open', eras: STATELESS },
  ping: { kind: 'pass', eras: INITIALIZE },
  'logging/setLevel': { kind: 'pass', eras: INITIALIZE },
  'tools/list': { kind: 'list', eras: BOTH, list: 'tools' },
  'prompts/list': { kind: 'list', eras: BOTH, list: 'prompts' },
  'resources/list': { kind: 'list', eras: BOTH, list: 'resources' },
  'resources/templates/list': { kind: 'list', eras: BOTH, list: 'resourceTemplates' },
  'tools/call': { kind: 'call', eras: BOTH, names: 'tool', recorded: true },
  'prompts/get': { kind: 'call', eras: BOTH, names: 'prompt', recorded: true },
  'resources/read': { kind: 'call', eras: BOTH, names: 'resource', recorded: true },
  'completion/complete': { kind: 'call', eras: BOTH, names: 'reference', recorded: true },
  'resources/subscribe': { kind: 'call', eras: INITIALIZE, names: 'resource', recorded: false },
  'resources/unsubscribe': { kind: 'call', eras: INITIALIZE, names: 'resource', recorded: false },
  'subscriptions/listen': { kind: 'call', eras: STATELESS, names: 'subscriptions', recorded: false },
};

/** The capabilities of a server whose methods are in the table; others are not shown to the host. */
export const SERVER_CAPABILITIES: readonly string[] = [
  'tools',
  'prompts',
  'resources',
  'completions',
  'logging',
];

/** What a host can do for a server. None of it passes unless the operator says so. */
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

const HOST_NOTIFICATIONS: Readonly<Record<string, { carries: Notification; feature?: ClientFeature }>> = {
  'notifications/initialized': { carries: 'exact' },
  'notifications/cancelled': { carries: 'request' },
  'notifications/progress': { carries: 'token' },
  'notifications/roots/list_changed': { carries: 'exact', feature: 'roots' },
};

const SERVER_NOTIFICATIONS: Readonly<Record<string, { carries: Notification; feature?: ClientFeature }>> = {
  'notifications/message': { carries: 'exact' },
  'notifications/cancelled': { carries: 'request' },
  'notifications/progress': { carries: 'token' },
  'notifications/tools/list_changed': { carries: 'subscription' },
  'notifications/prompts/list_changed': { carries: 'subscription' },
  'notifications/resources/list_changed': { carries: 'subscription' },
  'notifications/resources/updated': { carries: 'subscription' },
  'notifications/subscriptions/acknowledged': { carries: 'subscription' },
  'notifications/elicitation/complete': { carries: 'exact', feature: 'elicitation' },
};

/** Throws a denial for what a host may not send, in this era or, before it is known, in any. */
export function hostRequest(method: string, era?: Era): HostRequest {
  const row = own(HOST_REQUESTS, method);
  if (row !== undefined && (era === undefined || row.eras.includes(era))) return row;
  throw notPassed('The gateway passes no such request from a host.');
}

/** Throws a denial for what a server may not ask of a host. */
export function serverRequest(method: string, features: ReadonlySet<ClientFeature>): void {
  const feature = own(SERVER_REQUESTS, method);
  if (feature === undefined) throw notPassed('The gateway passes no such request from a server.');
  if (feature !== null && !features.has(feature)) {
    throw notPassed(`The gateway passes no requests for ${feature}; its operator can permit them.`);
  }
}

/** Throws a denial for what may not be told to the other side. */
export function notification(
  from: 'host' | 'server',
  method: string,
  features: ReadonlySet<ClientFeature>,
): Notification {
  const row = own(from === 'host' ? HOST_NOTIFICATIONS : SERVER_NOTIFICATIONS, method);
  if (row === undefined || (row.feature !== undefined && !features.has(row.feature))) {
    throw notPassed(`The gateway passes no such notification from a ${from}.`);
  }
  return row.carries;
}

function own<Row>(table: Readonly<Record<string, Row>>, method: string): Row | undefined {
  return Object.hasOwn(table, method) ? table[method] : undefined;
}

function notPassed(message: string): Denial {
  return new Denial('methods', 'GATEWAY_METHOD', message, { rpc: RPC.method });
}
