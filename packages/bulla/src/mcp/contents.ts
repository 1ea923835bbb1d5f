import { fromBase64, sha256Hex, toUtf8 } from '@bulla/core/crypto';
import { BullaError } from '@bulla/core/error';
import { JsonObject, type JsonValue, pointer } from '@bulla/core/json';
import { type Content, LIST_KINDS, type ListKind, type Pointed, pointedContent } from '@bulla/core/lock';
import { createFetcher, type Fetcher, type Network, readBody } from '../os/index.ts';
import { mediaTypeOf } from './call.ts';
import type { Connection } from './connection.ts';
import type { Session } from './open.ts';
import { quote, RpcError } from './transport.ts';

/** Something that a reader of a lock should know, although the scan is complete. */
export interface Finding {
  /**
   * `icon_not_fetched`: fetching was not asked for; `icon_unsafe`: not https; `icon_unreadable`;
   * `content_unreadable`: a `ui://` resource that the server does not give; `stdout_noise`: the server prints lines
   * that are not messages.
   */
  readonly code:
    | 'icon_not_fetched'
    | 'icon_unsafe'
    | 'icon_unreadable'
    | 'content_unreadable'
    | 'stdout_noise';
  /** Where in the surface, as a JSON Pointer; empty for the server as a whole. */
  readonly path: string;
  readonly message: string;
}

/**
 * Definitions may point to things that can change while the definitions stay the same: icons, and the pages of MCP
 * Apps (`ui://` resources). What can be read is returned with its digest, the rest as findings.
 */
export interface ContentOptions {
  /** Whether icons are fetched from https addresses that the server chose. Default false. */
  readonly fetchIcons?: boolean | undefined;
  readonly network?: Network | undefined;
}

const MAX_ICON_BYTES = 1024 * 1024;
const ICON_MS = 10_000;
/** How long all icons of a scan may take; a server could name any number. */
const ICONS_MS = 30_000;

/** What can be asked for contents. */
interface Source extends Pick<Session, 'serverInfo' | 'capabilities'> {
  readonly connection: Pick<Connection, 'request'>;
}

/** Reads what the definitions point to. Rejects only if the connection fails or an answer does not come. */
export async function readContents(
  session: Source,
  lists: Readonly<Record<ListKind, readonly JsonObject[]>>,
  options: ContentOptions,
): Promise<{ contents: Content[]; findings: Finding[] }> {
  const contents: Content[] = [];
  const findings: Finding[] = [];
  const seen = new Set<string>();
  let fetcher: Fetcher | undefined;
  const end = performance.now() + ICONS_MS;
  const getFetcher = () => {
    if (performance.now() > end) throw new BullaError('DOWNLOAD_TIMEOUT', 'The icons take too long.');
    fetcher ??= createFetcher({ idleMs: ICON_MS, totalMs: ICON_MS, ...options.network });
    return fetcher;
  };
  try {
    for (const reference of references(session, lists)) {
      if (seen.has(reference.uri)) continue;
      seen.add(reference.uri);
      const found = reference.uri.startsWith('ui://')
        ? await readPage(session, reference)
        : await readIcon(reference, options.fetchIcons ?? false, getFetcher);
      if ('code' in found) findings.push(found);
      else contents.push(found);
    }
    return { contents, findings };
  } finally {
    fetcher?.close();
  }
}

/** The same places that a lock flags when their content is not pinned. */
function* references(
  { serverInfo, capabilities }: Source,
  lists: Readonly<Record<ListKind, readonly JsonObject[]>>,
): Generator<Pointed> {
  yield* pointedContent(serverInfo, ['serverInfo']);
  yield* pointedContent(capabilities, ['capabilities']);
  for (const kind of LIST_KINDS) {
    for (const [index, item] of lists[kind].entries()) yield* pointedContent(item, [kind, index]);
  }
}

async function readPage(
  { connection, capabilities }: Source,
  { uri, at }: Pointed,
): Promise<Content | Finding> {
  const unreadable = (why: string): Finding => ({
    code: 'content_unreadable',
    path: pointer(at),
    message: `The content of ${quote(uri)} cannot be pinned: ${why}.`,
  });
  if (!capabilities.has('resources')) return unreadable('the server offers no resources');
  let result: JsonObject;
  try {
    result = await connection.request('resources/read', { uri });
  } catch (error) {
    if (error instanceof RpcError) return unreadable(`the server answers with error ${error.rpc.code}`);
    if (error instanceof BullaError && error.code === 'MCP_INPUT_REQUIRED')
      return unreadable('the server wants input');
    throw error;
  }
  const list = result.get('contents');
  const content = Array.isArray(list) && list.length === 1 ? readContent(list[0]!, uri) : null;
  return content ?? unreadable('what the server gives is not exactly that');
}

/** One of the contents that a server gives for a resource (2026-07-28, Resources, Resource Contents). */
function readContent(item: JsonValue, uri: string): Content | null {
  if (!(item instanceof JsonObject)) return null;
  const mimeType = item.get('mimeType') ?? null;
  const meta = item.get('_meta') ?? null;
  const bytes = contentBytes(item);
  if (item.get('uri') !== uri || bytes === null) return null;
  if (mimeType !== null && typeof mimeType !== 'string') return null;
  if (meta !== null && !(meta instanceof JsonObject)) return null;
  return { uri, sha256: sha256Hex(bytes), mimeType, ...(meta && { meta }) };
}

/** What a resource holds; null where it is neither text nor base64, or both. */
export function contentBytes(item: JsonObject): Uint8Array | null {
  const text = item.get('text');
  const blob = item.get('blob');
  if (typeof text === 'string' && blob === undefined) return toUtf8(text);
  if (typeof blob !== 'string' || text !== undefined) return null;
  try {
    return fromBase64(blob);
  } catch {
    return null;
  }
}

/**
 * 2026-07-28, Basic, icons: https only, without credentials, no redirects, a limit on size. The server chose the address,
 * so it must be public: else the server could have this machine ask others of its own network.
 */
async function readIcon(
  { uri, at }: Pointed,
  fetchIcons: boolean,
  fetcher: () => Fetcher,
): Promise<Content | Finding> {
  const finding = (code: Finding['code'], what: string): Finding => ({
    code,
    path: pointer(at),
    message: `The icon ${quote(uri)} is not pinned: ${what}.`,
  });
  const url = URL.parse(uri);
  if (url?.protocol !== 'https:') return finding('icon_unsafe', 'its address is not https');
  if (!fetchIcons) return finding('icon_not_fetched', 'fetching it was not asked for');
  try {
    const reply = await fetcher().send(url, { method: 'GET', maxBytes: MAX_ICON_BYTES });
    const bytes = await readBody(reply);
    if (reply.status !== 200)
      return finding('icon_unreadable', `its address answers with HTTP status ${reply.status}`);
    const mimeType = mediaTypeOf(reply.headers['content-type']) || null;
    return { uri, sha256: sha256Hex(bytes), mimeType };
  } catch (error) {
    const isPrivate = error instanceof BullaError && error.code === 'DOWNLOAD_PRIVATE';
    if (isPrivate) return finding('icon_unsafe', 'its address is not public');
    return finding('icon_unreadable', 'it cannot be fetched');
  }
}
