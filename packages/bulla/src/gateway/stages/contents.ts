import { canonicalize } from '@bulla/core/canon';
import { fromBase64, sha256Hex, toUtf8 } from '@bulla/core/crypto';
import { JsonObject, type JsonValue } from '@bulla/core/json';
import type { Content } from '@bulla/core/lock';
import { caseTwin, quote, type ResultFrame } from '../../mcp/index.ts';
import { Denial, RPC } from '../denial.ts';
import type { Pins } from '../pins.ts';

const MEMBERS = ['uri', 'mimeType', 'text', 'blob', '_meta'];

/**
 * Checks what a server gives for a resource whose content is pinned, such as a page that the host would show. What is
 * pinned comes back exactly so when it is read, also by another spelling of its URI: one item, under the pinned URI
 * (`requested` is null for other requests).
 * Nothing else may pass for it, wherever it stands in an answer: neither another content under its URI, nor any
 * content under a URI that a host could take for it. Throws a denial.
 */
export function checkContents({ result }: ResultFrame, requested: string | null, pins: Pins): void {
  const pinned = requested === null ? undefined : pins.contentLike(requested);
  const isAsking = result.get('resultType') === 'input_required' && !result.has('contents');
  if (pinned !== undefined && !isAsking) {
    const contents = result.get('contents');
    if (!Array.isArray(contents) || contents.length !== 1 || !isPinned(contents[0]!, pinned)) {
      throw changed(pinned.uri);
    }
  }
  for (const item of resourcesIn(result)) {
    const uri = item instanceof JsonObject ? item.get('uri') : undefined;
    const meant = typeof uri === 'string' ? pins.contentLike(uri) : undefined;
    if (meant !== undefined && !isPinned(item, meant)) throw changed(meant.uri);
  }
}

/** The resources that a result holds: contents that were read, and those embedded in what a tool or a prompt says. */
function* resourcesIn(result: JsonObject): Iterable<JsonValue> {
  yield* listOf(result.get('contents'));
  const messages = listOf(result.get('messages')).map((message) => member(message, 'content'));
  for (const content of [result.get('content'), ...messages]) {
    for (const block of listOf(content)) {
      const resource = member(block, 'resource');
      if (resource !== undefined) yield resource;
    }
  }
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

function member(value: JsonValue, key: string): JsonValue | undefined {
  return value instanceof JsonObject ? value.get(key) : undefined;
}

function changed(uri: string): Denial {
  return new Denial(
    'calls',
    'GATEWAY_CONTENT_CHANGED',
    `The content of ${quote(uri)} is not what was locked. It stays blocked until its operator has reviewed the change and locked it again.`,
    { rpc: RPC.bad },
  );
}

function isPinned(item: JsonValue, { uri, sha256, mimeType, meta }: Content): boolean {
  if (!(item instanceof JsonObject) || caseTwin(item, MEMBERS) !== null || item.get('uri') !== uri)
    return false;
  const bytes = contentBytes(item.get('text'), item.get('blob'));
  if (bytes === null || sha256Hex(bytes) !== sha256) return false;
  return (item.get('mimeType') ?? null) === mimeType && isSame(item.get('_meta') ?? null, meta ?? null);
}

function contentBytes(text: JsonValue | undefined, blob: JsonValue | undefined): Uint8Array | null {
  if (typeof text === 'string' && blob === undefined) return toUtf8(text);
  if (typeof blob !== 'string' || text !== undefined) return null;
  try {
    return fromBase64(blob);
  } catch {
    return null;
  }
}

function isSame(a: JsonValue, b: JsonValue): boolean {
  try {
    return canonicalize(a, 'mcptrust-v1') === canonicalize(b, 'mcptrust-v1');
  } catch {
    return false;
  }
}
