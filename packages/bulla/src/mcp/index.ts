/** MCP: raw messages, transports, connections of both eras, and the scan of a server's whole surface. */

export {
  CLIENT_CAPABILITIES,
  INITIALIZE_VERSIONS,
  STATELESS_VERSIONS,
} from './agree.ts';
export { type Authorizer, bearer, type HttpOptions } from './call.ts';
export { Connection, type ConnectionOptions, type Reply, type RequestOptions } from './connection.ts';
export { Exchange, type Waiting } from './exchange.ts';
export {
  caseTwin,
  DEFAULT_MAX_FRAME_BYTES,
  type ErrorFrame,
  errorFrame,
  type Frame,
  type FrameOptions,
  foldCase,
  type Id,
  idKey,
  type NotificationFrame,
  notificationFrame,
  parseFrame,
  type RequestFrame,
  type ResultFrame,
  requestFrame,
  resultFrame,
  spanOf,
  twinFinder,
} from './frame.ts';
export { connectHttp } from './http.ts';
export { LISTS, readList } from './lists.ts';
export { type OAuthMemory, type OAuthOptions, oauth, oauthWith } from './oauth.ts';
export { authorized, type OpenOptions, open, type Session } from './open.ts';
export { cursorKey, type Page, pageOf, type RefuseList, readPages } from './pages.ts';
export { Changes, type ScanOptions, scan, scanSession } from './scan.ts';
export { connectSse } from './sse.ts';
export { connectStdio, type StdioOptions } from './stdio.ts';
export type { Finding, ScannedContent, Surface } from './surface.ts';
export {
  environmentOf,
  type HttpTarget,
  INHERITED,
  leadsToRunner,
  parseTarget,
  parseUrl,
  type StdioTarget,
  type Target,
} from './target.ts';
export {
  type Connect,
  HttpStatusError,
  quote,
  type Receiver,
  RpcError,
  type Transport,
} from './transport.ts';
export { splitWords } from './words.ts';
