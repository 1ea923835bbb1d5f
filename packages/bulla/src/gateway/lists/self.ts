import { toUtf8 } from '@bulla/core/crypto';
import { JsonObject, type JsonValue, stringify } from '@bulla/core/json';
import {
  caseTwin,
  INITIALIZE_VERSIONS,
  quote,
  type ResultFrame,
  STATELESS_VERSIONS,
} from '../../mcp/index.ts';
import { Denial } from '../denial.ts';
import { SERVER_CAPABILITIES } from '../gates/methods.ts';
import { cutItems, cutMembers, type Edit, type Located, locate, replace } from '../wire/splice.ts';
import { SERVER_INFO } from '../wire/tokens.ts';
import { isSameJson, type Pins } from './pins.ts';

/** How a server's description of itself differs from the lock, and the edits that remove that. */
export interface SelfCheck {
  readonly edits: readonly Edit[];
  /** Paths inside the result, for the record. */
  readonly changed: readonly string[];
  /** Those of them that pass, because the lock holds no value for them. */
  readonly passed: readonly string[];
}

const MEMBERS = [
  ...['protocolVersion', 'supportedVersions', 'capabilities', 'instructions', 'serverInfo'],
  ...['_meta', 'resultType', 'ttlMs', 'cacheScope'],
];
/** The protocol requires these, so that they are replaced by the locked value and not cut. */
const NAMES = ['name', 'version'];
/** A lock of the released program holds no name and version; one of this form passes, since it carries no message. */
const PLAIN = /^[A-Za-z0-9@._+/-]{1,64}$/;

/**
 * Checks the answer to `initialize` or `server/discover`. The edits cut instructions, capabilities and members of the
 * description that are not as locked, and unknown protocol versions, and restore the locked name and version. Throws a
 * denial for an answer that has not the form of the protocol.
 */
export function checkSelf(frame: ResultFrame, pins: Pins): SelfCheck {
  const { result } = frame;
  const twin = caseTwin(result, MEMBERS);
  if (twin !== null) throw misshapen(`its member ${quote(twin)} differs from a known one only in case`);
  if ((result.get('resultType') ?? 'complete') !== 'complete') throw misshapen('it is not complete');
  const capabilities = locate(frame, 'result', 'capabilities');
  if (!(capabilities?.value instanceof JsonObject)) throw misshapen('it has no capabilities');
  const instructions = result.get('instructions') ?? null;
  if (instructions !== null && typeof instructions !== 'string') {
    throw misshapen('its instructions are not a string');
  }
  const parts: SelfCheck[] = [];
  if (instructions !== pins.instructions) {
    const index = instructions === null ? -1 : result.indexOf('instructions');
    const edits = cutMembers(locate(frame, 'result')!.span, (i) => i === index);
    parts.push({ edits, changed: ['/instructions'], passed: [] });
  }
  parts.push(capabilitiesKept(capabilities, pins.capabilities));
  for (const path of [['serverInfo'], ['_meta', SERVER_INFO]]) {
    const info = locate(frame, 'result', ...path);
    if (info === null) continue;
    if (!(info.value instanceof JsonObject)) throw misshapen('its serverInfo is not an object');
    parts.push(serverInfoKept(info, pins));
  }
  return {
    edits: [...parts.flatMap(({ edits }) => edits), ...unknownVersions(frame)],
    changed: parts.flatMap(({ changed }) => changed),
    passed: parts.flatMap(({ passed }) => passed),
  };
}

/**
 * Checks the description of the server in any other result (2026-07-28, Basic, `_meta` of results). One that is not an
 * object is cut.
 */
export function checkNamed(frame: ResultFrame, pins: Pins): SelfCheck {
  const info = locate(frame, 'result', '_meta', SERVER_INFO);
  if (info === null) return { edits: [], changed: [], passed: [] };
  if (info.value instanceof JsonObject) return serverInfoKept(info, pins);
  const meta = locate(frame, 'result', '_meta')!;
  const index = (meta.value as JsonObject).indexOf(SERVER_INFO);
  return { edits: cutMembers(meta.span, (i) => i === index), changed: ['/serverInfo'], passed: [] };
}

function serverInfoKept(info: Located, { serverInfo }: Pins): SelfCheck {
  const { edits, changed } = common(info, serverInfo, NAMES);
  const passed: string[] = [];
  const { keys, values } = info.value as JsonObject;
  for (const [i, key] of keys.entries()) {
    if (!NAMES.includes(key) || !changed.includes(`/${key}`)) continue;
    const locked = serverInfo.get(key);
    const value = values[i]!;
    if (locked === undefined && typeof value === 'string' && PLAIN.test(value))
      passed.push(`/serverInfo/${key}`);
    else
      edits.push(replace({ value, span: info.span.children![i]! }, toUtf8(stringify(locked ?? 'unknown'))));
  }
  return { edits, changed: changed.map((at) => `/serverInfo${at}`), passed };
}

/** Capabilities without methods in the table are cut too, which counts as no change of the server. */
function capabilitiesKept(place: Located, locked: JsonObject): SelfCheck {
  const passed = JsonObject.from([...locked].filter(([key]) => SERVER_CAPABILITIES.includes(key)));
  const changed = common(place, locked, []).changed.filter((path) =>
    SERVER_CAPABILITIES.includes(path.split('/')[1]!),
  );
  return {
    edits: common(place, passed, []).edits,
    changed: changed.map((path) => `/capabilities${path}`),
    passed: [],
  };
}

/**
 * Cuts every member that the locked object has not, or has with another value, at any depth of the lock, without
 * recursion. The members `spared` are only listed.
 */
function common(
  root: Located,
  lockedRoot: JsonObject,
  spared: readonly string[],
): { edits: Edit[]; changed: string[] } {
  const edits: Edit[] = [];
  const changed: string[] = [];
  const open = [{ place: root, locked: lockedRoot, at: '' }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { place, locked, at } = next;
    const { keys, values } = place.value as JsonObject;
    const doomed = new Set<number>();
    for (const [i, key] of keys.entries()) {
      const value = values[i]!;
      const other = locked.get(key);
      const path = `${at}/${key}`;
      if (value instanceof JsonObject && other instanceof JsonObject) {
        open.push({ place: { value, span: place.span.children![i]! }, locked: other, at: path });
      } else if (other === undefined || !isSameJson(value, other)) {
        changed.push(path);
        if (at !== '' || !spared.includes(key)) doomed.add(i);
      }
    }
    for (const edit of cutMembers(place.span, (i) => doomed.has(i))) edits.push(edit);
  }
  return { edits, changed };
}

function unknownVersions(frame: ResultFrame): Edit[] {
  const place = locate(frame, 'result', 'supportedVersions');
  if (place === null) return [];
  if (!Array.isArray(place.value)) throw misshapen('its supportedVersions is not a list');
  const versions = place.value;
  const known: readonly JsonValue[] = [...STATELESS_VERSIONS, ...INITIALIZE_VERSIONS];
  return cutItems(place.span, (i) => !known.includes(versions[i]!));
}

function misshapen(what: string): Denial {
  const message = `The server's description of itself cannot be used: ${what}.`;
  return new Denial('session', 'GATEWAY_BAD_ANSWER', message);
}
