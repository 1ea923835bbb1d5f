import { BullaError } from '../error.ts';
import { pointer } from '../json/index.ts';
import { specOf, type ToolSpec } from './call.ts';
import { checkComposable, type Tool, type ToolRuntimeContext } from './composable.ts';
import { hashingOf } from './hashing.ts';
import { checkToolRefs } from './link.ts';
import type { AgentRuntimeSnapshot } from './snapshot.ts';
import { staticHash } from './static-hash.ts';
import { hashToolSpecWire, hashToolSpecWireAsRun, type ToolSpecWire } from './wire.ts';

/** Finds the tool that can do the work of one from the wire. `toolHash` is without what it stood on in its run. */
type BindTool<Env> = (bound: {
  readonly wire: ToolSpecWire;
  readonly toolHash: string;
}) => Tool<Env> | Promise<Tool<Env>>;

/** Tools that can be called again as they were in an earlier run. */
interface HydratedAffordances<Env>
  extends Required<Pick<ToolRuntimeContext<Env>, 'policyResults' | 'policySnapshotMode'>> {
  readonly tools: ReadonlyMap<string, ToolSpec<Env>>;
  readonly instructions: string;
}

/**
 * Binds the tools of an earlier run to handlers. First all tools must have the hashes of the link; then what
 * `bindTool` gives for each must have the same hash, with its schema and its policies, not just the same name. Throws
 * `CAPABILITY_ENVELOPE_INVALID` and `CAPABILITY_HYDRATE_MISMATCH`.
 *
 * Calls are gated by the tools' own policies alone: which dynamic toolkit brought a tool is not recorded.
 */
export async function hydrateAffordances<Env>(
  runtime: Pick<AgentRuntimeSnapshot, 'link' | 'affordances' | 'policy'>,
  bindTool: BindTool<Env>,
): Promise<HydratedAffordances<Env>> {
  const { link, affordances, policy } = runtime;
  const hashing = hashingOf(link);
  const { profile } = hashing;
  checkToolRefs(link.toolRefs, link.runtimeHash, profile);
  const names = Object.keys(affordances.tools);
  if (names.length !== link.toolRefs.length) mismatch('The link lists other tools.', []);
  const wires = link.toolRefs.map(({ toolKey, toolHash }) => {
    const wire = Object.hasOwn(affordances.tools, toolKey) ? affordances.tools[toolKey] : undefined;
    if (wire?.name === toolKey && hashToolSpecWireAsRun(wire, profile) === toolHash) return wire;
    return mismatch('The tool does not have the hash that the link lists.', [toolKey]);
  });
  const tools = new Map<string, ToolSpec<Env>>();
  for (const wire of wires) {
    const toolHash = hashToolSpecWire(wire, profile);
    const tool = await bindTool({ wire, toolHash });
    checkComposable(tool, pointer(['tools', wire.name]));
    if (tool.kind !== 'tool' || staticHash(tool, hashing) !== toolHash)
      mismatch('The tool that was bound has another hash.', [wire.name]);
    tools.set(wire.name, specOf(tool, []));
  }
  const { instructions } = affordances;
  return { tools, instructions, policyResults: policy.results, policySnapshotMode: policy.mode };
}

function mismatch(message: string, path: readonly string[]): never {
  throw new BullaError('CAPABILITY_HYDRATE_MISMATCH', message, { path: pointer(['tools', ...path]) });
}
