/**
 * What agents could do: registered agents, capability links, envelopes, and sessions whose every turn is bound
 * to the link of what the agent could do in it. Errors are `BullaError` with a code that starts with `REGISTRY_` or
 * `SESSION_`; what core and the store throw keeps its own.
 */
export type { TurnTool } from './call.ts';
export type { Transition, TurnRecord } from './history.ts';
export type {
  ContextEvent,
  ErrorEvent,
  OnHookError,
  RanEvent,
  RunEvent,
  SessionHooks,
  TurnEvent,
} from './hooks.ts';
export {
  createSessionHost,
  type Session,
  type SessionHost,
  type SessionHostOptions,
  type SessionOptions,
} from './host.ts';
export { createRegistry, type Registry } from './registry.ts';
export type { AgentRecord } from './rows.ts';
export type { SessionRecord } from './sessions.ts';
export { linkOfShown, type ShownLink, type ShownTool } from './shown.ts';
export type { ContextSource, Turn, TurnOptions } from './turn.ts';
