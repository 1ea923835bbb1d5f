import { classOf, UNSPACED } from './characters.ts';
import { normalized } from './normalize.ts';

/** A destination that a text names. */
interface Reference {
  /** How it reads once disguises are taken off; compare texts by this. Schemes and hosts are in lower case. */
  readonly value: string;
  /** UTF-16 index in the text, and length, of what spells it there. */
  readonly offset: number;
  readonly length: number;
  /** Whether the text spells it with invisible characters, fullwidth letters or the like. */
  readonly disguised: boolean;
}

export interface References {
  /** With a scheme: `https:`, `ws:`, `ftp:`, `data:`, `javascript:`, `mailto:` and the like, and any `name://…`. */
  readonly urls: readonly Reference[];
  /** Domain names and IP addresses, bare or inside a URL, an e-mail address or the name of a network share. */
  readonly hosts: readonly Reference[];
  readonly emails: readonly Reference[];
  /** Absolute, home, relative and Windows paths. */
  readonly paths: readonly Reference[];
}

const LABEL = '[\\p{L}\\p{N}](?:[\\p{L}\\p{N}_\\-]{0,61}[\\p{L}\\p{N}])?';
const ASCII_LABEL = '[A-Za-z0-9](?:[A-Za-z0-9_\\-]{0,61}[A-Za-z0-9])?';
// Runs are bounded: what an expression can step back over lies on a stack that a long text would overflow.
const LABELS = '{1,126}';
const SEGMENT = '[\\p{L}\\p{N}._~@+=%*$\\{\\}\\-]{1,1024}';
const SEGMENTS = `(?:\\/${SEGMENT}){1,256}`;
const UNTIL_SPACE = '[^\\s<>"`\\u3000-\\u3003\\u300c-\\u300f\\uff08\\uff09\\uff0c]{1,65535}';

const URL = new RegExp(
  '(?<![A-Za-z0-9+.\\-])(?:' +
    `[a-z][a-z0-9+.\\-]{0,30}:[\\\\\\/]{2,}${UNTIL_SPACE}|` +
    `(?:https?|wss?|ftps?|file):[\\\\\\/]?(?=[\\p{L}\\p{N}\\[])${UNTIL_SPACE}|` +
    `(?:javascript|vbscript|blob|mailto|tel|sms|magnet|view-source):\\s?${UNTIL_SPACE}|` +
    'data:[^\\s<>"`,]{0,200},\\S{1,65535})',
  'giv',
);
const EMAIL = new RegExp(
  `(?<![\\p{L}\\p{N}._%+\\-])[\\p{L}\\p{N}._%+\\-]{1,64}@${LABEL}(?:\\.${LABEL})${LABELS}`,
  'gv',
);
/** Names of labels with dots between them; the second finds one that follows a text without spaces. */
const DOTTED = [
  new RegExp(`(?<![\\p{L}\\p{N}_\\-])${LABEL}(?:\\.${LABEL})${LABELS}`, 'gv'),
  new RegExp(`(?<=[${UNSPACED}])${ASCII_LABEL}(?:\\.${ASCII_LABEL})${LABELS}`, 'gv'),
];
const LOCALHOST = /(?<![\p{L}\p{N}_.-])localhost(?![\p{L}\p{N}_-])/giu;
const IPV6 = /(?<![\p{L}\p{N}:.])[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?![\p{L}\p{N}:])/gu;
const PATHS = [
  // /etc/passwd  ~/.ssh  ./x  ../x  $HOME/x
  new RegExp(
    `(?<![\\p{L}\\p{N}_.~<\\)\\/\\\\:$%\\}\\]\\-])(?:~[a-z]{0,32}|\\.{1,2}|\\$\\{?[A-Z_]{1,64}\\}?)?${SEGMENTS}\\/?`,
    'gv',
  ),
  // src/index.ts
  new RegExp(`(?<![\\p{L}\\p{N}_.~@\\/\\\\:$%\\{\\}+=*\\-])[\\p{L}\\p{N}_\\-]{1,1024}${SEGMENTS}`, 'gv'),
  // .ssh/config  .env
  new RegExp(`(?<![\\p{L}\\p{N}_.\\/\\\\])\\.[A-Za-z][A-Za-z0-9_\\-]{0,1024}${SEGMENTS}`, 'gv'),
  /(?<![\p{L}\p{N}_./\\])\.(?:env|netrc|npmrc|pypirc|pgpass|bashrc|zshrc|profile|gitconfig|htpasswd|mcp\.json)\b/gu,
  // C:\x  \\server\share  %APPDATA%\x
  /(?<![\p{L}\p{N}_])[A-Za-z]:[\\/][^\s<>"|?*:;,()]{1,32767}/gu,
  /(?<![\p{L}\p{N}_:\\/])\\\\[\p{L}\p{N}._-]{1,1024}\\[^\s<>"|?*:;,()]{1,32767}/gu,
  /%[A-Za-z_()0-9]{1,64}%[\\/][^\s<>"|?*:;,()]{1,32767}/gu,
];

/** Top-level domains of more than two letters that are in everyday use, and names kept for private networks. */
const TOP_LEVEL = new Set(
  'com net org edu gov mil int info biz pro aero coop jobs mobi travel cat asia post arpa onion local internal lan home corp localdomain dev page cloud online site store shop tech xyz top club live zone link click download space website digital agency blog art design email host hosting network news one press rocks science services social software solutions studio support systems team today video wiki world life fun icu buzz vip win bid loan stream trade date review racing ltd company center global media finance money bank capital fund health care expert guru ninja academy school university codes computer engineering ventures chat games exchange directory delivery express foundation institute international market marketing partners plus sale security technology'.split(
    ' ',
  ),
);
/** Endings of files and of fields in code: such a name counts as a host only with `www`, a port or a path. */
const UNLIKELY = new Set(
  'md py rs sh pl ps cc so js ts mk ml hs rb cs fs vb mm pm in id is as to at by do go no my'.split(' '),
);

/**
 * The URLs, hosts, e-mail addresses and paths that a text names, each list in order of offset, every occurrence told.
 * The text is read twice: as it stands, and as it reads without invisible characters and with compatibility forms
 * undone, so that `ht\u200btp://…` is found too; what only the second reading finds is `disguised`. A bare dotted
 * name is a host when its last label is a country code, one of a list of everyday top-level domains, or when a port
 * or a path follows; `README.md` and `user.id` are not. No name is looked up and nothing is decided about it.
 * Destinations written out in words, or behind an encoding such as base64, are not found. Takes linear time.
 */
export function references(text: string): References {
  const raw: View = { text, offset: (index) => index, end: (index) => index };
  const plain = plainView(text);
  const lists = { urls: [], hosts: [], emails: [], paths: [] } as Record<keyof References, Reference[]>;
  const seen = new Set<string>();
  for (const view of plain.text === text ? [raw] : [raw, plain]) {
    for (const { kind, value, start, end } of scan(view.text)) {
      const offset = view.offset(start);
      const length = view.end(end) - offset;
      const key = `${kind} ${offset} ${length} ${value}`;
      if (seen.has(key)) continue;
      seen.add(key);
      const disguised = text.slice(offset, offset + length) !== view.text.slice(start, end);
      lists[kind].push({ value, offset, length, disguised });
    }
  }
  for (const list of Object.values(lists)) list.sort((a, b) => a.offset - b.offset || a.length - b.length);
  return lists;
}

interface Match {
  readonly kind: keyof References;
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

function* scan(text: string): Generator<Match> {
  // The places before the host of a URL, where a user name stands: `https://good.com@evil.org/`.
  const users = new Set<number>();
  for (const { 0: match, index } of text.matchAll(URL)) {
    const url = trimmed(match);
    const host = authority(url);
    const end = index + url.length;
    yield { kind: 'urls', value: lowered(url, host), start: index, end };
    if (host !== undefined) {
      for (let at = index + host.user; at < index + host.start; at++) users.add(at);
      yield { kind: 'hosts', value: host.name, start: index + host.start, end: index + host.end };
    }
  }
  for (const { 0: match, index } of text.matchAll(EMAIL)) {
    const at = match.lastIndexOf('@');
    const domain = match.slice(at + 1).toLowerCase();
    if (!/\p{L}/u.test(domain.slice(domain.lastIndexOf('.'))) || users.has(index + at)) continue;
    const end = index + match.length;
    yield { kind: 'emails', value: match.slice(0, at + 1) + domain, start: index, end };
    yield hostAt(match.slice(at + 1), index + at + 1);
  }
  for (const expression of DOTTED) {
    for (const { 0: match, index } of text.matchAll(expression)) {
      const name = hostIn(match, text, index);
      if (name !== undefined && !users.has(index)) yield hostAt(name, index);
    }
  }
  for (const { 0: match, index } of text.matchAll(LOCALHOST)) yield hostAt(match, index);
  for (const { 0: match, index } of text.matchAll(IPV6)) if (isIPv6(match)) yield hostAt(match, index);
  for (const [i, expression] of PATHS.entries()) {
    for (const { 0: match, index } of text.matchAll(expression)) {
      const path = trimmed(match);
      if (i === 1 && !/\.[A-Za-z0-9]{1,8}$/.test(path)) continue;
      yield { kind: 'paths', value: path, start: index, end: index + path.length };
      const share = /^\\\\([^\\]+)/.exec(path)?.[1];
      if (share !== undefined) yield hostAt(share, index + 2);
    }
  }
}

function hostAt(name: string, start: number): Match {
  return { kind: 'hosts', value: name.toLowerCase(), start, end: start + name.length };
}

/** Without the punctuation of the sentence around it, and without brackets that close none of its own. */
function trimmed(match: string): string {
  const excess = { ')': 0, ']': 0, '}': 0 };
  const opener = { ')': '(', ']': '[', '}': '{' };
  for (const close of [')', ']', '}'] as const) {
    excess[close] = match.split(close).length - match.split(opener[close]).length;
  }
  let end = match.length;
  for (; end > 1; end--) {
    const last = match.charAt(end - 1);
    if (/[.,;:!?'"*…。，、；：！？’”»]/.test(last)) continue;
    if ((last === ')' || last === ']' || last === '}') && excess[last]-- > 0) continue;
    break;
  }
  return match.slice(0, end);
}

interface Authority {
  readonly name: string;
  /** Where a user name would stand. */
  readonly user: number;
  readonly start: number;
  readonly end: number;
}

/** The host of a URL that has one: between the slashes (browsers take backslashes too), user and port aside. */
function authority(url: string): Authority | undefined {
  const match = /^(?:[a-z][a-z0-9+.-]*:[\\/]{2,}|(?:https?|wss?|ftps?):[\\/]?)([^\\/?#]+)/i.exec(url);
  if (match === null) return undefined;
  const whole = match[1]!;
  const user = match[0].length - whole.length;
  const from = user + whole.lastIndexOf('@') + 1;
  const port = /:\d*$/.exec(url.slice(from, match[0].length))?.[0].length ?? 0;
  const end = match[0].length - port;
  if (end <= from) return undefined;
  const name = url.slice(from, end).replaceAll('\u3002', '.').toLowerCase();
  return { name: name.replace(/^\[(.*)\]$/, '$1'), user, start: from, end };
}

function lowered(url: string, host: Authority | undefined): string {
  const scheme = url.slice(0, url.indexOf(':')).toLowerCase();
  const rest = host === undefined ? scheme.length : host.end;
  return scheme + url.slice(scheme.length, rest).toLowerCase() + url.slice(rest);
}

/** The part of a dotted name that is a host, or undefined. */
function hostIn(dotted: string, text: string, index: number): string | undefined {
  const labels = dotted.split('.');
  const last = labels.at(-1)!.toLowerCase();
  const before = text.slice(Math.max(0, index - 2), index);
  const after = text.slice(index + dotted.length, index + dotted.length + 7);
  if (/^\d+$/.test(last)) {
    return labels.length === 4 && labels.every((label) => /^\d{1,3}$/.test(label) && Number(label) < 256)
      ? dotted
      : undefined;
  }
  const known = TOP_LEVEL.has(last) || last.startsWith('xn--');
  // Inside a path a name is a host only beyond doubt.
  if (/[\\/]$/.test(before) && !/\/\/$|\\\\$/.test(before)) return known ? dotted : undefined;
  const certain = labels[0]!.toLowerCase() === 'www' || /^(?::\d|\/[\p{L}\p{N}?#])/u.test(after);
  if (known || (last.length > 1 && certain)) return dotted;
  if (/^[a-z]{2}$/.test(last) && !UNLIKELY.has(last)) return dotted;
  // A sentence that follows without a space: `example.com.Then`.
  for (let end = labels.length - 1; end > 1; end--) {
    if (TOP_LEVEL.has(labels[end - 1]!.toLowerCase())) return labels.slice(0, end).join('.');
  }
  return undefined;
}

/** Eight groups, or fewer around one `::`; with a digit, so that a scope in code is none. */
function isIPv6(text: string): boolean {
  const halves = text.split('::');
  const groups = text.split(':').filter((group) => group !== '');
  if (!/\d/.test(text) || halves.length > 2) return false;
  return halves.length === 2 ? groups.length < 8 : groups.length === 8 && text.split(':').length === 8;
}

/** A reading of a text that knows where each of its characters stands in the text. */
interface View {
  readonly text: string;
  /** The offset in the original text of the character at this index. */
  offset(index: number): number;
  /** The offset in the original text of the end of the character before this index. */
  end(index: number): number;
}

/**
 * The text as it reads when nothing is hidden: invisible and control characters dropped, look-alike spaces made plain
 * ones, compatibility forms (fullwidth, mathematical, ligatures) undone by NFKC, a character at a time.
 */
export function plainView(text: string): View {
  let plain = '';
  const offsets: number[] = [];
  const ends: number[] = [];
  let at = 0;
  for (const character of text) {
    const end = at + character.length;
    const shown = shownAs(character);
    for (let i = 0; i < shown.length; i++) {
      offsets.push(at);
      ends.push(end);
    }
    plain += shown;
    at = end;
  }
  return { text: plain, offset: (index) => offsets[index]!, end: (index) => ends[index - 1]! };
}

/** Single letters that stand for whole sayings (U+FDFA is 18 characters) stay: no address is written with them. */
const MAX_FORM = 6;

function shownAs(character: string): string {
  if (character >= ' ' && character <= '~') return character;
  if (character === '\n' || character === '\r' || character === '\t') return character;
  switch (classOf(character.codePointAt(0)!)?.kind) {
    case 'space':
      return ' ';
    case undefined:
    case 'private-use':
    case 'surrogate': {
      const form = normalized(character, 'NFKC');
      return form.length > MAX_FORM ? character : form;
    }
    default:
      return '';
  }
}
