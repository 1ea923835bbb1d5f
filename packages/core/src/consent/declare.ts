import { isRow } from './check-row.ts';
import { type BindEvent, type ManifestEvent, refused, type Step } from './event.ts';
import type { Declared, DeclaredTool, Tool } from './rows.ts';
import { manifestOf } from './standing.ts';
import { applyChanges, boundKey, type ConsentState, put } from './state.ts';
import { sweep } from './sweep.ts';

// What an agent declares, and which tools of servers that is. Both end what rested on a tool that is another one now.

export function declare(state: ConsentState, event: ManifestEvent): Step {
  const before = manifestOf(state);
  const { agent, version, hash, bindings, scopes, tools } = event.manifest;
  if (agent !== state.agent) return refused('CONSENT_STATE', 'The rows are those of another agent.');
  if (!Number.isSafeInteger(version) || version <= (before?.version ?? 0))
    return refused('CONSENT_MANIFEST', 'The version of a manifest only grows.');
  return next(state, { agent, version, hash, bindings, scopes: [...scopes] }, tools, event);
}

export function bind(state: ConsentState, event: BindEvent): Step {
  const before = manifestOf(state);
  if (before === undefined) return refused('CONSENT_MANIFEST', 'The agent declares nothing yet.');
  const { agent, version, hash, scopes } = before;
  const unknown = [...event.bound.keys()].some((name) => !state.tools.has(name));
  if (unknown) return refused('CONSENT_MANIFEST', 'A binding is of a tool that is not declared.');
  const tools = before.tools.map(({ since: _, ...tool }) => ({
    ...tool,
    bound: event.bound.get(tool.name) ?? null,
  }));
  const about = { agent, version, hash, bindings: event.bindings, scopes };
  return next(state, about, tools, { at: event.at, breaking: false });
}

/** Writes the next revision, and ends what does not hold under it. */
function next(
  state: ConsentState,
  about: Pick<Declared, 'agent' | 'version' | 'hash' | 'bindings' | 'scopes'>,
  tools: readonly Tool[],
  { at, breaking }: { readonly at: number; readonly breaking: boolean },
): Step {
  const before = manifestOf(state);
  const rev = (before?.rev ?? 0) + 1;
  const dated = tools.map((tool): DeclaredTool => ({ ...tool, since: since(state, tool) ?? rev }));
  const broke = breaking || tools.some((tool) => isRebound(state, tool));
  const change = put(state, 'manifests', {
    ...about,
    breaking: broke ? rev : (before?.breaking ?? 0),
    tools: dated,
  });
  if (!isRow('manifests', change.row))
    return refused('CONSENT_MANIFEST', 'A tool or a scope of the manifest is not a valid one.');
  const keys = tools.flatMap(({ bound }) => (bound === null ? [] : [boundKey(bound)]));
  if (new Set(keys).size < keys.length)
    return refused('MANIFEST_BINDING_TWICE', 'Two declared tools are bound to one tool of a server.');
  const after = sweep(applyChanges(state, [change]), { type: 'sweep', at });
  return { ...after, changes: [change, ...after.changes] };
}

/** The revision since which a tool is defined and bound as it is now; undefined if that is new. */
function since({ tools }: ConsentState, tool: Tool): number | undefined {
  const before = tools.get(tool.name);
  const same =
    before?.digest === tool.digest &&
    before.permission_scope === tool.permission_scope &&
    isSame(before.bound, tool.bound);
  return same ? before.since : undefined;
}

/** Whether a binding that people were shown is another one now, or gone. A first one only adds what can be called. */
export function isRebound({ tools }: Pick<ConsentState, 'tools'>, { name, bound }: Tool): boolean {
  const before = tools.get(name)?.bound ?? null;
  return before !== null && !isSame(before, bound);
}

function isSame(a: Tool['bound'], b: Tool['bound']): boolean {
  return a?.server === b?.server && a?.tool === b?.tool;
}
