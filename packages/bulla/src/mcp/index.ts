/** MCP: raw messages, transports, connections of both eras, and the scan of a server's whole surface. */

export {
  afterRefusal,
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  commonVersion,
  discoveredEra,
  INITIALIZE_VERSIONS,
  STATELESS_VERSIONS,
} from './agree.ts';
export { type Authorizer, bearer, type HttpOptions, mediaTypeOf } from './call.ts';
export type { Confinement } from './confine.ts';
export { contentBytes, readContents } from './contents.ts';
export { Exchange, type Waiting } from './exchange.ts';
export {
  caseTwin,
  DEFAULT_MAX_FRAME_BYTES,
  type ErrorFrame,
  type Frame,
  foldCase,
  type Id,
  idKey,
  type NotificationFrame,
  notificationFrame,
  parseFrame,
  type RequestFrame,
  type ResultFrame,
  requestFrame,
  spanOf,
  twinFinder,
} from './frame.ts';

export { connectHttp, EVENTS_TYPE, META_VERSION, requestHeaders } from './http.ts';
export { LISTS, readList } from './lists.ts';
export { type OAuthMemory, oauth } from './oauth.ts';
export { authorized, type OpenOptions, open, type Session } from './open.ts';
export { cursorKey, type Page, pageOf, type RefuseList, readPages } from './pages.ts';
export { headersFor, type ParamHeader, type ParamValue, paramHeaders, paramValues } from './param-headers.ts';
export { type ScanOptions, type Surface, scan } from './scan.ts';

export { connectStdio } from './stdio.ts';
export {
  environmentOf,
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
  receiverFailed,
  type Transport,
} from './transport.ts';
