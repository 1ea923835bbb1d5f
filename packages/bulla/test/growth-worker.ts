// Every reader of the shell with inputs that double in size, as that of core does it.

import { JsonObject, type JsonValue } from '../../core/src/json/index.ts';
import { elements } from '../../core/src/verify/elements.ts';
import { printGrowth, type Reader, reader } from '../../core/test/steps.ts';
import { serverLines } from '../src/cli/lock/server-lines.ts';
import { readDocument, type Syntax } from '../src/discover/document.ts';
import { scrubbed, shownUrl, shownWords } from '../src/discover/secrets.ts';
import { matchesTemplate } from '../src/gateway/lists/uri.ts';
import { findSecrets } from '../src/gateway/secrets/find.ts';
import { patternRanges } from '../src/gateway/secrets/patterns.ts';
import { presetRanges } from '../src/gateway/secrets/preset.ts';
import { redact } from '../src/gateway/secrets/redact.ts';
import { parseKeyring } from '../src/keys/keyring-file.ts';
import { readEvents } from '../src/mcp/events.ts';
import { parseFrame, spanOf } from '../src/mcp/frame.ts';
import { asLine, lines } from '../src/os/index.ts';
import { readPackageLock } from '../src/pin/package-lock.ts';
import { contentsOf } from '../src/pin/untar.ts';
import { readCheckpointLines } from '../src/store/checkpoint-file.ts';
import { parseAddCheckpoint } from '../src/witness/request.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const list = (n: number, item: (i: number) => string) => Array.from({ length: n }, (_, i) => item(i));

/** Pieces as small as a hostile sender makes them, and as large as a pipe does. */
async function* pieces(text: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < text.length; i += size) yield text.subarray(i, i + size);
}

async function drained(source: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of source);
}

const STREAMS: Readonly<Record<string, (n: number) => Uint8Array>> = {
  'empty lines': (n) => bytes('\n'.repeat(n)),
  'short lines': (n) => bytes('{}\n'.repeat(n)),
  'one line': (n) => bytes('a'.repeat(n * 4)),
  'an object and empty lines': (n) => bytes(`{}${'\n'.repeat(n)}`),
  'a list': (n) => bytes(`[${list(n, () => '{"a":[1]}').join(',')}]`),
  'a list of white space': (n) => bytes(`[${' '.repeat(n)}`),
  'an open text': (n) => bytes(`["${'a'.repeat(n)}`),
  'open brackets': (n) => bytes('['.repeat(n)),
};
const both = (name: string, read: (source: AsyncIterable<Uint8Array>) => unknown, from?: number): Reader[] =>
  Object.entries(STREAMS).flatMap(([what, input]) => [
    reader(`${name}: ${what}, byte by byte`, input, (text) => read(pieces(text, 1)), from),
    reader(`${name}: ${what}, whole`, input, (text) => read(pieces(text, 1 << 16)), from),
  ]);

const SYNTAXES: readonly Syntax[] = ['json', 'jsonc', 'toml', 'yaml'];
const servers = (n: number, syntax: Syntax) => {
  if (syntax === 'toml') return list(n, (i) => `[s.s${i}]\ncommand = "x"\n`).join('');
  if (syntax === 'yaml') return `s:\n${list(n, (i) => `  s${i}:\n    command: x\n`).join('')}`;
  return `{"s":{${list(n, (i) => `"s${i}":{"command":"x"}`).join(',')}}}`;
};

const flat = (n: number, syntax: Syntax) => {
  if (syntax === 'toml') return list(n, (i) => `k${i} = 1\n`).join('');
  if (syntax === 'yaml') return list(n, (i) => `k${i}: 1\n`).join('');
  return `{${list(n, (i) => `"k${i}":1`).join(',')}}`;
};

/** Beginnings of secrets, each of which a pattern follows as far as it can; some are secrets. */
const BEGINNINGS: readonly string[] = [
  ...[
    'a',
    ' ',
    '\n',
    '-',
    '_',
    '%0a',
    '"kty"',
    '"d":"',
    '"kty":"',
    'eyJ',
    'eyJaaaaaaaa.',
    '.eyJaaaaaaaaaaaaaaaa',
  ],
  ...[
    '-----BEGIN PRIVATE KEY-----',
    '-----BEGIN A A A ',
    'PRIVATE+KEY+a',
    'AGE-PLUGIN-A-',
    'AGE-SECRET-KEY-1',
  ],
  ...[
    '://',
    '://a:',
    '://a:b',
    '://a1',
    'http://a:b@',
    'Host=a;',
    'Host=a;b=c',
    'mongodb://a:',
    '?sig=',
    '8Q~',
  ],
  ...[
    'authorization: bearer ',
    'xoxb-',
    'xoxb-1-',
    'xoxe.xoxp-',
    'sk-',
    'sk-proj-',
    'ghs_1_',
    'ghs_1_a.',
    'SG.a.',
  ],
  ...[
    'AKIA',
    'AIza',
    'hsk_',
    'ghp_',
    'glpat-',
    '12345678:AA',
    'AccountKey=',
    'secret_access_key=',
    '_authToken=',
  ],
  ...[`ghp_${'a1'.repeat(18)} `, `AKIA${'A'.repeat(16)} `, `hsk_${'a'.repeat(40)} `],
];
const arrayOf = (n: number, item: JsonValue): JsonValue => Array.from({ length: n }, () => item);
const nested = (n: number, inner: JsonValue) => {
  let value = inner;
  for (let i = 0; i < n; i++) value = new JsonObject(['a'], [value]);
  return value;
};
const secret = `ghp_${'a1'.repeat(18)}`;

const READERS: readonly Reader[] = [
  ...both('lines', (source) => drained(lines(source, 1 << 20))),
  ...both('elements', (source) => drained(elements(source, 1 << 20))),
  ...both(
    'serverLines',
    async (source) => {
      const shown = serverLines(() => undefined);
      for await (const chunk of source) shown.take(chunk);
      shown.end();
    },
    4000,
  ),
  ...Object.entries({
    'empty events': (n: number) => '\n\n'.repeat(n),
    'one event': (n: number) => `${'data: a\n'.repeat(n)}\n`,
    'one line': (n: number) => `data: ${'a'.repeat(n)}`,
    fields: (n: number) => 'id: a\n'.repeat(n),
  }).map(([what, text]) =>
    reader(
      `readEvents: ${what}`,
      (n) => bytes(text(n)),
      (body) => {
        const stream = new ReadableStream<Uint8Array>({
          start(controller) {
            for (let i = 0; i < body.length; i += 7) controller.enqueue(body.subarray(i, i + 7));
            controller.close();
          },
        });
        return readEvents(stream, 1 << 20, () => undefined);
      },
    ),
  ),
  ...Object.entries({
    'list of tools': (n: number) =>
      `{"jsonrpc":"2.0","id":1,"result":{"tools":[${list(n, (i) => `{"name":"t${i}"}`).join(',')}]}}`,
    members: (n: number) => `{"jsonrpc":"2.0","id":1,${list(n, (i) => `"k${i}":1`).join(',')}}`,
    'white space': (n: number) => `{"jsonrpc":"2.0","id":1,"method":"ping"${'\r'.repeat(n)}}`,
    separators: (n: number) => `{"jsonrpc":"2.0","id":1,"method":"${'\u2028'.repeat(n)}"}`,
  }).flatMap(([what, text]) => [
    reader(
      `parseFrame: ${what}`,
      (n) => bytes(text(n)),
      (frame) => spanOf(parseFrame(frame)).children!.map(({ children }) => children),
    ),
    reader(`asLine: ${what}`, (n) => bytes(text(n)), asLine),
  ]),
  ...SYNTAXES.map((syntax) =>
    reader(
      `readDocument: ${syntax}`,
      (n) => bytes(servers(n, syntax)),
      (text) => readDocument(text, syntax),
      100,
    ),
  ),
  ...SYNTAXES.map((syntax) =>
    reader(
      `readDocument: ${syntax}, many keys`,
      (n) => bytes(flat(n, syntax)),
      (text) => readDocument(text, syntax),
    ),
  ),
  reader(
    'shownWords',
    (n) => list(n, (i) => `--token=${i}`),
    (args) => shownWords('x', args),
  ),
  reader('shownUrl', (n) => `https://a@b/?${'a=b&'.repeat(n)}`, shownUrl),
  reader(
    'scrubbed',
    (n) => 'secret '.repeat(n),
    (text) => scrubbed(text, ['secret']),
  ),
  reader(
    'matchesTemplate',
    (n) => 'a/'.repeat(n),
    (uri) => matchesTemplate('file:///{+path}/{b}/{c}', `file:///${uri}`),
  ),
  ...BEGINNINGS.flatMap((beginning) => {
    const text = (n: number) => beginning.repeat(Math.ceil((n * 16) / beginning.length));
    return [
      reader(`patternRanges: ${JSON.stringify(beginning)}`, text, patternRanges, 2000),
      reader(`presetRanges: ${JSON.stringify(beginning)}`, text, presetRanges, 2000),
    ];
  }),
  ...Object.entries<(n: number) => JsonValue>({
    'short strings': (n) => arrayOf(n, 'a'),
    'empty strings': (n) => arrayOf(n, ''),
    'one string': (n) => 'a'.repeat(n),
    names: (n) => new JsonObject(list(n, String), list(n, String)),
    'telling names': (n) => arrayOf(n, new JsonObject(['authorization'], ['a'])),
    'deep objects': (n) => nested(n, 'a'),
    secrets: (n) => arrayOf(n, secret),
    'secret names': (n) => arrayOf(n, new JsonObject([secret], [secret])),
    'lines of a key': (n) => ['-----BEGIN PRIVATE KEY-----', ...list(n, () => 'MIIa')],
    keys: (n) => arrayOf(n, new JsonObject(['kty', 'd'], ['OKP', 'a'])),
    'deep secrets': (n) => nested(n, arrayOf(n, secret)),
  }).map(([what, value]) => reader(`findSecrets: ${what}`, value, findSecrets)),
  reader(
    'redact: a list',
    (n) => ({ value: arrayOf(n, new JsonObject(['a'], ['b'])), pointers: list(n, (i) => `/${i}/a`) }),
    ({ value, pointers }) => redact(value, pointers, []),
  ),
  reader(
    'redact: a deep value',
    (n) => ({ value: nested(n, arrayOf(n, 'a')), pointers: [`${'/a'.repeat(n)}/0`] }),
    ({ value, pointers }) => redact(value, pointers, []),
  ),
  reader(
    'parseKeyring',
    (n) => bytes(`{"version":1,"active_epoch":0,"epochs":[${list(n, (i) => `{"epoch":${i}}`).join(',')}]}`),
    parseKeyring,
  ),
  reader('readCheckpointLines', (n) => 'a\n'.repeat(n), readCheckpointLines),
  reader('parseAddCheckpoint', (n) => bytes(`old 1\n${'AAAA\n'.repeat(n)}\nx\n`), parseAddCheckpoint),
  reader(
    'readPackageLock',
    (n) =>
      bytes(
        `{"lockfileVersion":3,"packages":{"":{},${list(n, (i) => `"node_modules/p${i}":{"version":"1.0.0"}`).join(',')}}}`,
      ),
    (text) => readPackageLock(text, {} as never),
  ),
  reader(
    'contentsOf',
    (n) => new Uint8Array(n * 512),
    (tarball) => contentsOf(tarball),
  ),
];

await printGrowth(READERS);
