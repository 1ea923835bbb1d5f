import { BullaError } from '@bulla/core/error';
import { JsonObject, stringify } from '@bulla/core/json';
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  commonVersion,
  INITIALIZE_VERSIONS,
  type RequestFrame,
  type ResultFrame,
} from '../../mcp/index.ts';
import { META_CAPABILITIES, META_CLIENT } from '../gates/session.ts';
import { bytesOf, locate, raw, setMembers, splice } from '../wire/splice.ts';
import { type Life, read, requestBytes } from './life.ts';
import type { UpstreamOptions } from './upstream.ts';

/**
 * Begins a session of the initialize era for a host of the stateless one. It declares what the first request does; where
 * several hosts share it, all that the operator permits: each request tells what its host can do, and is refused if that
 * is not what the server asks for. Rejects as
 * `Life.ask` does, with `MCP_VERSION` and `MCP_HANDSHAKE`, and with what `described` throws.
 */
export async function openSession(
  life: Life,
  asked: RequestFrame,
  { isShared, features, timeoutMs, described }: UpstreamOptions,
  signal: AbortSignal | undefined,
): Promise<void> {
  const permitted = [...features].map((feature) => [feature, CLIENT_CAPABILITIES.stateless[feature]]);
  const capabilities = isShared
    ? stringify(Object.fromEntries(permitted))
    : (metaBytes(asked, META_CAPABILITIES) ?? '{}');
  const limits = { timeoutMs, ...(signal && { signal }) };
  const ask = (version: string): Promise<ResultFrame> => {
    const client = metaBytes(asked, META_CLIENT) ?? raw(stringify(CLIENT_INFO));
    const pieces = [',"capabilities":', capabilities, ',"clientInfo":', client, '}'];
    return life.ask('initialize', raw(`{"protocolVersion":${stringify(version)}`, pieces), limits);
  };
  // A server should answer with a version of its own, but the specification's own example is an error.
  const frame = await ask(INITIALIZE_VERSIONS[0]!).catch((error) => ask(commonVersion(error)));
  const protocolVersion = frame.result.get('protocolVersion');
  if (typeof protocolVersion !== 'string' || !INITIALIZE_VERSIONS.includes(protocolVersion)) {
    throw new BullaError('MCP_VERSION', 'The server speaks no protocol version that is known here.');
  }
  if (!(frame.result.get('capabilities') instanceof JsonObject)) {
    throw new BullaError('MCP_HANDSHAKE', "The server's answer to initialize has no capabilities.");
  }
  described(frame, 'initialize');
  signal?.throwIfAborted();
  life.session = { frame, protocolVersion, isOwn: true };
  life.established(protocolVersion, false);
  await life.tell(raw('{"jsonrpc":"2.0","method":"notifications/initialized"}'));
  life.established(protocolVersion, true);
}

/** The gateway's own `server/discover`, with what a request of the stateless era says of its host. */
export function discoverOf(life: Life, asked: RequestFrame): RequestFrame {
  const meta = bytesOf(asked, locate(asked, 'params', '_meta')!);
  const frame = read(requestBytes(life.freshId(), 'server/discover', raw('{"_meta":', meta, '}')));
  // A progress token belongs to one request.
  const edits = setMembers(locate(frame, 'params', '_meta')!, [], ['progressToken']);
  return read(splice(frame.bytes, edits)) as RequestFrame;
}

function metaBytes(frame: RequestFrame, key: string): Uint8Array | null {
  const place = locate(frame, 'params', '_meta', key);
  return place?.value instanceof JsonObject ? bytesOf(frame, place) : null;
}
