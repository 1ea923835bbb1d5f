import { canonicalize } from '@bulla/core/canon';
import { fromBase64, sha256Hex, toUtf8 } from '@bulla/core/crypto';
import { JsonObject, type JsonValue } from '@bulla/core/json';
import type { Content } from '@bulla/core/lock';
import { quote, type ResultFrame } from '../../mcp/index.ts';
import { Denial, RPC } from '../denial.ts';
import type { Pins } from '../pins.ts';

/**
 * Checks what a server gives for a resource whose content is pinned, such as a page that the host would show. Throws a
 * denial for another content.
 */
export function checkContents({ result }: ResultFrame, pins: Pins): void {
  const contents = result.get('contents');
  if (!Array.isArray(contents)) return;
  for (const item of contents) {
    const uri = item instanceof JsonObject ? item.get('uri') : undefined;
    const pinned = typeof uri === 'string' ? pins.content(uri) : undefined;
    if (pinned === undefined || isPinned(item as JsonObject, pinned)) continue;
    throw new Denial(
      'calls',
      'GATEWAY_CONTENT_CHANGED',
      `The content of ${quote(pinned.uri)} is not what was locked. It stays blocked until its operator has reviewed the change and locked it again.`,
      { rpc: RPC.bad },
    );
  }
}

function isPinned(item: JsonObject, { sha256, mimeType, meta }: Content): boolean {
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
