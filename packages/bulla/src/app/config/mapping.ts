import { type ArgumentMapping, readMapping } from '@bulla/core/envelope';
import { parse, stringify } from '@bulla/core/json';

/** Which envelopes approve the calls of a tool, as the configuration says it. */
interface ToolEnvelope {
  readonly action: string;
  readonly bind: ReadonlyMap<string, string>;
  readonly free?: readonly string[];
  readonly fixed?: ReadonlyMap<string, string | number>;
}

/** Throws `EE_ARGS_MAPPING` with the path. */
export function mappingOf({ action, bind, free = [], fixed = new Map() }: ToolEnvelope): ArgumentMapping {
  const fields = { ...Object.fromEntries(fixed), '/action_type': action };
  return readMapping(parse(stringify({ bind: Object.fromEntries(bind), free, fixed: fields })));
}
