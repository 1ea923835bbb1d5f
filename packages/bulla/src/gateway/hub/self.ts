import { toUtf8 } from '@bulla/core/crypto';
import { isInteger, JsonNumber, JsonObject, type JsonValue, stringify } from '@bulla/core/json';
import { INITIALIZE_VERSIONS, type ResultFrame } from '../../mcp/index.ts';
import { VERSION } from '../../version.ts';
import { Denial } from '../denial.ts';
import { SERVER_CAPABILITIES } from '../gates/methods.ts';
import { SERVER_INFO } from '../wire/tokens.ts';

/** How a member described itself in its answer to `initialize` or `server/discover`. */
export interface Described {
  readonly key: string;
  readonly answer: ResultFrame;
}

/** How several servers describe themselves as one. */
export const OWN_INFO: Readonly<Record<'name' | 'version', string>> = { name: 'bulla', version: VERSION };

/**
 * The answer to `initialize` for all members: the oldest version that one of them chose, which the others understand,
 * what any of them can do, and the instructions of each under its key.
 */
export function initializeResult(members: readonly Described[]): object {
  const versions = members.map(({ answer }) => answer.result.get('protocolVersion') as string);
  const oldest = versions.toSorted((a, b) => INITIALIZE_VERSIONS.indexOf(a) - INITIALIZE_VERSIONS.indexOf(b));
  return {
    protocolVersion: oldest.at(-1)!,
    capabilities: capabilitiesOf(members),
    serverInfo: OWN_INFO,
    ...instructionsOf(members),
  };
}

/**
 * The answer to `server/discover` for all members: the versions that all of them speak, for as long as the first of the
 * answers holds. Throws a denial where they have no version in common.
 */
export function discoverResult(members: readonly Described[]): object {
  const lists = members.map(({ answer }) => answer.result.get('supportedVersions') as JsonValue[]);
  const common = lists[0]!.filter((version) => lists.every((list) => list.includes(version)));
  if (common.length === 0) {
    const message = 'The servers have no protocol version in common.';
    throw new Denial('session', 'GATEWAY_VERSION', message, { kind: 'peer' });
  }
  return {
    resultType: 'complete',
    supportedVersions: common,
    capabilities: capabilitiesOf(members),
    ...instructionsOf(members),
    ...cachingOf(members.map(({ answer }) => answer)),
    _meta: { [SERVER_INFO]: OWN_INFO },
  };
}

/** How long answers hold together, and for whom: as the strictest of them says (2026-07-28, Caching). */
export function cachingOf(answers: readonly ResultFrame[]): { ttlMs: JsonNumber; cacheScope: string } {
  const ttls = answers.map(({ result }) => result.get('ttlMs'));
  const known = ttls.filter((ttl): ttl is JsonNumber => ttl instanceof JsonNumber && isInteger(ttl));
  const least = known.toSorted((a, b) => a.toNumber() - b.toNumber())[0];
  return {
    ttlMs: known.length < ttls.length || least === undefined ? new JsonNumber('0') : least,
    cacheScope: answers.every(({ result }) => result.get('cacheScope') === 'public') ? 'public' : 'private',
  };
}

/** What any member can do. Of two values the one that is true counts, else the first. */
function capabilitiesOf(members: readonly Described[]): JsonObject {
  const all = members.map(({ answer }) => answer.result.get('capabilities') as JsonObject);
  const entries = SERVER_CAPABILITIES.flatMap((name): [string, JsonObject][] => {
    const own = all.map((given) => given.get(name)).filter((value) => value instanceof JsonObject);
    if (own.length === 0) return [];
    const merged = new Map<string, JsonValue>();
    for (const [key, value] of own.flatMap((object) => [...object])) {
      if (!merged.has(key) || value === true) merged.set(key, value);
    }
    return [[name, JsonObject.from(merged)]];
  });
  return JsonObject.from(entries);
}

function instructionsOf(members: readonly Described[]): { instructions?: string } {
  const parts = members.flatMap(({ key, answer }) => {
    const text = answer.result.get('instructions');
    return typeof text === 'string' && text !== '' ? [`## ${key}\n\n${text}`] : [];
  });
  return parts.length === 0 ? {} : { instructions: parts.join('\n\n') };
}

/** An answer of the gateway itself to a request of the host, whose id is given byte for byte. */
export function resultBytes(id: Uint8Array, result: object): Uint8Array {
  return Buffer.concat([toUtf8('{"jsonrpc":"2.0","id":'), id, toUtf8(`,"result":${stringify(result)}}`)]);
}
