import { JsonObject } from '@bulla/core/json';
import { drift, type Lock } from '@bulla/core/lock';
import { skeleton } from '@bulla/core/text';
import { quote } from '../../mcp/index.ts';
import type { Routed } from './routes.ts';

/**
 * Lines for the operator about tools that could act on those of another server: one whose texts speak of another
 * server's tool, and one whose own name is that of another server's tool, or looks like it. The texts of a lock that
 * holds only hashes are not known.
 */
export function shadowsOf(members: readonly Routed[]): string[] {
  return members.flatMap(({ key, lock }, own) => {
    const others = new Map<string, { readonly owner: string; readonly isBehind: boolean }>();
    for (const [i, other] of members.entries()) {
      if (i === own) continue;
      for (const name of other.lock.tools.keys()) others.set(name, { owner: other.key, isBehind: i > own });
    }
    const tell = (name: string, does: string, other: string) =>
      `the tool ${quote(name)} of ${quote(key)} ${does} ${quote(other)} of ${quote(others.get(other)!.owner)}`;
    // Of two that are alike, the first is told.
    const same = [...lock.tools.keys()]
      .filter((name) => others.get(name)?.isBehind)
      .map((name) => tell(name, 'has the name of the tool', name));
    const byLook = new Map([...others.keys()].map((name) => [skeleton(name), name]));
    const items = drift(withoutAnyTool(lock), lock, { otherTools: [...others.keys()] }).items;
    const found = items.flatMap(({ kind, code, name, before, after }) => {
      if (kind !== 'tool') return [];
      if (code === 'confusable-name' && typeof before === 'string' && others.get(before)?.isBehind) {
        return [tell(name, 'can be taken for the tool', before)];
      }
      if (code !== 'tool-referenced' || !Array.isArray(after)) return [];
      const named = after.filter((tool) => typeof tool === 'string');
      return (
        named
          // A name is found by its looks, and an own tool may look like it.
          .map((tool) => byLook.get(skeleton(tool)))
          .filter((tool) => tool !== undefined && !lock.tools.has(tool))
          .map((tool) => tell(name, 'speaks of the tool', tool!))
      );
    });
    return [...new Set([...same, ...found])];
  });
}

/** Against it, every tool is new. */
function withoutAnyTool(lock: Lock): Lock {
  const document = JsonObject.from([...lock.document].filter(([key]) => key !== 'tools'));
  const native = lock.native && { ...lock.native, tools: new Map() };
  return { ...lock, document, tools: new Map(), native };
}
