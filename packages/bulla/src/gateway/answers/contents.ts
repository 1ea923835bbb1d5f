import { sha256Hex } from '@bulla/core/crypto';
import { JsonObject, type JsonValue } from '@bulla/core/json';
import type { Content } from '@bulla/core/lock';
import {
  caseTwin,
  contentBytes,
  type ErrorFrame,
  foldCase,
  quote,
  type ResultFrame,
  twinFinder,
} from '../../mcp/index.ts';
import { Denial } from '../denial.ts';
import { isSameJson, type Pins } from '../lists/pins.ts';
import { twinned } from './result.ts';

const MEMBERS = ['uri', 'mimeType', 'text', 'blob', '_meta'];
/** The members of a link to a resource. Not `_meta`, which can change how a page is shown. */
const LINK = ['type', 'uri', 'name', 'title', 'description', 'mimeType', 'size', 'icons', 'annotations'];
/** The keys under which a host reads objects of the protocol: contents, messages, blocks and embedded resources. */
const READ = ['contents', 'messages', 'content', 'resource'];
const blockTwin = twinFinder([...MEMBERS, ...READ, 'type', 'data', 'role', 'structuredContent']);

/**
 * Checks pinned contents, such as a page that the host would show, in an answer. The answer to a read of the pinned URI,
 * in any spelling, is exactly the pinned item (`requested` is null for other requests). No other object in an answer has
 * the pinned URI, or one that a host could take for it. The caller checks the members of `own`. Throws a denial.
 */
export function checkContents(
  answer: ResultFrame | ErrorFrame,
  requested: string | null,
  own: readonly string[],
  pins: Pins,
): void {
  if (answer.kind === 'error') {
    checkAll(answer.error.data ?? null, [], pins);
    return;
  }
  const { result } = answer;
  const pinned = requested === null ? undefined : pins.contentLike(requested);
  const isAsking = result.get('resultType') === 'input_required' && !result.has('contents');
  if (pinned !== undefined && !isAsking) {
    const contents = result.get('contents');
    if (!Array.isArray(contents) || contents.length !== 1 || !isPinned(contents[0]!, pinned)) {
      throw changed(pinned.uri);
    }
  }
  checkAll(result, own, pins);
}

/** Checks every object in a value that a server sent, at any depth, without recursion. Throws a denial. */
export function checkAll(root: JsonValue, own: readonly string[], pins: Pins): void {
  const open: { readonly value: JsonValue; readonly isRead: boolean }[] = [{ value: root, isRead: true }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, isRead } = next;
    if (Array.isArray(value)) {
      for (const item of value) if (isCompound(item)) open.push({ value: item, isRead });
      continue;
    }
    if (!(value instanceof JsonObject)) continue;
    checkAddress(value, pins);
    const twin = isRead && value !== root ? blockTwin(value) : null;
    if (twin !== null) throw twinned(twin);
    for (const [i, key] of value.keys.entries()) {
      const item = value.values[i]!;
      if (!isCompound(item) || (value === root && own.includes(key))) continue;
      open.push({ value: item, isRead: isRead && READ.includes(key) });
    }
  }
}

function isCompound(value: JsonValue): boolean {
  return value instanceof JsonObject || Array.isArray(value);
}

/** An object whose URI could be taken for a pinned one is exactly the pinned content, or a link to it. */
function checkAddress(object: JsonObject, pins: Pins): void {
  for (const [i, key] of object.keys.entries()) {
    // Folding makes no text shorter.
    if (key.length > 3 || foldCase(key) !== 'uri') continue;
    const uri = object.values[i];
    const meant = typeof uri === 'string' ? pins.contentLike(uri) : undefined;
    if (meant === undefined || isPinned(object, meant)) continue;
    if (!object.keys.every((member) => LINK.includes(member))) throw changed(meant.uri);
  }
}

function changed(uri: string): Denial {
  return new Denial(
    'server',
    'GATEWAY_CONTENT_CHANGED',
    `The content of ${quote(uri)} is not what was locked. It stays blocked until its operator has reviewed the change and locked it again.`,
  );
}

function isPinned(item: JsonValue, { uri, sha256, mimeType, meta }: Content): boolean {
  if (!(item instanceof JsonObject) || caseTwin(item, MEMBERS) !== null || item.get('uri') !== uri)
    return false;
  const bytes = contentBytes(item);
  if (bytes === null || sha256Hex(bytes) !== sha256) return false;
  return (item.get('mimeType') ?? null) === mimeType && isSameJson(item.get('_meta') ?? null, meta ?? null);
}
