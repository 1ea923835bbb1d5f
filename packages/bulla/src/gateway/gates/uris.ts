import { JsonObject, type JsonValue } from '@bulla/core/json';
import { isPublicHost } from '../../os/index.ts';
import { Denial } from '../denial.ts';
import { isPlain, leadsUpwards } from '../lists/uri.ts';
import type { Gate } from './gate.ts';

/** Where the URIs in a call may lead. */
export interface UriRules {
  /** The only schemes, without the colon. Default: any but those that run what they hold. */
  readonly schemes?: readonly string[] | undefined;
  /** The only hosts; `*.example.com` stands for every host below. Default: any public one. */
  readonly hosts?: readonly string[] | undefined;
  /** Whether loopback, private and link-local addresses may be named, beside those of `hosts`. Default false. */
  readonly private?: boolean | undefined;
}

/** Schemes whose URIs are programs. */
const CODE = ['javascript', 'vbscript'];
/** Schemes whose hosts the URL parser brings into one form. */
const WEB = ['http', 'https', 'ws', 'wss', 'ftp'];
const ABSOLUTE = /^([A-Za-z][A-Za-z0-9+.-]*):(\/\/)?/;

/**
 * No argument that is a URI leads where it must not: to another scheme or host, to an address that is not public, or
 * upwards, however it is written. A URI in the middle of a text is a text.
 */
export function urisGate(rules: UriRules): Gate {
  return {
    name: 'uris',
    rule({ frame, subject: { args } }) {
      // A resource is in the lock, or comes from a locked template.
      if (!['tools/call', 'prompts/get'].includes(frame.method)) return { pass: {} };
      for (const text of texts(args)) {
        const why = faultOf(text, rules);
        if (why === null) continue;
        return { deny: new Denial('uris', 'GATEWAY_URI', `An argument is a URI ${why}.`) };
      }
      return { pass: {} };
    },
  };
}

/** Every string in a value, at any depth, without recursion. */
function* texts(root: JsonValue): Generator<string> {
  const open: JsonValue[] = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value === 'string') yield value;
    else if (Array.isArray(value)) for (const item of value) open.push(item);
    else if (value instanceof JsonObject) for (const item of value.values) open.push(item);
  }
}

/** Why a text must not be passed on as a URI; null for one that may, or is none. */
export function faultOf(text: string, rules: UriRules): string | null {
  // As readers of URLs do, which take no notice of these.
  const uri = text.replace(/[\t\n\r]/g, '').trim();
  const [, scheme = '', slashes] = ABSOLUTE.exec(uri) ?? [];
  const name = scheme.toLowerCase();
  const isWeb = WEB.includes(name);
  if (name === '' || uri.includes(' ')) return null;
  if (CODE.includes(name)) return 'that holds a program';
  // `note:this` and `C:\folder` are no addresses.
  if (slashes === undefined && !isWeb && name !== 'file') return null;
  if (rules.schemes !== undefined && !rules.schemes.includes(name))
    return 'with another scheme than permitted';
  const url = URL.parse(uri);
  if (url === null) return 'that cannot be read';
  const [path = ''] = uri.split(/[?#]/, 1);
  if (isWeb ? leadsUpwards(path) : !isPlain(path)) return 'that leads upwards or holds a variable';
  if (name === 'file') return url.hostname === '' ? null : 'of a file on another machine';
  const { hostname } = url;
  if (hostname === '' || rules.hosts?.some((pattern) => isHost(hostname, pattern))) return null;
  if (rules.hosts !== undefined) return 'of another host than permitted';
  const isPrivate = !isPublicHost(isWeb ? hostname : canonicalHost(hostname));
  return isPrivate && !rules.private ? 'of a private address' : null;
}

function isHost(hostname: string, pattern: string): boolean {
  const [host, wanted] = [hostname.toLowerCase(), pattern.toLowerCase()];
  return wanted.startsWith('*.') ? host.endsWith(wanted.slice(1)) : host === wanted;
}

/** Other schemes than those of the web keep `0x7f000001` and `127.1` as they are; whoever resolves them does not. */
function canonicalHost(hostname: string): string {
  return URL.parse(`http://${hostname}/`)?.hostname ?? hostname;
}
