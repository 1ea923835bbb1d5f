import type { RuleResult } from '@bulla/core/cel';
import { BullaError } from '@bulla/core/error';
import { JsonObject } from '@bulla/core/json';
import type { Lock } from '@bulla/core/lock';
import { quote } from '../../mcp/index.ts';
import type { Denial } from '../denial.ts';
import type { FoundSecret } from '../secrets/index.ts';
import type { GatedCall } from './gate.ts';

/** A call of a tool as rules are asked about it. */
export interface AskedCall {
  readonly definition: JsonObject;
  readonly args: JsonObject;
  readonly origin: { readonly server: string; readonly agent: string; readonly digest?: string };
}

/** What rules are asked about; null where the lock does not hold the definition of the tool. */
export function askedCall({ subject, call, evidence }: GatedCall, { native }: Lock): AskedCall | null {
  const { name, args } = subject;
  const definition = name === null ? undefined : native?.tools.get(name)?.definition;
  if (!(definition instanceof JsonObject) || !(args instanceof JsonObject)) return null;
  const digest = evidence.tool?.locked;
  const origin = { server: call.tool!.server!, agent: call.agentId, ...(digest !== undefined && { digest }) };
  return { definition, args, origin };
}

/** Makes the input of rules. Throws as `refused` says for what they cannot read, such as what is nested too deep. */
export function readable<T>(make: () => T, refused: (cause: BullaError) => Denial): T {
  try {
    return make();
  } catch (cause) {
    if (!(cause instanceof BullaError) || cause.code !== 'POLICY_INPUT') throw cause;
    throw refused(cause);
  }
}

/** The rules that failed, with what they say of themselves. */
export function why(failed: readonly RuleResult[]): string {
  return failed.map(({ name, message }) => `${name}: ${message}`).join(' ');
}

const MAX_PLACES = 5;

/** What was found, for a sentence: of which kinds, and where; nothing of a value. Empty where nothing was. */
export function foundText(secrets: readonly FoundSecret[]): { kinds: string; places: string } {
  if (secrets.length === 0) return { kinds: '', places: '' };
  const kinds = [...new Set(secrets.map(({ kind }) => kind))].join(', ');
  const places = secrets.slice(0, MAX_PLACES).map(({ kind, pointer }) => `${kind} at ${quote(pointer)}`);
  const more = secrets.length > MAX_PLACES ? ` and ${secrets.length - MAX_PLACES} more` : '';
  return { kinds: ` Found: ${kinds}.`, places: ` Found: ${places.join(', ')}${more}.` };
}
