import { JsonObject, type JsonValue } from '@bulla/core/json';
import type { ListKind } from '@bulla/core/lock';
import { LISTS, quote, type RequestFrame } from '../../mcp/index.ts';
import type { Part } from '../../record/index.ts';
import type { Context } from '../context.ts';
import { asDenial, Denial } from '../denial.ts';
import { type Offer, refused } from '../lists/page.ts';
import type { Pins } from '../lists/pins.ts';
import { matchesTemplate } from '../lists/uri.ts';
import { waivedStep } from '../record.ts';
import type { Gate, GatedCall } from './gate.ts';
import { AGAIN, type Naming } from './methods.ts';
import { badParams, checkParams, onlyMembers } from './params.ts';
import { ownMeta } from './session.ts';

/** An item of a list that a call needs. */
export interface Item {
  readonly kind: ListKind;
  readonly key: string;
}

/** An item that a call may use, with the digest of what the server offers under its name. */
interface Found extends Item {
  readonly digest: string | null;
}

/** What a request is about. It needs one of the candidates of each entry of `needs`. */
export interface Subject {
  /** As the record names it: an identifier, never an argument. */
  readonly name: string | null;
  /** The arguments, or the parameters of a method that has no arguments. */
  readonly args: JsonValue;
  /** The other forwarded parameters except `_meta` and the name; null for none. */
  readonly rest: JsonObject | null;
  readonly needs: readonly (readonly Item[])[];
}

/** 2026-07-28, Subscriptions: what a host can listen to. */
const LISTENED = ['toolsListChanged', 'promptsListChanged', 'resourcesListChanged', 'resourceSubscriptions'];

/**
 * Reads which items a request is about; `known` are the members that its params may have. Throws a denial as
 * `checkParams` does, and for a resource that no entry of the lock covers.
 */
export function subjectOf(frame: RequestFrame, names: Naming, known: readonly string[], pins: Pins): Subject {
  const params = frame.params ?? new JsonObject();
  checkParams(params, known);
  const args = only(params, (key) => key !== '_meta' && !AGAIN.includes(key));
  const again = only(params, (key) => AGAIN.includes(key));
  const rest = again.size === 0 ? null : again;
  switch (names) {
    case 'tool':
    case 'prompt': {
      if (params.has('task')) throw badParams('Tasks do not pass this gateway; call the tool without one.');
      const name = text(params, 'name');
      const kind = names === 'tool' ? 'tools' : 'prompts';
      const given = params.has('arguments') ? params.get('arguments') : new JsonObject();
      if (!(given instanceof JsonObject)) throw badParams('arguments is an object.');
      return { name, args: given, rest, needs: [[{ kind, key: name }]] };
    }
    case 'resource': {
      const candidates = resourceItems(text(params, 'uri'), pins);
      return { name: candidates[0]!.key, args, rest, needs: [candidates] };
    }
    case 'reference': {
      const item = referenceItem(params.get('ref'), pins);
      return { name: item.key, args, rest, needs: [[item]] };
    }
    case 'subscriptions': {
      const wanted = params.get('notifications');
      if (!(wanted instanceof JsonObject)) throw badParams('notifications is an object.');
      onlyMembers(wanted, LISTENED);
      const uris = wanted.get('resourceSubscriptions') ?? [];
      if (!Array.isArray(uris)) throw badParams('resourceSubscriptions is a list.');
      return { name: null, args, rest, needs: uris.map((uri) => resourceItems(asText(uri, 'A URI'), pins)) };
    }
  }
}

function referenceItem(ref: JsonValue | undefined, pins: Pins): Item {
  if (!(ref instanceof JsonObject)) throw badParams('ref is an object.');
  const type = ref.get('type');
  if (type === 'ref/prompt') {
    onlyMembers(ref, ['type', 'name', 'title']);
    return { kind: 'prompts', key: text(ref, 'name') };
  }
  if (type !== 'ref/resource') throw badParams('ref is of no known type.');
  onlyMembers(ref, ['type', 'uri']);
  const uri = text(ref, 'uri');
  return { kind: pins.has('resources', uri) ? 'resources' : 'resourceTemplates', key: uri };
}

/** The locked resource, and the locked templates that the URI can come from. Throws a denial where there is neither. */
export function resourceItems(uri: string, pins: Pins): Item[] {
  const items: Item[] = pins.has('resources', uri) ? [{ kind: 'resources', key: uri }] : [];
  for (const key of pins.keys('resourceTemplates')) {
    if (matchesTemplate(key, uri)) items.push({ kind: 'resourceTemplates', key });
  }
  if (items.length > 0) return items;
  const message = 'The resource is not in the lock, and no locked template leads to it.';
  throw new Denial('pinned', 'GATEWAY_NOT_LOCKED', message);
}

/** The lock and the lists of the server, as far as a call depends on them. */
type Pinning = Pick<Context, 'pins' | 'offers' | 'wire' | 'features' | 'enforce'>;

/**
 * Every item that a call needs is locked, and is now offered by the server exactly as it was locked. Where the gateway
 * only watches, the call passes, and its record says what would have been blocked.
 */
export function pinnedGate(context: Pinning): Gate {
  const rule = async ({ subject, frame, horizon }: GatedCall): Promise<Part> => {
    const meta = ownMeta(frame, context.features);
    const found: Found[] = [];
    try {
      for (const candidates of subject.needs) found.push(await decide(candidates, context, horizon, meta));
    } catch (error) {
      const denial = asDenial(error);
      if (context.enforce.calls || (denial.stage !== 'pinned' && denial.stage !== 'lists')) throw denial;
      return { authority: [waivedStep(denial)] };
    }
    const [first] = found;
    if (first === undefined) return {};
    const { key: name, digest } = first;
    return { evidence: { tool: { name, ...(digest !== null && { locked: digest }) } } };
  };
  return {
    name: 'pinned',
    rule: async (call) => ({ pass: await rule(call) }),
    again: async (call) => void (await rule(call)),
  };
}

/** The first candidate that the server offers as it was locked. Rejects with a denial. */
async function decide(
  candidates: readonly Item[],
  { pins, offers, wire }: Pinning,
  horizon: number,
  meta: JsonObject | null,
): Promise<Found> {
  let denial: Denial | undefined;
  for (const { kind, key } of candidates) {
    if (!pins.has(kind, key)) throw notLocked(kind, key, pins);
    for (let i = 0; i < MAX_READINGS && offers.find(kind, key, horizon) === null; i++) {
      await offers.read(kind, (method, params) => wire.ask(method, params), meta);
    }
    const found = offers.find(kind, key, horizon);
    if (found !== null && found !== 'absent' && found.status === 'same') {
      return { kind, key, digest: found.digest };
    }
    denial ??= notOffered(kind, key, found);
  }
  throw denial!;
}

/** How often a list that changes while it is read is read again. */
const MAX_READINGS = 3;

function notOffered(kind: ListKind, key: string, found: Offer | 'absent' | null): Denial {
  if (found === null) return refused(`${LISTS[kind].method} changes too often`);
  const what = `The ${WORDS[kind]} ${quote(key)}`;
  if (found === 'absent') {
    const message = `${what} is locked, but the server does not offer it now.`;
    return new Denial('pinned', 'GATEWAY_NOT_OFFERED', message);
  }
  const message = `${what} is not what was locked: the server has changed its definition. It stays blocked until its operator has reviewed the change and locked it again.`;
  return new Denial('pinned', 'GATEWAY_CHANGED', message);
}

const WORDS: Readonly<Record<ListKind, string>> = {
  tools: 'tool',
  prompts: 'prompt',
  resources: 'resource',
  resourceTemplates: 'resource template',
};

function notLocked(kind: ListKind, key: string, pins: Pins): Denial {
  if (pins.isLeftOut(kind, key)) {
    const message = `The ${WORDS[kind]} ${quote(key)} is in the lock, but it is left out here: only some of the locked tools pass.`;
    return new Denial('pinned', 'GATEWAY_NOT_LOCKED', message);
  }
  const twin = pins.lookAlike(kind, key);
  const looks = twin === undefined ? '' : ` It only looks like ${quote(twin)}.`;
  const message = `The ${WORDS[kind]} ${quote(key)} is not in the lock.${looks} It stays blocked until its operator has reviewed and locked it.`;
  return new Denial('pinned', 'GATEWAY_NOT_LOCKED', message);
}

function text(params: JsonObject, key: string): string {
  return asText(params.get(key), key);
}

function asText(value: JsonValue | undefined, what: string): string {
  if (typeof value === 'string') return value;
  throw badParams(`${what} is a string.`);
}

function only(object: JsonObject, isWanted: (key: string) => boolean): JsonObject {
  return JsonObject.from([...object].filter(([key]) => isWanted(key)));
}
