import { type ConsentState, calledTool, type Declared } from '@bulla/core/consent';
import type { JsonObject, JsonValue } from '@bulla/core/json';
import type { Manifest } from '@bulla/core/manifest';
import { accepts } from '@bulla/core/schema';

// Arguments are checked against what the manifest says that a tool takes before anybody is asked about them.

/** Arguments that the declared tool does not take. */
interface Unfit {
  readonly declared: string;
  readonly manifest: Declared;
}

/**
 * Says which declared tool refuses the arguments for certain; null where none does. Of a call that is of no declared
 * tool, or of another definition of it, nothing is said: it is denied anyway.
 */
export type CheckArguments = (
  state: ConsentState,
  called: { readonly server: string | null; readonly tool: string },
  declared: string | null,
  args: JsonValue,
) => Promise<Unfit | null>;

const KNOWN = 64;

/** `content` reads the manifest with a hash; each is read once. */
export function createArgumentCheck(content: (hash: string) => Promise<Manifest>): CheckArguments {
  const known = new Map<string, ReadonlyMap<string, JsonObject>>();
  const schemasOf = async (hash: string) => {
    const found = known.get(hash);
    if (found !== undefined) return found;
    const { tools } = await content(hash);
    const schemas = new Map(tools.map(({ name, input_schema }) => [name, input_schema]));
    if (known.size === KNOWN) known.delete(known.keys().next().value!);
    known.set(hash, schemas);
    return schemas;
  };
  return async (state, called, declared, args) => {
    const manifest = state.rows.manifests.get(state.agent);
    const tool = calledTool(state, called);
    if (manifest === undefined || tool === undefined) return null;
    if (declared !== null && declared !== tool.digest) return null;
    const schema = (await schemasOf(manifest.hash)).get(tool.name)!;
    if (accepts(schema, args) !== false) return null;
    return { declared: tool.digest, manifest };
  };
}
