import type {
  Declared,
  DeclaredTool,
  Detail,
  Grant,
  Prompt,
  ScopeObstacle,
  Silence,
  Subject,
} from './rows.ts';
import { highest } from './sensitivity.ts';
import { boundKey, type ConsentState } from './state.ts';

/** What the agent declares; undefined before it declared anything. */
export function manifestOf(state: ConsentState): Declared | undefined {
  return state.rows.manifests.get(state.agent);
}

/** Why a scope may not be used now; null if it may. */
export function scopeObstacle(state: ConsentState, scope: string): ScopeObstacle | null {
  const manifest = manifestOf(state);
  const sensitivity = state.scopes.get(scope);
  if (manifest === undefined || sensitivity === undefined) return 'scope_unknown';
  const grant = state.rows.grants.get(scope);
  if (grant === undefined) return 'scope_not_granted';
  if (grant.status !== 'granted') return grant.status === 'refused' ? 'scope_refused' : 'scope_revoked';
  if (grant.declared < manifest.breaking) return 'suspended';
  return grant.sensitivity === sensitivity ? null : 'sensitivity_changed';
}

/** Whether a tool is defined or bound in another way than when the person said this. */
export function isNew({ since }: DeclaredTool, { declared }: Grant | Silence): boolean {
  return since > declared;
}

/** Why a question is no longer worth an answer, or an allowed call no longer allowed; null if it is. */
export function obstacle(state: ConsentState, subject: Subject): Detail | null {
  if (subject.kind === 'grant')
    return manifestOf(state)?.hash === subject.manifest ? null : 'manifest_changed';
  const tool = state.tools.get(subject.tool!);
  if (tool === undefined) return 'tool_unknown';
  if (tool.digest !== subject.declared || tool.permission_scope !== subject.scope) return 'tool_changed';
  if (!isBoundTo(tool, subject)) return 'tool_changed';
  const found = scopeObstacle(state, tool.permission_scope);
  if (found !== null) return found;
  // Taken back and given again is another permission.
  if (state.rows.grants.get(tool.permission_scope)!.id !== subject.grant) return 'scope_revoked';
  const { sensitivity } = subject;
  return highest(sensitivity!, tool.sensitivity) === sensitivity ? null : 'sensitivity_changed';
}

/** The declared tool that is called: by its own name, or by its server's name for it. */
export function calledTool(
  state: ConsentState,
  { server, tool }: { readonly server: string | null; readonly tool: string },
): DeclaredTool | undefined {
  if (server !== null) return state.bound.get(boundKey({ server, tool }));
  const own = state.tools.get(tool);
  // What is bound to a server was disclosed as that server's: nothing else is called by its name.
  return own?.bound === null ? own : undefined;
}

function isBoundTo({ bound }: DeclaredTool, { server, server_tool }: Subject): boolean {
  return (bound?.server ?? null) === server && (bound?.tool ?? null) === server_tool;
}

/** Whether the person once took the scope back, refused it, or has not seen what became of it. */
export function takenBack(state: ConsentState, scope: string): boolean {
  return state.rows.grants.has(scope) && scopeObstacle(state, scope) !== null;
}

export function isLate({ expires_at }: Prompt, at: number): boolean {
  return expires_at !== null && at >= expires_at;
}

/** The names of the tools that an answer for the session covers: those of the scope on this server, as they are now. */
export function covered(state: ConsentState, scope: string, server: string | null): string[] {
  return [...state.tools.values()]
    .filter(({ permission_scope, bound }) => permission_scope === scope && (bound?.server ?? null) === server)
    .map(({ name }) => name);
}
