import { setImmediate } from 'node:timers/promises';
import type { Range } from './range.ts';

// What the preset of secretlint does not find. Each pattern begins with fixed letters, or at the beginning of a word,
// and what it repeats is bounded or cannot begin again inside of itself: so the work is linear. Kinds are those of the
// preset where it has one.

const PATTERNS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  // PEM (RFC 7468), also Ed25519, encrypted, PGP and our own label. With escaped line ends, or headers (RFC 1421), the
  // key does not begin at once.
  [
    'privatekey',
    /-----BEGIN ?(?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY(?: BLOCK)?-----[\s\S]{0,160}?[A-Za-z0-9+/]{40}/g,
  ],
  ['privatekey', /\bPrivate-Lines: ?[0-9]{1,4}\s{1,4}[A-Za-z0-9+/]{32}/g],
  // A signer of signed notes, as Go writes it.
  ['privatekey', /\bPRIVATE\+KEY\+[^\s+]{1,256}\+[0-9a-f]{8}\+[A-Za-z0-9+/]{43}/g],
  // A JWK inside of a text, with its members in either order.
  [
    'privatekey',
    /"kty\\?"(?:(?!"kty)[^{}]){0,1500}?"(?:d|k|priv)\\?"\s{0,4}:\s{0,4}\\?"[A-Za-z0-9_-]{22}|"(?:d|k|priv)\\?"\s{0,4}:\s{0,4}\\?"[A-Za-z0-9_-]{22,1400}\\?"[^{}]{0,100}?"kty\\?"/g,
  ],
  ['age', /\bAGE-(?:SECRET-KEY-(?:PQ-)?|PLUGIN-[A-Z0-9]{1,32}-)1[02-9AC-HJ-NP-Z]{40}/gi],
  ['bulla', /(?<![A-Za-z0-9])hsk_[A-Za-z0-9]{40}(?![A-Za-z0-9])/g],
  // Signed (three parts) or encrypted (five): RFC 7515 §7.1, RFC 7516 §7.1.
  [
    'jwt',
    /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.(?:eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{16}|[A-Za-z0-9_-]*\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{16})/g,
  ],
  ['aws', /(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])/g],
  // The token of a session: base64 with a fixed beginning.
  ['aws', /(?<![A-Za-z0-9+/])(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)[A-Za-z0-9+/]{80}/g],
  ['google', /(?<![A-Za-z0-9_-])AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])/g],
  [
    'google',
    /(?<![A-Za-z0-9_-])(?:GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{30}|1\/\/0[A-Za-z0-9_-]{40})/g,
  ],
  ['slack', /(?<![A-Za-z0-9_-])xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9%-]{20}/g],
  ['gitlab', /(?<![A-Za-z0-9_-])gl(?:agent|cbt|dt|ffct|ft|imt|oas|pat|ptt|rtr?|soat|wt)-[A-Za-z0-9_-]{20}/g],
  // Also what others gave the same form to. Shorter words of letters alone are names of styles.
  ['openai', /(?<![A-Za-z0-9_-])sk-(?:(?:admin|or-v1|proj|svcacct)-[A-Za-z0-9_-]{32}|[A-Za-z0-9]{32})/g],
  ['anthropic', /(?<![A-Za-z0-9_-])sk-ant-[a-z]{2,10}[0-9]{2}-[A-Za-z0-9_-]{20}/g],
  ['huggingface', /(?<![A-Za-z0-9_])hf_[A-Za-z0-9]{34}(?![A-Za-z0-9_])/g],
  ['stripe', /(?<![A-Za-z0-9_])whsec_[A-Za-z0-9+/]{24}/g],
  ['npm', /(?<![A-Za-z0-9])_authToken\s{0,4}=\s{0,4}["']?[A-Za-z0-9+/_.-]{16}/g],
  ['pypi', /(?<![A-Za-z0-9_-])pypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{40}/g],
  ['digitalocean', /(?<![A-Za-z0-9_])do[oprt]_v1_[0-9a-f]{64}/g],
  ['rubygems', /(?<![A-Za-z0-9_])rubygems_[0-9a-f]{48}/g],
  ['telegram', /(?<![A-Za-z0-9_-])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])/g],
  // Connection strings, links with a signature, and the secrets of applications.
  ['azure', /(?:AccountKey|Account_Key|SharedAccessKey|Shared_Access_Key|SharedSecret)=[A-Za-z0-9+/]{40}/gi],
  ['azure', /[?&]sig=(?:[A-Za-z0-9+/]|%[0-9A-Fa-f]{2}){43}/g],
  ['azure', /(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])/g],
  [
    'database-connection-string',
    /\b(?:Server|Data Source|Host)=[^;\r\n]{1,256};(?:[^;=\r\n]{1,64}=[^;\r\n]{0,256};){0,12}?\s?(?:Password|Pwd)=[^;\s{}<>$*]{3}/gi,
  ],
  // A password in an address (RFC 3986 §3.2.1), unless it is a word that only stands for one.
  [
    'basicauth',
    /:\/\/[^\s/?#@:"'<>`]{0,128}:(?![${*]|%[A-Z_]{1,64}%|(?:pass|passwd|password|pwd|secret|token|x{3,16})@)[^\s/?#@"'<>`]{1,256}@/gi,
  ],
  ['basicauth', /:\/\/(?=[A-Za-z_-]{0,255}[0-9])[A-Za-z0-9_-]{20,256}@/g],
  // RFC 7617 and RFC 6750. A token has a digit; what people write in its place has none.
  [
    'authorization',
    /\bauthorization\\?["']?\s{0,4}[:=]\s{0,4}\\?["']?(?:basic\s{1,4}[A-Za-z0-9+/]{8}|(?:bearer|token|apikey)\s{1,4}(?=[A-Za-z._~+/=-]{0,255}[0-9])[A-Za-z0-9._~+/=-]{16})/gi,
  ],
];

/** How many UTF-16 units are searched before other work gets its turn. */
const TURN = 128 * 1024;

/** The secrets in a text that our own patterns find. */
export async function patternRanges(text: string): Promise<Range[]> {
  const found: Range[] = [];
  for (const [kind, pattern] of PATTERNS) {
    for (const { 0: match, index } of text.matchAll(pattern))
      found.push({ start: index, end: index + match.length, kind });
    if (text.length > TURN) await setImmediate();
  }
  return found;
}
