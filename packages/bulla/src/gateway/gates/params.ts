import { JsonObject, type JsonValue } from '@bulla/core/json';
import { caseTwin, META_VERSION, quote } from '../../mcp/index.ts';
import { Denial } from '../denial.ts';
import { SUBSCRIPTION_ID } from '../wire/tokens.ts';
import { META_CAPABILITIES, META_CLIENT } from './session.ts';

const META = [META_VERSION, META_CLIENT, META_CAPABILITIES, SUBSCRIPTION_ID, 'progressToken'];

/** Members of `_meta` that are for the gateway alone. What it takes, it cuts out before this is asked. */
const OWN = /^bulla\//i;

/**
 * Refuses members that differ from a known one only in case, and unknown members: they are neither checked nor recorded,
 * and the other side may act on them. Throws a denial.
 */
export function checkParams(params: JsonObject | null, known: readonly string[]): void {
  if (params === null) return;
  checkTwins(params, known);
  const meta = params.get('_meta');
  const own = meta instanceof JsonObject ? meta.keys.find((key) => OWN.test(key)) : undefined;
  if (own !== undefined) throw badParams(`The member ${quote(own)} of _meta is not known here.`);
  onlyMembers(params, withMeta(known));
}

/** The members of a row of the table of methods and `_meta`, in a list that is made once. */
function withMeta(known: readonly string[]): readonly string[] {
  let all = extended.get(known);
  if (all === undefined) {
    all = [...known, '_meta'];
    extended.set(known, all);
  }
  return all;
}

const extended = new WeakMap<readonly string[], readonly string[]>();

/** Refuses only members that differ from a known one in case. */
export function checkTwins(params: JsonObject | null, known: readonly string[]): void {
  if (params === null) return;
  refuseTwins(params, withMeta(known));
  const meta = params.get('_meta');
  if (meta instanceof JsonObject) refuseTwins(meta, META);
}

/** Throws a denial for a member that is not known. */
export function onlyMembers(object: JsonObject, known: readonly string[]): void {
  refuseTwins(object, known);
  const unknown = object.keys.find((key) => !known.includes(key));
  if (unknown !== undefined) throw badParams(`The member ${quote(unknown)} is not known.`);
}

/** 2025-11-25, Logging, Log Levels. */
export const LEVELS: readonly string[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
];

/** Throws a denial for an unknown level of a log. */
export function checkLevel(level: JsonValue | undefined): void {
  if (typeof level !== 'string' || !LEVELS.includes(level))
    throw badParams('The protocol has no such log level.');
}

/** A server that ignores case could read another member than the one that was checked. */
function refuseTwins(object: JsonObject, known: readonly string[]): void {
  const twin = caseTwin(object, known);
  if (twin !== null) throw badParams(`The member ${quote(twin)} differs from a known one only in case.`);
}

export function badParams(message: string): Denial {
  return new Denial('arguments', 'GATEWAY_PARAMS', message);
}
